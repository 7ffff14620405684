"""Spare processes of both kinds, started ahead of need."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import subprocess
from collections.abc import Callable, Collection, Coroutine, Sequence

from agent.serving.clock import Instant, now
from agent.serving.processes import Process
from agent.serving.starting import REFERENCE, SEARCH, SPARES, Kind, start_process
from games import kernel_cache

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Seconds between two looks at a spare."""

START_DELAY: dict[Kind, float] = {REFERENCE: 1.0, SEARCH: 10.0}
"""Seconds after a spare was taken until the next one is started: loading kernels would take half of a core's time from
a match that gets ready on a short start clock."""

EARLY_SECONDS = 1.0
"""Seconds after which references that were started early are not needed any more."""

FAILURE_DELAY = 5.0
"""Seconds until the next attempt after a process that could not start."""

WARM_SECONDS = 30.0
"""Most seconds for a process to load its kernels from the cache; usually it takes two."""

COMPILING_SECONDS = 900.0
"""Most seconds for a process to compile its kernels, where none are kept."""

SILENT_AFTER = 10.0
"""Seconds without a sign of life after which a spare is replaced; the pulse may be late on a loaded machine."""

REFUSAL_SECONDS = 10.0
"""Most seconds for a process to refuse a match that the other process has refused."""

UNLOADABLE = 2
"""Processes in a row that ended while loading their kernels, after which the kernels are taken to be damaged."""


def warm_seconds() -> float:
    """Returns the most seconds for a process to have its kernels."""
    return WARM_SECONDS if kernel_cache.is_kept() else COMPILING_SECONDS


class Pool:
    """Keeps a spare process of each kind.

    There are at most `matches + SPARES` of a kind, those being ended included: a match that wants one more waits.
    """

    def __init__(
        self,
        memory: int,
        matches: int,
        early: Sequence[subprocess.Popen[bytes]] = (),
        on_unloadable: Callable[[], None] = lambda: None,
    ) -> None:
        """`memory` bounds the processes of a match, in bytes; `early` are running references.

        `on_unloadable` is called when several processes in a row end while loading their kernels.
        """
        self._memory = memory
        self._most = matches + SPARES
        self._early = list(early)
        self._on_unloadable = on_unloadable
        self.problem = ""
        """Reason for which the last search process is of no use; empty if it is warm."""
        self._failures = 0
        """Processes in a row that ended while loading their kernels."""
        self._without: frozenset[str] = frozenset()
        self._spares: dict[Kind, list[Process]] = {REFERENCE: [], SEARCH: []}
        self._counts: dict[Kind, int] = {REFERENCE: len(self._early), SEARCH: 0}
        """Processes that run or are not reaped yet."""
        self._waiting: dict[Kind, int] = {REFERENCE: 0, SEARCH: 0}
        """Matches that wait for a process."""
        self._taken: dict[Kind, Instant] = {REFERENCE: -math.inf, SEARCH: -math.inf}
        """Time at which a match took the last spare."""
        self._wanted = {kind: asyncio.Event() for kind in self._spares}
        """Set where a spare is waited for, or a match has ended."""
        self._changed = asyncio.Condition()
        self._silent: Process | None = None
        """The spare that gave no sign of life at the last look: this process itself may not have read it."""
        self._keepers: list[asyncio.Task[None]] = []
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def warm(self) -> bool:
        """Whether a spare search process with its kernels loaded is waiting."""
        return self._ready(SEARCH) is not None

    def do_without(self, groups: Collection[str]) -> None:
        """Makes processes start without these groups of kernels, from now on, and with all others."""
        self._without = frozenset(groups)
        self._wanted[SEARCH].set()

    def spare_lacks(self, group: str) -> bool:
        """Returns whether the spare search process lacks a group of kernels."""
        return any(group in spare.without for spare in self._spares[SEARCH])

    def can_better(self, process: Process) -> bool:
        """Returns whether a search process that is warm by now has kernels that this one lacks."""
        spare = self._ready(SEARCH)
        return spare is not None and not process.without <= spare.without

    def start(self, *, at_once: bool = True) -> None:
        """Starts the first spares; if not `at_once`, the search a moment later: references need the processor first."""
        self._spares[REFERENCE] = [Process(REFERENCE, child) for child in self._early]
        self._early.clear()
        early = EARLY_SECONDS if self._spares[REFERENCE] else 0.0
        delays: dict[Kind, float] = {REFERENCE: early, SEARCH: 0.0 if at_once else LOOK_SECONDS}
        self._keepers = [asyncio.create_task(self._keep(kind, delay)) for kind, delay in delays.items()]

    async def close(self) -> None:
        """Ends the spares, and waits for the end of released processes."""
        for child in self._early:
            child.kill()
            child.wait()
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        for spares in self._spares.values():
            while spares:
                self.release(spares.pop())
        await asyncio.gather(*self._ending)

    async def acquire(self, kind: Kind) -> Process:
        """Returns a process as soon as there is one: a search with its kernels loaded, a reference at any time."""
        if self._ready(kind) is None:
            self._wanted[kind].set()
        self._waiting[kind] += 1
        try:
            async with self._changed:
                await self._changed.wait_for(lambda: self._ready(kind) is not None)
                process = self._ready(kind)
                assert process is not None
                self._spares[kind].remove(process)
        finally:
            self._waiting[kind] -= 1
        self._taken[kind] = now()
        return process

    def take_back(self, process: Process) -> None:
        """Takes back a process whose match was refused, and keeps it if there is no other spare."""
        process.on_report = process.on_lost = None

        async def keep() -> None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REFUSAL_SECONDS):
                    await process.refused.wait()
            if self._spares[process.kind] or process.lost.is_set() or not process.refused.is_set():
                await self._end(process)
            else:
                process.refused.clear()
                self._spares[process.kind].append(process)
                await self._announce()

        self._in_background(keep())

    def release(self, process: Process) -> None:
        """Ends a process."""
        process.on_report = process.on_lost = None
        self._wanted[process.kind].set()
        self._in_background(self._end(process))

    def _ready(self, kind: Kind) -> Process | None:
        """Returns a spare that can begin a match now."""
        for spare in self._spares[kind]:
            if not spare.lost.is_set() and (spare.warm.is_set() or kind == REFERENCE):
                return spare
        return None

    async def _end(self, process: Process) -> None:
        await process.end()
        self._counts[process.kind] -= 1
        await self._announce()

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _announce(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _keep(self, kind: Kind, delay: float) -> None:
        """Keeps a spare running: started at once where one is waited for, else once a match has begun to play."""
        spares, wanted = self._spares[kind], self._wanted[kind]
        await asyncio.sleep(delay)
        wanted.set()
        while True:
            # `wait_for` of Python 3.11 may swallow a cancellation that comes at the same time.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await wanted.wait()
            useless = [*spares[1:], *filter(self._is_useless, spares[:1])]
            for spare in useless:
                spares.remove(spare)
                self.release(spare)
            due = wanted.is_set() or self._waiting[kind] or now() >= self._taken[kind] + START_DELAY[kind]
            wanted.clear()
            if spares or not due:
                continue
            async with self._changed:
                await self._changed.wait_for(lambda: bool(spares) or self._counts[kind] < self._most)
            problem = "" if spares else await self._add(kind)
            if kind == SEARCH:
                self.problem = problem
            if problem:
                log.error(problem)
                await asyncio.sleep(FAILURE_DELAY)

    async def _add(self, kind: Kind) -> str:
        """Starts a spare, and waits until it is warm. Returns what has gone wrong, if anything has."""
        begun = now()
        without = self._without if kind == SEARCH else frozenset[str]()
        try:
            process = Process(kind, start_process(kind, self._memory, without), without)
        except OSError as error:
            return f"a {kind} process cannot be started: {error}"
        self._counts[kind] += 1
        self._spares[kind].append(process)
        await self._announce()
        try:
            async with asyncio.timeout(warm_seconds()):
                await process.warm.wait()
        except TimeoutError:
            return f"{kind} process {process.pid} is not warm after {warm_seconds():.0f} s"
        if process.lost.is_set():
            self._failures += kind == SEARCH
            if kind == SEARCH and self._failures % UNLOADABLE == 0:
                self._on_unloadable()
            return f"{kind} process {process.pid} ended before it was warm"
        if kind == SEARCH:
            self._failures = 0
        log.info("%s process %d is warm after %.1f s", kind, process.pid, now() - begun)
        await self._announce()
        return ""

    def _is_useless(self, spare: Process) -> bool:
        """Returns whether a spare is lost, lacks kernels that are there by now, or hangs at two looks in a row."""
        if spare.lost.is_set() or (spare.kind == SEARCH and not spare.without <= self._without):
            return True
        if now() - spare.heard <= (SILENT_AFTER if spare.warm.is_set() else warm_seconds()):
            return False
        hangs, self._silent = self._silent is spare, spare
        if hangs:
            log.error("%s process %d hangs before it has a match: another one is started", spare.kind, spare.pid)
        return hangs
