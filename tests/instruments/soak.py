"""Load and faults against a server of our own: many short matches at once, with the server or its workers killed.

The managers of these matches send, read and scramble like ggp-base's and Dresden's in turn, with a connection for each
message. Where no legal move comes in time, they replace it and go on.
"""

from __future__ import annotations

import asyncio
import contextlib
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

from agent.serving.light_workers import SPARES, WORKERS_SHARE, memory_share
from agent.serving.statistics import resident
from agent.sheet import load
from games.gdl.interpreter.machine import Interpreter
from games.machine import NO_MOVE, State, StateMachine, Term
from protocol.compose import Style, compose
from protocol.kif import read_one
from protocol.messages import Message, Play, Start, Stop
from protocol.scramble import ScrambleStyle, make_scrambler
from protocol.terms import TextError
from tests.instruments.soak_faults import FAULTS, NEIGHBOUR, USUAL, Undo
from tests.instruments.soak_server import SoakServer

GRACE = 1.0
"""Seconds that managers wait beyond the clock."""

WEIGH_SECONDS = 0.5
"""Seconds between two measurements of the memory."""

MOST_NAMED = 50
"""Replies of each kind in the report, at most."""

SCRAMBLES: dict[Style, tuple[ScrambleStyle, ...]] = {"ggp-base": ("none", "ggp-base"), "dresden": ("upper", "dresden")}
"""Ways in which each kind of manager changes the rules' tokens."""


@dataclass(frozen=True, slots=True)
class SoakOptions:
    """Parameters of a soak."""

    games: Sequence[str]
    """Names of own rulesheets, or files."""
    turns: int = 200
    """Turns of all matches together, at most."""
    seconds: float = 300.0
    """Time after the server's start, at most."""
    at_once: int = 2
    """Number of matches side by side."""
    start_clock: int = 3
    play_clock: int = 1
    margin: float = 0.4
    faults: float = 0.0
    """Share of matches that are hit by a fault, at a random turn."""
    faults_of: Sequence[str] = USUAL
    """Keys of `soak_faults.FAULTS`."""
    load: int = 0
    """Number of busy processes beside the server."""
    seed: int = 0
    log: Path | None = None
    """File for the server's log."""


@dataclass(slots=True)
class SoakReport:
    """Results of a soak."""

    matches: int = 0
    turns: int = 0
    illegal: int = 0
    late: int = 0
    """Replies after the clock, or missing, while the server ran."""
    lost: int = 0
    """Replies missing during or right after a fault."""
    refused: int = 0
    """STARTs that were answered `busy`."""
    faults: Counter[str] = field(default_factory=Counter)
    lateness: list[float] = field(default_factory=list)
    """Seconds after the plan (clock less margin) of replies that waited for their deadline."""
    outages: list[float] = field(default_factory=list)
    """Seconds from the end of a killed server to the next answer."""
    memory: list[int] = field(default_factory=list)
    """Resident bytes of the server process after each match."""
    together: int = 0
    """Most bytes of all processes of the server together."""
    processes: int = 0
    """Most processes of the server at a time."""
    bound: int = 0
    """Bytes that all processes together may take, by the options."""
    illegal_moves: list[str] = field(default_factory=list)
    """The first illegal move of each match, a line each."""
    illegal_under: Counter[str] = field(default_factory=Counter)
    """Number of illegal moves by fault of the match; the key is empty for matches without a fault."""
    late_replies: list[str] = field(default_factory=list)
    health: dict[str, object] = field(default_factory=dict)
    """The server's health data at the end."""

    def add_late(self, reply: str) -> None:
        """Counts a late or missing reply."""
        self.late += 1
        self.late_replies.append(reply)

    def as_json(self) -> dict[str, object]:
        """Returns the figures."""
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
            "memory": {"first": self.memory[0], "last": self.memory[-1], "most": max(self.memory)}
            if self.memory
            else None,
            "together": {"most": self.together, "bound": self.bound, "processes": self.processes},
            "refused": self.refused,
            "illegal_under": dict(self.illegal_under),
            "illegal_moves": self.illegal_moves[:MOST_NAMED],
            "late_replies": self.late_replies[:MOST_NAMED],
            "server": self.health,
        }


class _Soak:
    """One run."""

    def __init__(self, options: SoakOptions, server: SoakServer, progress: Callable[[SoakReport], None]) -> None:
        self._options = options
        self._server = server
        self._progress = progress
        self._rng = random.Random(options.seed)
        self.report = SoakReport()
        self._games: list[tuple[StateMachine, tuple[Term, ...]]] = []
        for name in options.games:
            sheet = load(name)
            self._games.append((Interpreter(sheet.checked), sheet.rulesheet))
        self._killed: float | None = None
        self._disturbed = 0.0
        """Time until which replies may be missing because of a fault."""
        self._end = 0.0
        """Time at which the run ends."""

    def stop(self) -> None:
        """Ends the matches after their current turns."""
        self._end = 0.0

    @property
    def over(self) -> bool:
        """Whether one of the bounds is reached."""
        return self.report.turns >= self._options.turns or time.monotonic() > self._end

    async def run(self) -> None:
        """Plays matches until a bound is reached."""
        self._end = time.monotonic() + self._options.seconds
        weighing = asyncio.create_task(self._weigh())
        await asyncio.gather(*(self._manage(number) for number in range(self._options.at_once)))
        weighing.cancel()

    async def _weigh(self) -> None:
        """Notes the memory of all processes together, from time to time."""
        while True:
            memory, processes = await asyncio.to_thread(self._server.memory)
            self.report.together = max(self.report.together, memory)
            self.report.processes = max(self.report.processes, processes)
            await asyncio.sleep(WEIGH_SECONDS)

    async def _manage(self, number: int) -> None:
        count = 0
        while not self.over:
            machine, rules = self._rng.choice(self._games)
            style: Style = ("ggp-base", "dresden")[(number + count) % 2]
            await self._play(SoakMatch(f"soak-{number}-{count}", style, machine, rules, self._rng))
            count += 1

    async def _play(self, match: SoakMatch) -> None:
        options, rng, machine = self._options, self._rng, match.machine
        fault = rng.choice(options.faults_of) if rng.random() < options.faults else None
        fault_at = rng.randrange(8)
        mend: Undo | None = None
        reply = await self._send(match, match.start(options.start_clock, options.play_clock), options.start_clock)
        if reply is not None and reply != "ready":
            # All workers still have matches that a fault has broken off.
            self.report.refused += 1
            await asyncio.sleep(1.0)
            return
        try:
            while not machine.terminal(match.state) and not self.over:
                if fault is not None and match.step == fault_at:
                    match.fault = fault
                    mend = await self._inflict(fault)
                match.advance(await self._ask(match))
            await self._send(match, match.message(Stop), options.play_clock)
        finally:
            if mend is not None:
                mend()
        self.report.matches += 1
        pid = self._server.pid
        if pid is not None:
            self.report.memory.append(resident(pid))
        self._progress(self.report)

    async def _send(self, match: SoakMatch, message: Message, clock: float) -> str | None:
        """Returns the reply; None if there is none in time."""
        try:
            return await self._server.send(compose(message, match.style), clock + GRACE, match.style)
        except OSError:
            # Includes time-outs.
            return None

    async def _ask(self, match: SoakMatch) -> Term | None:
        """Returns a legal move; None if there was none in time."""
        options, report = self._options, self.report
        begun = time.monotonic()
        text = await self._send(match, match.message(Play), options.play_clock)
        replied = time.monotonic()
        seconds = replied - begun
        disturbed = begun < self._disturbed
        report.turns += 1
        if text is None:
            report.lost += disturbed
            if not disturbed:
                report.add_late(f"{match.label}: no reply")
            return None
        if self._killed is not None and begun >= self._killed:
            report.outages.append(replied - self._killed)
            self._killed = None
        if seconds > options.play_clock and not disturbed:
            report.add_late(f"{match.label}: {seconds:.3f} s")
        if seconds > options.play_clock - options.margin and not disturbed:
            report.lateness.append(seconds - (options.play_clock - options.margin))
        move = match.read(text)
        if move is None:
            report.illegal += 1
            report.illegal_under[match.fault or ""] += 1
            if not match.illegal:
                outage = ", during an outage" if disturbed else ""
                report.illegal_moves.append(f"{match.label}{outage}: {text[:80]}")
            match.illegal += 1
        return move

    async def _inflict(self, name: str) -> Undo | None:
        fault = FAULTS[name]
        if self._server.pid is None:
            return None
        self.report.faults[name] += 1
        if fault.outage:
            self._killed = time.monotonic()
            self._disturbed = self._killed + self._options.play_clock + 2 * GRACE
        with contextlib.suppress(OSError):
            return await fault.inflict(self._server, self._rng)
        return None


class SoakMatch:
    """A match, for its manager."""

    def __init__(
        self, match_id: str, style: Style, machine: StateMachine, rules: tuple[Term, ...], rng: random.Random
    ) -> None:
        self.style: Style = style
        self.machine = machine
        self.state: State = machine.initial()
        self.step = 0
        self.fault: str | None = None
        self.illegal = 0
        """Illegal replies so far."""
        self._match_id = match_id
        self._rng = rng
        self._rules = rules
        self._role = rng.randrange(len(machine.roles))
        self._scrambler = make_scrambler(rng.choice(SCRAMBLES[style]), rng.randrange(1 << 30))
        self._last: tuple[Term, ...] | None = None

    @property
    def label(self) -> str:
        """Name of the turn in the report."""
        return f"{self._match_id} ({self.style}), turn {self.step}" + (f", {self.fault}" if self.fault else "")

    def start(self, start_clock: int, play_clock: int) -> Start:
        """Returns the START."""
        rules = tuple(map(self._scrambler.scramble, self._rules))
        role = self._scrambler.scramble(self.machine.roles[self._role])
        return Start(self._match_id, role, rules, start_clock, play_clock)

    def message(self, kind: type[Play | Stop]) -> Message:
        """Returns PLAY or STOP with the last joint move."""
        return kind(self._match_id, None if self._last is None else tuple(map(self._scrambler.scramble, self._last)))

    def read(self, text: str) -> Term | None:
        """Returns the legal move of a reply; None if there is none in it."""
        legal = self.machine.legal(self.state, self._role)
        try:
            move = self._scrambler.unscramble(read_one(text))
        except TextError:
            return None
        return move if move in legal or not legal else None

    def advance(self, mine: Term | None) -> None:
        """Makes a joint move: our player's move or the manager's choice in its place, and random moves of others."""
        machine, rng = self.machine, self._rng
        joint_move = [rng.choice(machine.legal(self.state, role) or [NO_MOVE]) for role in range(len(machine.roles))]
        if mine is not None:
            joint_move[self._role] = mine
        elif self.style == "dresden":
            joint_move[self._role] = (machine.legal(self.state, self._role) or [NO_MOVE])[0]
        self.state = machine.next(self.state, joint_move)
        self._last = tuple(joint_move)
        self.step += 1


def soak(options: SoakOptions, progress: Callable[[SoakReport], None] = lambda report: None) -> SoakReport:
    """Starts a server, plays matches against it until a bound is reached, and ends it.

    `progress` is called after each match. SIGINT and SIGTERM end the matches; the report is of those until then.
    Raises `CommandError` for games that cannot be read, and where the server does not start.
    """
    with tempfile.TemporaryDirectory(prefix="ggp-agent-soak-") as folder, _load(options.load):
        unusual = any(not FAULTS[name].usual for name in options.faults_of)
        # A hostile neighbour plays a match as well.
        workers = options.at_once + (NEIGHBOUR in options.faults_of)
        server = SoakServer(Path(folder), options.margin, workers, own_kernels=unusual)
        try:
            run = _Soak(options, server, progress)
            run.report.bound = int(memory_share(workers) * (workers + SPARES) / WORKERS_SHARE)

            async def course() -> None:
                await server.wait_until_available()
                with _stopping(run.stop):
                    await run.run()
                with contextlib.suppress(OSError, ValueError):
                    run.report.health = await server.health()

            asyncio.run(course())
            return run.report
        finally:
            server.end()
            if options.log is not None:
                shutil.copyfile(server.log, options.log)


@contextlib.contextmanager
def _stopping(stop: Callable[[], None]) -> Iterator[None]:
    """Lets SIGINT and SIGTERM call `stop`, once."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def end(number: int, frame: object) -> None:
        restore()
        stop()

    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        restore()


@contextlib.contextmanager
def _load(processes: int) -> Iterator[None]:
    """Keeps that many cores busy."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
