"""Load and faults against a server of our own: many short matches at once, with the server or its workers killed.

The managers of these matches are our referee, which sends, reads and scrambles like ggp-base's and Dresden's in turn,
with a connection for each message. Where no legal move comes in time, it replaces it and goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from agent.errors import CommandError
from agent.record.match import MatchRecord
from agent.refereeing.referee import Referee
from agent.serving.starting import PROCESSES_SHARE, SPARES, memory_share
from agent.serving.statistics import resident
from agent.sheet import Sheet, load
from games.gdl.interpreter.machine import Interpreter
from protocol.client import Answer, Late, PlayerClient, Unreachable
from protocol.compose import Style
from protocol.messages import Message, Play
from protocol.scramble import ScrambleStyle, make_scrambler
from tests.instruments.soak_faults import FAULTS, NEIGHBOUR, NEIGHBOURS_MATCHES, USUAL, Undo
from tests.instruments.soak_server import SoakServer

GRACE = 1.0
"""Seconds that a killed server may take to start again, twice."""
WEIGH_SECONDS = 0.5
"""Seconds between two measurements of the memory."""
MOST_NAMED = 50
"""Replies of each kind in the report, at most."""
QUANTILES = {"median": 0.5, "99%": 0.99, "99.9%": 0.999, "max": 1.0}
"""Of the lateness of replies."""
SCRAMBLES: dict[Style, tuple[ScrambleStyle, ...]] = {"ggp-base": ("none", "ggp-base"), "dresden": ("upper", "dresden")}
"""Ways in which each kind of manager changes the rules' tokens."""


@dataclass
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
    together: dict[str, int] = field(default_factory=lambda: {"most": 0, "bound": 0, "processes": 0})
    """Most bytes and most processes of the whole server at a time; bytes that it may take, by the options."""
    illegal_under: Counter[str] = field(default_factory=Counter)
    """Number of illegal moves by fault of the match; the key is empty for matches without a fault."""
    illegal_moves: list[str] = field(default_factory=list)
    """The first illegal move of each match, a line each."""
    late_replies: list[str] = field(default_factory=list)
    server: dict[str, object] = field(default_factory=dict)
    """The server's health data at the end."""

    def as_json(self) -> dict[str, object]:
        """Returns the figures."""
        late, memory = sorted(self.lateness), self.memory
        places = {name: min(len(late) - 1, int(share * len(late))) for name, share in QUANTILES.items()}
        return vars(self) | {
            "faults": dict(self.faults),
            "illegal_under": dict(self.illegal_under),
            "lateness": {name: round(late[place], 4) if late else None for name, place in places.items()},
            "outages": {"count": len(self.outages), "longest": round(max(self.outages, default=0.0), 3)},
            "memory": {"first": memory[0], "last": memory[-1], "most": max(memory)} if memory else None,
            "illegal_moves": self.illegal_moves[:MOST_NAMED],
            "late_replies": self.late_replies[:MOST_NAMED],
        }


class _OverError(CommandError):
    """One of the bounds is reached."""


class _BusyError(CommandError):
    """All workers still have matches that a fault has broken off."""


class Soak:
    """One run; the options are those of the command."""

    def __init__(
        self, options: argparse.Namespace, server: SoakServer, report: SoakReport, progress: Callable[[], None]
    ) -> None:
        """`progress` is called after each match."""
        self.options, self.server, self.report, self._progress = options, server, report, progress
        self._rng = random.Random(options.seed)
        self._sheets = [load(name) for name in options.games]
        self.killed: float | None = None
        """Time at which the server was killed, until it answers again."""
        self.disturbed = 0.0
        """Time until which replies may be missing because of a fault."""
        self._end = 0.0

    @property
    def over(self) -> bool:
        """Whether one of the bounds is reached."""
        return self.report.turns >= self.options.turns or time.monotonic() > self._end

    async def run(self) -> None:
        """Plays matches until a bound is reached."""
        await self.server.wait_until_available()
        self._end = time.monotonic() + self.options.seconds
        weighing = asyncio.create_task(self._weigh())
        await asyncio.gather(*map(self._manage, range(self.options.at_once)))
        weighing.cancel()
        with contextlib.suppress(OSError, ValueError):
            self.report.server = await self.server.get("/healthz")

    async def _weigh(self) -> None:
        """Notes the memory of all processes together, from time to time."""
        together = self.report.together
        while True:
            memory, processes = await asyncio.to_thread(self.server.memory)
            together["most"] = max(together["most"], memory)
            together["processes"] = max(together["processes"], processes)
            await asyncio.sleep(WEIGH_SECONDS)

    async def _manage(self, number: int) -> None:
        count = 0
        while not self.over:
            style: Style = ("ggp-base", "dresden")[(number + count) % 2]
            async with Manager(self, f"soak-{number}-{count}", style, self._rng) as manager:
                await self._play(manager, self._rng.choice(self._sheets))
            count += 1

    async def _play(self, manager: Manager, sheet: Sheet) -> None:
        options, rng, report = self.options, self._rng, self.report
        machine, scramble, seed = Interpreter(sheet.checked), rng.choice(SCRAMBLES[manager.style]), rng.getrandbits(30)
        player = rng.randrange(len(machine.roles))
        players = ("server",) * len(machine.roles)
        clocks = options.start_clock, options.play_clock
        record = MatchRecord(
            sheet.name, manager.match_id, machine.roles, players, *clocks, scramble, seed, sheet.rulesheet
        )
        clients = [manager if role == player else None for role in range(len(machine.roles))]
        try:
            await Referee(machine, make_scrambler(scramble, seed), clients, record).run()
        except _OverError:
            pass
        except _BusyError:
            report.refused += 1
            await asyncio.sleep(1.0)
            return
        finally:
            with contextlib.suppress(OSError):
                manager.mend()
        report.matches += 1
        illegal = [one for one in record.errors if one.request == "play" and one.kind in ("illegal", "malformed")]
        if illegal:
            report.illegal += len(illegal)
            report.illegal_under[manager.fault] += len(illegal)
            report.illegal_moves.append(f"{manager.label(illegal[0].step)}: {illegal[0].detail[:80]}")
        if self.server.pid is not None:
            report.memory.append(resident(self.server.pid))
        self._progress()

    async def inflict(self, fault: str) -> Undo | None:
        """Inflicts a fault on the server, if it is up."""
        if self.server.pid is None:
            return None
        self.report.faults[fault] += 1
        if fault.startswith("server killed"):
            self.killed = time.monotonic()
            self.disturbed = self.killed + self.options.play_clock + 2 * GRACE
        with contextlib.suppress(OSError):
            return await FAULTS[fault](self.server, self._rng)
        return None


class Manager(PlayerClient):
    """A manager's connections in one match: inflicts the fault of the match, and notes how the server plays."""

    def __init__(self, soak: Soak, match_id: str, style: Style, rng: random.Random) -> None:
        super().__init__(soak.server.url, style=style)
        self.match_id = match_id
        self.fault = ""
        """The fault that the match was hit by so far."""
        self.mend: Undo = lambda: None
        """Mends it."""
        self._soak, self._step = soak, 0
        options = soak.options
        self._coming = rng.choice(options.fault or USUAL) if rng.random() < options.faults else ""
        self._fault_at = rng.randrange(1, 9)

    def label(self, step: int) -> str:
        """Returns the name of a turn in the report."""
        return f"{self.match_id} ({self.style}), turn {step}" + (f", {self.fault}" if self.fault else "")

    async def send(self, message: Message, *, timeout: float) -> Answer:
        """See `PlayerClient.send`. Raises `_OverError` instead of sending PLAY, and `_BusyError`."""
        if isinstance(message, Play):
            return await self._play(message, timeout)
        answer = await super().send(message, timeout=timeout)
        if answer.text == "busy":
            raise _BusyError(self.match_id)
        return answer

    async def _play(self, message: Play, clock: float) -> Answer:
        soak, report = self._soak, self._soak.report
        if soak.over:
            raise _OverError(self.match_id)
        self._step += 1
        if self._coming and self._step == self._fault_at:
            self.fault = self._coming
            self.mend = await soak.inflict(self.fault) or self.mend
        begun = time.monotonic()
        report.turns += 1
        try:
            answer = await super().send(message, timeout=clock)
        except (Late, Unreachable) as error:
            if begun < soak.disturbed:
                report.lost += 1
            else:
                report.late += 1
                report.late_replies.append(f"{self.label(self._step)}: {error}")
            # Not all turns of the match are missed at once.
            await asyncio.sleep(max(0.0, begun + clock - time.monotonic()))
            raise
        if soak.killed is not None and begun >= soak.killed:
            report.outages.append(time.monotonic() - soak.killed)
            soak.killed = None
        after_plan = answer.seconds - (clock - soak.options.margin)
        if after_plan > 0 and begun >= soak.disturbed:
            report.lateness.append(after_plan)
        return answer


def soak(options: argparse.Namespace, progress: Callable[[SoakReport], None]) -> SoakReport:
    """Starts a server, plays matches against it until a bound is reached or SIGINT comes, and ends it.

    `progress` is called after each match. Raises `CommandError` for games that cannot be read, and where the server
    does not start.
    """
    report, faults = SoakReport(), options.fault or USUAL
    # A hostile neighbour plays matches as well.
    workers = options.at_once + (NEIGHBOURS_MATCHES if NEIGHBOUR in faults else 0)
    report.together["bound"] = int(memory_share(workers) * (workers + SPARES) / PROCESSES_SHARE)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ggp-agent-soak-")))
        for _ in range(options.load):
            stack.callback(subprocess.Popen([sys.executable, "-c", "while True: pass"]).kill)
        log = options.log or folder / "server.log"
        server = SoakServer(folder, log, options.margin, workers, own_kernels=not set(faults) <= set(USUAL))
        stack.callback(server.end)
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(Soak(options, server, report, lambda: progress(report)).run())
    return report
