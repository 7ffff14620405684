"""A match's seat for a process of one kind: whoever sits there is told each turn once, and replaced when it is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from agent.playing.messages import PULSE, Astray, Begin, Command, Report, Rewind, Situation, Thought, Turn, count_turns
from agent.search.kernel_groups import CIRCUIT
from agent.serving.clock import Instant, now
from agent.serving.pool import ProcessPool
from agent.serving.processes import Process
from agent.serving.starting import REFERENCE, SEARCH, Kind

log = logging.getLogger(__name__)

RECKLESS_LOSSES = 2
"""Lost processes after which a match goes on without the circuit, which may be what kills them."""

HUNG_AFTER: dict[Kind, tuple[float, float]] = {REFERENCE: (1.5, 1.5), SEARCH: (3.0, 6.0)}
"""Seconds, and CPU seconds, without a sign of life after which a process is taken to hang (`Watchdog`). Less is lost
with a reference, and only it may know the legal moves. A search may use several cores, and checks the rules first."""

MAX_LOSSES = 20
"""Lost processes after which a match gets no more."""


class ProcessSeat:
    """Keeps a match supplied with a process of one kind."""

    def __init__(
        self,
        match_id: str,
        pool: ProcessPool,
        due: Callable[[], Instant],
        make_begin: Callable[[bool], Begin],
        on_report: Callable[[Report], None],
        on_lost: Callable[[], None],
    ) -> None:
        """`due` returns the time at which the match's next answer must be there; `make_begin(compile)` the command for
        a new process; `on_report` takes reports.

        `on_lost` is called when a process has died, or hangs.
        """
        self._match_id = match_id
        self._kind = pool.kind
        self._pool = pool
        self._due = due
        self._make_begin = make_begin
        self._on_report = on_report
        self._on_lost = on_lost
        self._process: Process | None = None
        self._told = 0
        """Number of joint moves that the process was told."""
        self._rewound = False
        """Whether the process has told nothing since the match began again."""
        self._losses = 0
        self._closed = False
        self._joining: asyncio.Task[None] | None = None
        self._watch = asyncio.create_task(self._watch_pulse())

    @property
    def taken(self) -> bool:
        """Whether there is a process."""
        return self._process is not None

    @property
    def alive(self) -> bool:
        """Whether the process has given a sign of life recently."""
        return self._process is not None and now() - self._process.heard < 3 * PULSE

    @property
    def can_be_bettered(self) -> bool:
        """Whether a spare process has kernels that this one lacks. Lost processes may have died of the kernels."""
        return self._process is not None and self._losses < RECKLESS_LOSSES and self._pool.can_better(self._process)

    def ensure(self) -> None:
        """Gets a process if there is none."""
        if not self._closed and self._process is None and self._joining is None and self._losses <= MAX_LOSSES:
            self._joining = asyncio.create_task(self._join())

    def turn(self, number: int, command: Turn) -> None:
        """Tells the process of a turn: `number` joint moves were received, the last of them in `command`."""
        if command.joint_move is None or self._told < number:
            self._told = number
            self.send(command)

    def rewind(self) -> None:
        """Tells the process that the match begins again."""
        self._told = 0
        self._rewound = True
        self.send(Rewind())

    def send(self, command: Command) -> None:
        """Sends any other command."""
        if self._process is not None:
            self._process.send(command)

    def replace(self, *, lost: bool = True) -> None:
        """Ends the process, and gets another one. `lost` says whether that counts as a loss."""
        if self._process is not None:
            self._pool.release(self._process)
            self._process = None
        self._losses += lost
        if self._losses > MAX_LOSSES:
            log.error("%s: that was too many: the match goes on without a %s process", self._match_id, self._kind)
        self.ensure()

    def close(self, *, free: bool = False) -> None:
        """Ends everything. A process that is `free` for another match goes back to the pool."""
        self._closed = True
        self._watch.cancel()
        if self._joining is not None:
            # A long wait would keep the match in memory, and take a process away from others.
            self._joining.cancel()
        if self._process is not None:
            (self._pool.take_back if free else self._pool.release)(self._process)
            self._process = None
        # Without this cycle a match is freed at once, not with all others by garbage collection.
        del self._due, self._make_begin, self._on_report, self._on_lost

    async def _join(self) -> None:
        process = await self._pool.acquire(self._due)
        self._joining = None
        self._process = process
        log.info("%s: %s process %d joins", self._match_id, self._kind, process.pid)
        compile = self._kind == SEARCH and self._losses < RECKLESS_LOSSES and CIRCUIT not in process.without
        begin = self._make_begin(compile)
        self._told = begin.checkpoint.turn + count_turns(*begin.checkpoint.since)
        self._rewound = False
        process.on_report, process.on_lost = self._pass_on, self._lose
        process.send(begin)
        if process.lost.is_set():
            self._lose()

    def _pass_on(self, report: Report) -> None:
        """Passes a report on, unless it is about a turn from before the match began again."""
        if self._rewound and isinstance(report, Situation | Astray | Thought):
            if report.turn:
                return
            self._rewound = False
        self._on_report(report)

    def _lose(self, how: str = "is lost") -> None:
        assert self._process is not None
        log.error("%s: %s process %d %s", self._match_id, self._kind, self._process.pid, how)
        self._on_lost()
        self.replace()

    async def _watch_pulse(self) -> None:
        while True:
            await asyncio.sleep(PULSE)
            if self._process is not None and self._process.hangs(*HUNG_AFTER[self._kind]):
                self._lose("hangs")
