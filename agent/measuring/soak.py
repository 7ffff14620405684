"""Load and faults against a server of our own: many short matches at once, with the server or its workers killed.

The managers of these matches send as the real ones do: a connection for each message, read to its end, and only the
last joint move told. Where no answer comes in time they make a random move, and go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.errors import CommandError
from agent.processes import module_environment
from agent.serving.statistics import resident
from agent.sheet import load
from games.gdl.interpreter.machine import Interpreter
from games.machine import State, StateMachine, Term
from protocol.kif import read_one, write
from protocol.terms import TextError

HOST = "127.0.0.1"

AVAILABLE_SECONDS = 600.0
"""How long the server may take until it is available: the first start compiles kernels."""

GRACE = 1.0
"""Seconds beyond the clock that managers wait."""

END_SECONDS = 20.0
"""How long the server may take to end when it is told to. Set by hand; not tuned."""

FAULTS = ("server killed", "worker killed", "worker stopped", "journal torn", "half a message")


class SoakError(CommandError):
    """The server could not be started, or did not become available."""


@dataclass(frozen=True, slots=True)
class SoakOptions:
    """What is done to the server."""

    games: Sequence[str]
    """Rulesheets, files or names."""
    turns: int = 200
    """Bound on the turns of all matches together."""
    seconds: float = 300.0
    """Bound on the time, without the server's start."""
    at_once: int = 2
    """Matches that run side by side."""
    start_clock: int = 3
    play_clock: int = 1
    margin: float = 0.4
    faults: float = 0.0
    """Share of the matches that are hit by a fault, each at a random turn."""
    load: int = 0
    """Processes beside that do nothing but use a core."""
    seed: int = 0
    log: Path | None = None
    """Where to keep the server's log; None to forget it."""


@dataclass(slots=True)
class SoakReport:
    """What happened."""

    matches: int = 0
    turns: int = 0
    illegal: int = 0
    late: int = 0
    """Replies that came after the clock, or not at all, while the server ran."""
    lost: int = 0
    """Replies that did not come at all, during or right after a fault."""
    faults: Counter[str] = field(default_factory=Counter)
    lateness: list[float] = field(default_factory=list)
    """Seconds after the plan (clock less margin), of replies that waited for their deadline."""
    outages: list[float] = field(default_factory=list)
    """Seconds from the killing of a server to the next answer."""
    memory: list[int] = field(default_factory=list)
    """Bytes that the server process held after each match."""
    illegal_moves: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, object]:
        """The figures."""
        late = sorted(self.lateness)

        def quantile(share: float) -> float | None:
            return round(late[min(len(late) - 1, int(share * len(late)))], 4) if late else None

        return {
            "matches": self.matches,
            "turns": self.turns,
            "illegal": self.illegal,
            "late": self.late,
            "lost": self.lost,
            "faults": dict(self.faults),
            "lateness": {
                "median": quantile(0.5),
                "99%": quantile(0.99),
                "99.9%": quantile(0.999),
                "max": quantile(1.0),
            },
            "outages": {"count": len(self.outages), "longest": round(max(self.outages, default=0.0), 3)},
            "memory": {"first": self.memory[0], "last": self.memory[-1]} if self.memory else None,
            "illegal_moves": self.illegal_moves[:20],
        }


class _Server:
    """`ggp-agent serve`, with its supervisor and a journal."""

    def __init__(self, folder: Path, options: SoakOptions) -> None:
        self.journal = folder / "journal"
        self.log = folder / "server.log"
        result = folder / "serve.json"
        arguments = ("--host", HOST, "--port", "0", "--margin", str(options.margin), "--json", str(result))
        more = ("--journal", str(self.journal), "--workers", str(options.at_once), "--no-memory")
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "agent.cli", "serve", *arguments, *more],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=module_environment(),
                start_new_session=True,
            )
        end = time.monotonic() + AVAILABLE_SECONDS
        while not (result.exists() and result.read_text().endswith("}\n")):
            if self._process.poll() is not None or time.monotonic() > end:
                self.end()
                raise SoakError(f"the server does not start:\n{self.tail()}")
            time.sleep(0.02)
        self.port = int(json.loads(result.read_text())["port"])

    @property
    def pid(self) -> int | None:
        """The serving process; None while there is none."""
        return next(iter(_direct_children(self._process.pid)), None)

    def tail(self) -> str:
        """The end of the log."""
        return self.log.read_text(errors="replace")[-3000:]

    def end(self) -> None:
        """Ends it in an orderly way."""
        self._process.terminate()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    async def send(self, message: str, seconds: float) -> str:
        """The reply, read to the end of the stream. Raises `OSError`, and `TimeoutError` after so many seconds."""
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(HOST, self.port)
            try:
                body = message.encode()
                writer.write(b"POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                text = await reader.read()
            finally:
                writer.close()
        _, found, reply = text.partition(b"\r\n\r\n")
        if not found:
            raise ConnectionResetError("no reply")
        return reply.decode()

    async def wait_until_available(self) -> None:
        """Returns when it says `available`. Raises `SoakError`."""
        end = time.monotonic() + AVAILABLE_SECONDS
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                if "available" in await self.send("(INFO)", 10.0):
                    return
            await asyncio.sleep(0.1)
        raise SoakError(f"the server is not available:\n{self.tail()}")


class _Soak:
    """One run."""

    def __init__(self, options: SoakOptions, server: _Server, progress: Callable[[SoakReport], None]) -> None:
        self._options = options
        self._server = server
        self._progress = progress
        self._rng = random.Random(options.seed)
        self.report = SoakReport()
        self._games: list[tuple[StateMachine, str]] = []
        for name in options.games:
            sheet = load(name)
            self._games.append((Interpreter(sheet.checked), " ".join(map(write, sheet.rulesheet))))
        self._killed: float | None = None
        self._disturbed = 0.0
        """Until when replies may be missing because of a fault."""
        self._end = time.monotonic() + options.seconds

    @property
    def over(self) -> bool:
        """Whether one of the bounds is reached."""
        return self.report.turns >= self._options.turns or time.monotonic() > self._end

    async def run(self) -> None:
        """Plays matches until a bound is reached."""
        await asyncio.gather(*(self._manage(number) for number in range(self._options.at_once)))

    async def _manage(self, number: int) -> None:
        count = 0
        while not self.over:
            machine, rules = self._rng.choice(self._games)
            await self._play(f"soak-{number}-{count}", machine, rules)
            count += 1

    async def _play(self, match_id: str, machine: StateMachine, rules: str) -> None:
        options, rng = self._options, self._rng
        role = rng.randrange(len(machine.roles))
        fault = rng.choice(FAULTS) if rng.random() < options.faults else None
        fault_at = rng.randrange(8)
        clocks = f"{options.start_clock} {options.play_clock}"
        start = f"(START {match_id} {write(machine.roles[role])} ({rules}) {clocks})"
        with contextlib.suppress(OSError):
            if await self._server.send(start, options.start_clock + GRACE) != "ready":
                # All workers are still at matches that a fault has broken off.
                await asyncio.sleep(1.0)
                return
        state, last, step = machine.initial(), "NIL", 0
        while not machine.terminal(state) and not self.over:
            if fault is not None and step == fault_at:
                self._inflict(fault)
            mine = await self._ask(match_id, last, machine, state, role)
            joint_move = [rng.choice(machine.legal(state, other) or ["nil"]) for other in range(len(machine.roles))]
            if mine is not None:
                joint_move[role] = mine
            state = machine.next(state, joint_move)
            last, step = "(" + " ".join(map(write, joint_move)) + ")", step + 1
        with contextlib.suppress(OSError):
            await self._server.send(f"(STOP {match_id} {last})", options.play_clock + GRACE)
        self.report.matches += 1
        pid = self._server.pid
        if pid is not None:
            self.report.memory.append(resident(pid))
        self._progress(self.report)

    async def _ask(self, match_id: str, last: str, machine: StateMachine, state: State, role: int) -> Term | None:
        """A legal move; None where there was none in time."""
        options, report = self._options, self.report
        begun = time.monotonic()
        try:
            text = await self._server.send(f"(PLAY {match_id} {last})", options.play_clock + GRACE)
        except OSError:
            # A time-out is one, too.
            report.turns += 1
            if begun < self._disturbed:
                report.lost += 1
            else:
                report.late += 1
            return None
        replied = time.monotonic()
        seconds = replied - begun
        report.turns += 1
        if self._killed is not None and begun >= self._killed:
            report.outages.append(replied - self._killed)
            self._killed = None
        disturbed = begun < self._disturbed
        report.late += seconds > options.play_clock and not disturbed
        if seconds > options.play_clock - options.margin and not disturbed:
            report.lateness.append(seconds - (options.play_clock - options.margin))
        legal = machine.legal(state, role)
        try:
            move = read_one(text)
        except TextError:
            move = text
        if legal and move not in legal:
            report.illegal += 1
            report.illegal_moves.append(f"{match_id}: {text[:80]}")
            return None
        return move

    def _inflict(self, fault: str) -> None:
        server = self._server.pid
        if server is None:
            return
        self.report.faults[fault] += 1
        workers = _direct_children(server)
        with contextlib.suppress(OSError):
            if fault == "server killed":
                self._killed = time.monotonic()
                self._disturbed = self._killed + self._options.play_clock + 2 * GRACE
                os.kill(server, signal.SIGKILL)
            elif fault == "worker killed" and workers:
                os.kill(self._rng.choice(workers), signal.SIGKILL)
            elif fault == "worker stopped" and workers:
                os.kill(self._rng.choice(workers), signal.SIGSTOP)
            elif fault == "journal torn":
                for path in self._server.journal.glob("*.jsonl"):
                    with open(path, "a") as file:
                        file.write('{"moves": ["le')
            elif fault == "half a message":
                asyncio.get_running_loop().create_task(self._send_half())

    async def _send_half(self) -> None:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(HOST, self._server.port)
            writer.write(b"POST / HTTP/1.0\r\nContent-Length: 100\r\n\r\n(PLAY ((((")
            await writer.drain()
            writer.close()


def soak(options: SoakOptions, progress: Callable[[SoakReport], None] = lambda report: None) -> SoakReport:
    """Starts a server, plays matches against it until a bound is reached, and ends it.

    `progress` is called after each match. Raises `CommandError` for games that cannot be read, and where the server
    does not start.
    """
    with tempfile.TemporaryDirectory(prefix="ggp-agent-soak-") as folder, _load(options.load):
        server = _Server(Path(folder), options)
        try:
            run = _Soak(options, server, progress)

            async def course() -> None:
                await server.wait_until_available()
                run._end = time.monotonic() + options.seconds
                await run.run()

            asyncio.run(course())
            return run.report
        finally:
            server.end()
            if options.log is not None:
                shutil.copyfile(server.log, options.log)


@contextlib.contextmanager
def _load(processes: int) -> Iterator[None]:
    """Keeps so many cores busy."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def _direct_children(pid: int) -> list[int]:
    """The processes that a process has started itself."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []
