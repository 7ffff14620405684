"""Spare processes of a kind, started ahead of need."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
from collections.abc import Callable, Collection, Coroutine, Sequence

from agent.serving.clock import Instant, now
from agent.serving.processes import Process
from agent.serving.starting import REFERENCE, SEARCH, SPARES, Kind, start_process
from games import kernel_cache
from games.child_process import ChildProcess

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Seconds between two looks at a spare."""

START_DELAY: dict[Kind, float] = {REFERENCE: 1.0, SEARCH: 10.0}
"""Seconds after a spare was taken until the next one is started: loading kernels would take half of a core's time from
a match that gets ready on a short start clock."""

STARTING = max(2, len(os.sched_getaffinity(0)))
"""Most processes of a kind that get ready at a time: who must answer soonest waits for no others."""

HURRY_SECONDS, HURRY_STEP = 2.0, 0.05
"""Most seconds for which no search is started while a reference that is waited for gets ready, and between two looks at
it: without the legal moves, an opinion is of no use."""

FAILURE_DELAY = 5.0
"""Seconds until the next attempt after processes that could not start; the first failure may have any reason."""

ENDING_SECONDS = 0.1
"""Seconds from the end of a process's reports until it can be told how it has ended."""

WARM_SECONDS = 30.0
"""Most CPU seconds for a process to load its kernels from the cache; usually it takes two."""

COMPILING_SECONDS = 900.0
"""Most CPU seconds for a process to compile its kernels, where none are kept."""

SILENT_AFTER = 10.0
"""Seconds, or CPU seconds of one that is warm, without a sign of life after which a spare is replaced."""

UNLOADABLE = 2
"""Processes in a row that ended while loading their kernels, after which the kernels are taken to be damaged."""


def warm_seconds() -> float:
    """Returns the most CPU seconds for a process to have its kernels."""
    return WARM_SECONDS if kernel_cache.is_kept() else COMPILING_SECONDS


class ProcessPool:
    """Keeps a spare process of one kind, and bounds their number: with those of matches, and those being ended."""

    def __init__(
        self,
        kind: Kind,
        memory: int,
        matches: int,
        on_unloadable: Callable[[], None] = lambda: None,
        urgent: Callable[[], bool] = lambda: False,
    ) -> None:
        """`memory` bounds the processes of a match, in bytes; `matches` their number.

        `on_unloadable` is called when several in a row end while loading their kernels. While something else is
        `urgent`, no process is started.
        """
        self.without: frozenset[str] = frozenset()
        """Groups of kernels that new processes do without."""
        self.problem = ""
        """Reason for which the last process is of no use; empty if it is warm."""
        self.spares: list[Process] = []
        self.kind: Kind = kind
        self._memory = memory
        self._most = matches + SPARES
        self._on_unloadable = on_unloadable
        self._urgent = urgent
        self._hurried: Instant = -math.inf
        """Time at which a process was last started for a match that waited."""
        self._cold: set[Process] = set()
        """Processes that get ready."""
        self._failures = 0
        """Processes in a row that ended by themselves before they were warm."""
        self._count = 0
        """Processes that run or are not reaped yet."""
        self._waiting: list[Callable[[], Instant]] = []
        """Times at which each match that waits for a process must answer."""
        self._taken: Instant = -math.inf
        """Time at which a match took the last spare; long ago if a match has ended since."""
        self._news = asyncio.Event()
        """Set by any event that may end a wait."""
        self._keeper: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def ready(self) -> Process | None:
        """A spare that can begin a match now: a search with its kernels loaded, or any reference."""
        for spare in self.spares:
            if not spare.lost.is_set() and (spare.warm.is_set() or self.kind == REFERENCE):
                return spare
        return None

    @property
    def hurries(self) -> bool:
        """Whether a match waits for a process, or for one that gets ready."""
        return now() < self._hurried + HURRY_SECONDS and bool(self._waiting or self._cold)

    def can_better(self, process: Process) -> bool:
        """Returns whether a spare has kernels that this process lacks."""
        spare = self.ready
        return spare is not None and not process.without <= spare.without

    def lacks(self, group: str) -> bool:
        """Returns whether the spare lacks a group of kernels."""
        return any(group in spare.without for spare in self.spares)

    def do_without(self, groups: Collection[str]) -> None:
        """Makes processes start without these groups of kernels, from now on, and with all others."""
        self.without = frozenset(groups)
        self._news.set()

    def start(self, early: Sequence[ChildProcess] = (), delay: float = 0.0) -> None:
        """Begins to keep a spare, after `delay` seconds; `early` are running processes."""
        for child in early:
            self._adopt(child)
        self._keeper = asyncio.create_task(self._keep(delay))

    async def acquire(self, due: Callable[[], Instant] = lambda: math.inf) -> Process:
        """Returns a process as soon as one is ready, and for nobody who must answer sooner than at the time `due`."""
        self._waiting.append(due)
        self._news.set()
        try:
            while (process := self.ready) is None or min(self._waiting, key=lambda one: one()) is not due:
                await self._wait()
            self.spares.remove(process)
        finally:
            self._waiting.remove(due)
        self._taken = now()
        self._news.set()
        return process

    def take_back(self, process: Process) -> None:
        """Keeps a process that has refused its match, as the spare, if there is none."""
        process.on_report = process.on_lost = None
        if self.spares:
            self.release(process)
        else:
            self.spares.append(process)
            self._news.set()

    def release(self, process: Process) -> None:
        """Ends a process."""
        process.on_report = process.on_lost = None
        self._cold.discard(process)
        self._taken = -math.inf
        self._in_background(self._end(process))

    async def close(self) -> None:
        """Ends the spares, and waits for the end of released processes."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        while self.spares:
            self.release(self.spares.pop())
        await asyncio.gather(*self._ending)

    async def _keep(self, delay: float) -> None:
        """Keeps a spare: started at once where one is waited for, else once a match has begun to play."""
        begins = now() + delay
        # Early processes may be fewer than matches.
        while now() < begins and not (self._waiting and self.kind == REFERENCE):
            await self._wait(begins - now())
        while True:
            self._drop_useless()
            if self._urgent():
                await asyncio.sleep(HURRY_STEP)
                continue
            due = self._waiting or now() >= self._taken + START_DELAY[self.kind]
            if self.spares or not due or self._count >= self._most or len(self._cold) >= STARTING:
                await self._wait(LOOK_SECONDS)
                continue
            self.problem = await self._add()
            if not self.problem:
                self._failures = 0
                continue
            log.error(self.problem)
            if self._failures and self._failures % UNLOADABLE == 0:
                self._on_unloadable()
            await asyncio.sleep(FAILURE_DELAY if self._failures > 1 else LOOK_SECONDS)

    async def _add(self) -> str:
        """Starts a spare, and waits until it is warm, or taken. Returns what has gone wrong, if anything has."""
        begun = now()
        if self._waiting:
            self._hurried = begun
        try:
            child = start_process(self.kind, self._memory, self.without)
        except OSError as error:
            return f"a {self.kind} process cannot be started: {error}"
        process = self._adopt(child, self.without)
        while process in self.spares and not process.warm.is_set():
            if self._hangs(process):
                self._drop(process)
                return f"{self.kind} process {process.pid} is not warm after {now() - begun:.0f} s: it hangs"
            await self._wait(LOOK_SECONDS)
        if process.lost.is_set() and process in self.spares:
            # A process ends a moment after its pipes are closed.
            await asyncio.sleep(ENDING_SECONDS)
            self._failures += not process.was_killed
            return f"{self.kind} process {process.pid} ended before it was warm"
        if not process.lost.is_set() and process.warm.is_set():
            log.info("%s process %d is warm after %.1f s", self.kind, process.pid, now() - begun)
        return ""

    def _adopt(self, child: ChildProcess, without: Collection[str] = ()) -> Process:
        """Takes a new process among the spares."""
        process = Process(self.kind, child, without)
        process.on_warm = lambda: self._settle(process)
        self._cold.add(process)
        self._count += 1
        self.spares.append(process)
        self._news.set()
        return process

    def _settle(self, process: Process) -> None:
        self._cold.discard(process)
        self._news.set()

    def _drop_useless(self) -> None:
        """Ends spares that are lost, hang, lack kernels that are there by now, or are too many."""
        for number, spare in reversed([*enumerate(self.spares)]):
            if hangs := self._hangs(spare):
                log.error("%s process %d hangs before it has a match", self.kind, spare.pid)
            if number or spare.lost.is_set() or not spare.without <= self.without or hangs:
                self._drop(spare)

    def _hangs(self, spare: Process) -> bool:
        return spare.hangs(SILENT_AFTER, SILENT_AFTER if spare.warm.is_set() else warm_seconds())

    def _drop(self, spare: Process) -> None:
        self.spares.remove(spare)
        self.release(spare)

    async def _end(self, process: Process) -> None:
        await process.end()
        self._count -= 1
        self._news.set()

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _wait(self, seconds: float | None = None) -> None:
        self._news.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
