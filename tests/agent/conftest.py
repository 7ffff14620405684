"""A real server process, and a small manager that talks to it over real HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from games.machine import State, StateMachine, Term
from protocol.kif import read_one, read_rulesheet, write
from tests.processes import children_of, until

ROOT = Path(__file__).resolve().parents[2]

MARGIN = 0.5
"""Seconds kept back from the clocks by servers."""

CLOCK = 600
"""Seconds of both clocks. No test waits for them: START is answered once the match can be played, PLAY once the
position is decided."""

LAUNCHER = """
import asyncio, logging, sys
from pathlib import Path
from agent import json_lines
from agent.serving import clock, match, seats
from agent.serving.player import ServeOptions, serve
# No disk or process that is merely slow changes the course of a match.
json_lines.PATIENCE = match.GOALS_SECONDS = 600.0
seats.HUNG_AFTER = dict.fromkeys(seats.HUNG_AFTER, (5.0, 60.0))
# Replies leave when they should, also where the machine is busy.
clock.LATENESS_FACTOR = 0.0
margin, journal, ponder, port = float(sys.argv[1]), sys.argv[2], sys.argv[3] == "True", int(sys.argv[4])
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
options = ServeOptions(
    port=port, margin=margin, journal=Path(journal) if journal else None, ponder=ponder, workers=2, silence=600.0
)
asyncio.run(serve(options, lambda port: print(port, flush=True)))
"""


@dataclass(frozen=True)
class Reply:
    """The reply to one message."""

    text: str
    seconds: float
    status: int

    @property
    def move(self) -> Term:
        """The move in the reply."""
        return read_one(self.text)


class Server:
    """A running agent."""

    def __init__(self, log: Path, margin: float, journal: Path | None, ponder: bool, port: int) -> None:
        self._log = log
        self._forgotten = 0
        with open(log, "ab") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-c", LAUNCHER, str(margin), str(journal or ""), str(ponder), str(port)],
                stdout=subprocess.PIPE,
                stderr=file,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
            )
        assert self._process.stdout is not None
        port = self._process.stdout.readline()
        if not port:
            self.kill()
            raise AssertionError(f"the server does not start\n{self.log()}")
        self.port = int(port)

    def send(self, message: str | bytes, timeout: float = 2 * CLOCK) -> Reply:
        """Sends one message on a connection of its own."""
        body = message.encode() if isinstance(message, str) else message
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with contextlib.closing(connection):
            begun = time.monotonic()
            connection.request("POST", "/", body)
            response = connection.getresponse()
            text = response.read().decode()
            return Reply(text, time.monotonic() - begun, response.status)

    def wait_until_available(self) -> None:
        """Waits until the kernels are compiled."""
        until(lambda: "available" in self.send("(INFO)").text, self.log, 0.05)

    def log(self) -> str:
        """The server's output so far."""
        return self._log.read_text(errors="replace")[self._forgotten :]

    def forget_log(self) -> None:
        """Skips the output so far."""
        self._forgotten += len(self.log())

    def wait_for_log(self, pattern: str) -> str:
        """Waits for a matching line, and returns the last one."""
        found: list[str] = []

        def is_there() -> bool:
            found.extend(line for line in self.log().splitlines() if re.search(pattern, line))
            return bool(found)

        until(is_there, lambda: f"no {pattern!r} in\n{self.log()}", 0.02)
        return found[-1]

    def wait_for_spare(self) -> None:
        """Waits for the spare search process that replaces the last match's."""
        self.wait_for_log("search process [0-9]+ is warm")

    def process_of(self, match_id: str, kind: str = "search") -> int:
        """Returns the process of a match of this kind that joined last."""
        return int(self.wait_for_log(f"{match_id}: {kind} process [0-9]+ joins").split()[-2])

    def play_out(self, match_id: str, game: Game, last: str = "NIL") -> None:
        """Plays a match to its end as the first role, against random moves; asserts legal replies."""
        chance = random.Random(match_id)
        while not game.machine.terminal(game.state):
            reply = self.send(f"(PLAY {match_id} {last})")
            assert reply.move in game.legal(), self.log()
            last = game.advance(reply.move, chance.choice(game.legal(1)))
        assert self.send(f"(STOP {match_id} {last})").text == "done"

    def kill(self) -> None:
        """Ends the server as a power cut would."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """Ends the server in an orderly way."""
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        self._process.send_signal(number)
        self._process.wait(120)
        if self._process.stdout is not None:
            self._process.stdout.close()


class SupervisedServer(Server):
    """A running `ggp-agent serve`, with its supervisor."""

    def __init__(self, folder: Path, journal: Path) -> None:
        self._log = folder / "supervised.log"
        self._forgotten = 0
        result = folder / "serve.json"
        arguments = ["--host", "127.0.0.1", "--port", "0", "--journal", str(journal), "--json", str(result)]
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "agent.cli", "serve", *arguments], stdout=log, stderr=log, cwd=ROOT
            )
        until(lambda: result.exists() and result.read_text().endswith("}\n"), self.log)
        self.port = json.loads(result.read_text())["port"]

    def kill_server(self) -> None:
        """Ends the serving process as a crash would, without its supervisor."""
        until(lambda: bool(children_of(self._process.pid)), self.log)
        os.kill(children_of(self._process.pid)[0], signal.SIGKILL)


StartServer = Callable[..., Server]


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for all tests that leave it as they found it."""
    server = Server(tmp_path_factory.mktemp("server") / "server.log", MARGIN, None, True, 0)
    yield server
    server.close()


@pytest.fixture
def server(shared_server: Server) -> Iterator[Server]:
    """An available server with an empty log; its matches end with the test."""
    shared_server.wait_until_available()
    shared_server.forget_log()
    yield shared_server
    for match_id in set(re.findall(r"INFO (\S+): START from", shared_server.log())):
        shared_server.send(f"(ABORT {match_id})")


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    """Starts servers that end with the test."""
    servers: list[Server] = []

    def start(
        *, margin: float = MARGIN, journal: Path | None = None, ponder: bool = True, port: int = 0, wait: bool = True
    ) -> Server:
        server = Server(tmp_path / "server.log", margin, journal, ponder, port)
        servers.append(server)
        if wait:
            server.wait_until_available()
        return server

    yield start
    for server in servers:
        if server._process.poll() is None:
            server.close()


@pytest.fixture(scope="module")
def supervised_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SupervisedServer]:
    """A server with a supervisor and a journal, for all tests that leave it without matches."""
    folder = tmp_path_factory.mktemp("supervised")
    server = SupervisedServer(folder, folder / "journal")
    yield server
    server.close()


class Game:
    """A match as its manager knows it: spells messages, and checks moves against the rules."""

    def __init__(self, name: str) -> None:
        self.rules = read_rulesheet((ROOT / "games" / "rulesheets" / f"{name}.kif").read_text())
        self.machine: StateMachine = Interpreter(check(self.rules))
        self.state: State = self.machine.initial()

    def start(self, match_id: str, role: Term | None = None, clocks: str = f"{CLOCK} {CLOCK}") -> str:
        """Returns the START of this game; `role` defaults to the first one."""
        rules = " ".join(map(write, self.rules))
        return f"(START {match_id} {write(role or self.machine.roles[0])} ({rules}) {clocks})"

    def legal(self, role: int = 0) -> list[Term]:
        """Returns the legal moves now."""
        return self.machine.legal(self.state, role)

    def advance(self, *joint_move: Term) -> str:
        """Makes a joint move; returns it in the spelling of messages."""
        self.state = self.machine.next(self.state, joint_move)
        return "(" + " ".join(map(write, joint_move)) + ")"


@pytest.fixture
def tic_tac_toe() -> Game:
    """A match of tic-tac-toe at its start: every turn is soon proven, and answered then."""
    return Game("tic_tac_toe")


@pytest.fixture
def connect_four() -> Game:
    """A match of connect four at its start: no search proves it within a turn."""
    return Game("connect_four")
