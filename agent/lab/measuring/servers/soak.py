"""Load and faults against a server of our own: many short matches at once, with the server or its workers killed.

The managers of these matches are ggp-base's and Dresden's by turns: they send, read and scramble as those do, with a
connection for each message and only the last joint move told. Where no legal move comes in time they make another one,
and go on.
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

from agent.lab.measuring.servers.soak_faults import FAULTS, USUAL, Undo
from agent.lab.measuring.servers.soak_server import SoakServer
from agent.serving.statistics import resident
from agent.sheet import load
from games.gdl.interpreter.machine import Interpreter
from games.machine import NO_MOVE, State, StateMachine, Term
from protocol.compose import Style, compose
from protocol.kif import read_one
from protocol.messages import Message, Play, Start, Stop
from protocol.scramble import ScrambleStyle, make_scrambler
from protocol.terms import TextError

GRACE = 1.0
"""Seconds beyond the clock that managers wait."""

MOST_NAMED = 50
"""Replies of each kind that the report names."""

SCRAMBLES: dict[Style, tuple[ScrambleStyle, ...]] = {"ggp-base": ("none", "ggp-base"), "dresden": ("upper", "dresden")}
"""What each kind of manager does to the rules' tokens."""


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
    faults_of: Sequence[str] = USUAL
    """Which ones, of `agent.measuring.soak_faults.FAULTS`."""
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
    refused: int = 0
    """STARTs that were answered `busy`."""
    faults: Counter[str] = field(default_factory=Counter)
    lateness: list[float] = field(default_factory=list)
    """Seconds after the plan (clock less margin), of replies that waited for their deadline."""
    outages: list[float] = field(default_factory=list)
    """Seconds from the killing of a server to the next answer."""
    memory: list[int] = field(default_factory=list)
    """Bytes that the server process held after each match."""
    illegal_moves: list[str] = field(default_factory=list)
    """One line for each match with such, its first."""
    illegal_under: Counter[str] = field(default_factory=Counter)
    """How many there were in matches that were hit by which fault; empty for those that were hit by none."""
    late_replies: list[str] = field(default_factory=list)
    health: dict[str, object] = field(default_factory=dict)
    """What the server said of itself at the end."""

    def add_late(self, reply: str) -> None:
        """Counts a late or missing reply."""
        self.late += 1
        self.late_replies.append(reply)

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
            "memory": {"first": self.memory[0], "last": self.memory[-1], "most": max(self.memory)}
            if self.memory
            else None,
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
        """Until when replies may be missing because of a fault."""
        self._end = 0.0
        """When the time is over."""

    def stop(self) -> None:
        """Ends the matches after their present turns."""
        self._end = 0.0

    @property
    def over(self) -> bool:
        """Whether one of the bounds is reached."""
        return self.report.turns >= self._options.turns or time.monotonic() > self._end

    async def run(self) -> None:
        """Plays matches until a bound is reached."""
        self._end = time.monotonic() + self._options.seconds
        await asyncio.gather(*(self._manage(number) for number in range(self._options.at_once)))

    async def _manage(self, number: int) -> None:
        count = 0
        while not self.over:
            machine, rules = self._rng.choice(self._games)
            style: Style = ("ggp-base", "dresden")[(number + count) % 2]
            await self._play(Match(f"soak-{number}-{count}", style, machine, rules, self._rng))
            count += 1

    async def _play(self, match: Match) -> None:
        options, rng, machine = self._options, self._rng, match.machine
        fault = rng.choice(options.faults_of) if rng.random() < options.faults else None
        fault_at = rng.randrange(8)
        mend: Undo | None = None
        reply = await self._send(match, match.start(options.start_clock, options.play_clock), options.start_clock)
        if reply is not None and reply != "ready":
            # All workers are still at matches that a fault has broken off.
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

    async def _send(self, match: Match, message: Message, clock: float) -> str | None:
        """The reply; None where there is none in time."""
        try:
            return await self._server.send(compose(message, match.style), clock + GRACE, match.style)
        except OSError:
            # A time-out is one, too.
            return None

    async def _ask(self, match: Match) -> Term | None:
        """A legal move; None where there was none in time."""
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


class Match:
    """A match as its manager sees it."""

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
        """What the report calls the turn."""
        return f"{self._match_id} ({self.style}), turn {self.step}" + (f", {self.fault}" if self.fault else "")

    def start(self, start_clock: int, play_clock: int) -> Start:
        """The START."""
        rules = tuple(map(self._scrambler.scramble, self._rules))
        role = self._scrambler.scramble(self.machine.roles[self._role])
        return Start(self._match_id, role, rules, start_clock, play_clock)

    def message(self, kind: type[Play | Stop]) -> Message:
        """PLAY or STOP with the last joint move."""
        return kind(self._match_id, None if self._last is None else tuple(map(self._scrambler.scramble, self._last)))

    def read(self, text: str) -> Term | None:
        """The legal move that a reply spells; None where it spells none."""
        legal = self.machine.legal(self.state, self._role)
        try:
            move = self._scrambler.unscramble(read_one(text))
        except TextError:
            return None
        return move if move in legal or not legal else None

    def advance(self, mine: Term | None) -> None:
        """Makes a joint move: our player's, the managers' choice in its place, and random ones for the others."""
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

    `progress` is called after each match. SIGINT and SIGTERM end the matches; what was counted until then is returned.
    Raises `CommandError` for games that cannot be read, and where the server does not start.
    """
    with tempfile.TemporaryDirectory(prefix="ggp-agent-soak-") as folder, _load(options.load):
        unusual = any(not FAULTS[name].usual for name in options.faults_of)
        server = SoakServer(Path(folder), options.margin, options.at_once, own_kernels=unusual)
        try:
            run = _Soak(options, server, progress)

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
    """Has SIGINT and SIGTERM call this, once."""
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
    """Keeps so many cores busy."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
