"""Worker processes as the server process sees them: started ahead of need, written to without blocking."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import pickle
import subprocess
import time
from collections.abc import Callable, Collection, Coroutine, Sequence

from agent.serving.clock import Instant, now
from agent.serving.light_workers import LIGHT, SPARES, Adopted, adopt, start_process
from agent.worker.messages import HEADER, Alive, Command, Prepared, Report, Warm, frame, parts_of
from games import kernel_cache

log = logging.getLogger(__name__)

RESPAWN_DELAY = 1.0
"""Seconds between two looks at a spare, and until the next light one is started."""

START_DELAY = 10.0
"""Seconds after a warm worker was taken until the next one is started: loading its kernels would take half of a core's
time from a match that gets ready on a short start clock."""

FAILURE_DELAY = 5.0
"""Seconds until the next attempt after a worker that could not start."""

WARM_SECONDS = 30.0
"""Most seconds for a worker to load its kernels from the cache; usually it takes two."""

COMPILING_SECONDS = 900.0
"""Most seconds for a worker to compile its kernels, where none are kept."""

SILENT_AFTER = 10.0
"""Seconds without a sign of life after which a spare is replaced; the pulse may be late on a loaded machine."""

UNLOADABLE = 2
"""Workers in a row that ended while loading their kernels, after which the kernels are taken to be damaged."""

MOST_UNREAD = 1000
"""Most commands that wait for a worker to read them; their terms are the match's own. One with more is lost."""

MOST_REPORT = 64 << 20
"""Longest report that is read, in bytes."""

LIGHT_AFTER = 0.2
"""Seconds that a match waits for a warm worker before it gets a light one."""


def warm_seconds() -> float:
    """Returns the most seconds for a worker to have its kernels."""
    return WARM_SECONDS if kernel_cache.is_kept() else COMPILING_SECONDS


class Worker:
    """One worker process. Reports arrive through `on_report`, the end of the process through `on_lost`."""

    def __init__(self, process: Adopted, without: Collection[str] = ()) -> None:
        self.without = frozenset(without)
        """Groups of kernels that it lacks: they were not compiled when it was started."""
        self.prepared: Prepared | None = None
        """Its report on how it plays the match; None before that."""
        self.on_report: Callable[[Worker, Report], None] | None = None
        self.on_lost: Callable[[Worker], None] | None = None
        self.warm = asyncio.Event()
        """Set when the kernels are loaded."""
        self.lost = asyncio.Event()
        """Set when the process has ended."""
        self.heard: Instant | None = None
        """Time of the last sign of life in its match; None before it began one."""
        self._told: Instant | None = None
        """Time of the last report, in a match or not; None before the first."""
        self._started = now()
        self._missed = False
        """Whether a sign of life was missing at the last check, and none has come since."""
        self._process = process
        self._outbox: asyncio.Queue[Command] = asyncio.Queue(MOST_UNREAD)
        self._writing = asyncio.create_task(self._write())
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, memory: int, without: Collection[str] = ()) -> Worker:
        """Starts a process; see `start_process`."""
        return cls(await adopt(start_process(memory, without)), without)

    @property
    def pid(self) -> int:
        """The process id, which is also the id of the process group with the worker's children."""
        return self._process.pid

    def send(self, command: Command) -> None:
        """Sends a command. Never blocks, even if the worker hangs; does nothing if it is gone."""
        try:
            self._outbox.put_nowait(command)
        except asyncio.QueueFull:
            if not self.lost.is_set():
                log.error("worker %d does not read what it is told: it is lost", self.pid)
                self._reading.cancel()

    def seems_to_hang(self) -> bool:
        """Returns whether a spare gives no sign of life at two checks in a row.

        At the first check, this process itself may not have got to read the reports.
        """
        # Before its first report, a worker may wait for a busy machine.
        since, patience = (self._started, warm_seconds()) if self._told is None else (self._told, SILENT_AFTER)
        missed, self._missed = self._missed, now() - since > patience
        if missed and self._missed:
            log.error("worker %d hangs before it has a match: another one is started", self.pid)
        return missed and self._missed

    async def close(self) -> None:
        """Ends the process and its children."""
        await self._process.end()
        await asyncio.wait([self._reading, self._writing])

    async def _write(self) -> None:
        while True:
            for part in parts_of(await self._outbox.get()):
                with contextlib.suppress(ConnectionError):
                    self._process.stdin.write(frame(part))
                    await self._process.stdin.drain()
                await asyncio.sleep(0)

    async def _read(self) -> None:
        stream = self._process.stdout
        try:
            while True:
                (length,) = HEADER.unpack(await stream.readexactly(HEADER.size))
                if length > MOST_REPORT:
                    log.error("worker %d reports %d bytes at once: it is lost", self.pid, length)
                    return
                report: Report = pickle.loads(await stream.readexactly(length))
                self._told, self._missed = now(), False
                if isinstance(report, Warm):
                    self.warm.set()
                elif self.on_report is not None:
                    self.heard = now()
                    if isinstance(report, Prepared):
                        self.prepared = report
                    if not isinstance(report, Alive):
                        self.on_report(self, report)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except Exception:
            log.exception("worker %d: a report cannot be taken in: it is lost", self.pid)
        finally:
            self.lost.set()
            self.warm.set()
            self._writing.cancel()
            self._process.stdin.close()
            if self.on_lost is not None:
                self.on_lost(self)


class WorkerPool:
    """Keeps two spare workers: a warm one, and a light one, which can be replaced much sooner.

    With the spares there are at most `workers + SPARES` processes, those that are being ended included: a match that
    wants one more waits for it.
    """

    def __init__(
        self,
        memory: int,
        workers: int,
        early: Sequence[subprocess.Popen[bytes]] = (),
        on_unloadable: Callable[[], None] = lambda: None,
    ) -> None:
        """`memory` bounds each worker with its children, in bytes; `early` are running light workers.

        `on_unloadable` is called when several workers in a row end while loading their kernels.
        """
        self._memory = memory
        self._most = workers + SPARES
        self._processes = len(early)
        """Processes that run, are being started, or are not reaped yet."""
        self._on_unloadable = on_unloadable
        self._failures = 0
        """Workers in a row that ended while loading their kernels."""
        self.problem = ""
        """Reason for which the last worker is of no use; empty if it is warm."""
        self._early = list(early)
        self._without: frozenset[str] = frozenset()
        self._spare: Worker | None = None
        self._light: Worker | None = None
        self._keepers: list[asyncio.Task[None]] = []
        self._wanted = asyncio.Event()
        """Set where a warm worker is waited for, or a match has ended."""
        self._taken: Instant = -math.inf
        """Time at which a match took the last warm worker."""
        self._there = asyncio.Condition()
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def warm(self) -> bool:
        """Whether a spare with its kernels loaded is waiting."""
        return self._spare is not None and self._spare.warm.is_set() and not self._spare.lost.is_set()

    def do_without(self, groups: Collection[str]) -> None:
        """Makes workers start without these groups of kernels, from now on, and with all others."""
        self._without = frozenset(groups)
        self._wanted.set()

    def can_better(self, worker: Worker) -> bool:
        """Returns whether a new worker would have kernels that this one lacks."""
        return not worker.without <= self._without

    def spare_lacks(self, group: str) -> bool:
        """Returns whether the spare lacks a group of kernels."""
        return self._spare is not None and group in self._spare.without

    def start(self, *, at_once: bool = True) -> None:
        """Starts the first spare; if not `at_once`, a moment later, which leaves light workers the processor."""
        if at_once:
            self._wanted.set()
        self._keepers = [asyncio.create_task(self._keep()), asyncio.create_task(self._keep_light())]

    def end_early(self) -> None:
        """Ends the early light workers that no match has taken."""
        for process in self._early:
            process.kill()
            process.wait()
        self._processes -= len(self._early)
        self._early.clear()

    async def close(self) -> None:
        """Ends the spares, and waits for the end of released workers."""
        self.end_early()
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        for spare in (self._spare, self._light):
            if spare is not None:
                self.release(spare)
        self._spare = self._light = None
        await asyncio.gather(*self._closing)

    async def acquire(self, latest: bool = False, patience: float = LIGHT_AFTER) -> Worker:
        """Returns a warm worker as soon as there is one; after `patience` seconds without, a light one.

        If `latest`, waits for a worker with all compiled kernels, however long that takes.
        """
        if latest:
            return await self._acquire_warm(True)
        if self.warm or patience:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience or LIGHT_AFTER):
                    return await self._acquire_warm(False)
        with contextlib.suppress(OSError):
            return await self._acquire_light()
        return await self._acquire_warm(False)

    async def _acquire_light(self) -> Worker:
        """Returns a light worker, or a warm one if that is there sooner. Raises `OSError`."""

        def possible() -> bool:
            return bool(self._early) or self._light is not None or self.warm or self._has_room()

        while True:
            async with self._there:
                await self._there.wait_for(possible)
            if self._early:
                return await self._start(LIGHT, self._early.pop())
            worker, self._light = self._light, None
            if worker is None and self.warm:
                worker, self._spare = self._spare, None
            if worker is None:
                return await self._start(LIGHT)
            if not worker.lost.is_set():
                return worker
            self.release(worker)

    def _has_room(self, beside: int = 0) -> bool:
        """Returns whether one more process may be started, and `beside` more."""
        return self._processes + beside < self._most

    async def _start(self, without: Collection[str], early: subprocess.Popen[bytes] | None = None) -> Worker:
        """Starts a worker, for which there is room, or takes an early one. Raises `OSError`."""
        self._processes += early is None
        try:
            if early is not None:
                return Worker(await adopt(early), without)
            return await Worker.start(self._memory, without)
        except BaseException:
            await self._leave()
            raise

    async def _leave(self) -> None:
        """Takes note that a process is gone."""
        self._processes -= 1
        await self._announce()

    async def _acquire_warm(self, latest: bool) -> Worker:

        def there() -> bool:
            return self.warm and not (latest and self._spare is not None and self.can_better(self._spare))

        while True:
            if not there():
                self._wanted.set()
            async with self._there:
                await self._there.wait_for(there)
                spare, self._spare = self._spare, None
            if spare is not None and not spare.lost.is_set():
                self._taken = now()
                return spare

    def take_back(self, worker: Worker) -> None:
        """Keeps a worker as the spare if there is none, else releases it."""
        worker.on_report = worker.on_lost = worker.heard = worker.prepared = None
        light = worker.without >= LIGHT
        if light and self._light is None and not worker.lost.is_set():
            self._light = worker
        elif not light and self._spare is None and not worker.lost.is_set():
            self._spare = worker
        else:
            self.release(worker)
        self._in_background(self._announce())

    def release(self, worker: Worker) -> None:
        """Ends a worker."""
        worker.on_report = worker.on_lost = None
        self._wanted.set()
        self._in_background(self._close(worker))

    async def _close(self, worker: Worker) -> None:
        try:
            await worker.close()
        finally:
            await self._leave()

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _keep(self) -> None:
        """Keeps a spare running: started at once where one is waited for, else once a match has begun to play."""
        while True:
            # `wait_for` of Python 3.11 may swallow a cancellation that comes at the same time.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RESPAWN_DELAY):
                    await self._wanted.wait()
            wanted = self._wanted.is_set()
            self._wanted.clear()
            if self._spare is None and not wanted and now() < self._taken + START_DELAY:
                continue
            if self._spare is not None:
                if not (self._spare.lost.is_set() or self.can_better(self._spare) or self._spare.seems_to_hang()):
                    await self._announce()
                    continue
                self.release(self._spare)
                self._spare = None
            async with self._there:
                # The last place is for a light worker, which is there sooner.
                await self._there.wait_for(
                    lambda: self._spare is not None or self._has_room(beside=not (self._light or self._early))
                )
            if self._spare is not None:
                # A worker was given back meanwhile.
                continue
            started = time.monotonic()
            try:
                worker = await self._start(self._without)
                if self._spare is not None:
                    # A worker was given back meanwhile.
                    self.release(self._spare)
                self._spare = worker
                async with asyncio.timeout(warm_seconds()):
                    await worker.warm.wait()
            except TimeoutError:
                self.problem = f"a worker was not warm after {warm_seconds():.0f} s"
                log.error("worker %d is not warm after %.0f s: another one is started", worker.pid, warm_seconds())
                if self._spare is worker:
                    self._spare = None
                self.release(worker)
                self._wanted.set()
                continue
            except OSError as error:
                self.problem = f"a worker cannot be started: {error}"
                log.error(self.problem)
                await asyncio.sleep(FAILURE_DELAY)
                continue
            if worker.lost.is_set():
                self.problem = "a worker ended while it was loading its kernels"
                log.error(self.problem)
                self._failures += 1
                if self._failures % UNLOADABLE == 0:
                    self._on_unloadable()
                await asyncio.sleep(FAILURE_DELAY)
                continue
            self._failures, self.problem = 0, ""
            log.info("worker %d is warm after %.1f s", worker.pid, time.monotonic() - started)
            await self._announce()

    async def _keep_light(self) -> None:
        """Keeps a light spare running, a moment after the last one was taken or lost."""
        while True:
            await asyncio.sleep(RESPAWN_DELAY)
            if self._light is not None and (self._light.lost.is_set() or self._light.seems_to_hang()):
                self.release(self._light)
                self._light = None
            if self._light is None and self._has_room():
                try:
                    self._light = await self._start(LIGHT)
                except OSError as error:
                    log.error("a worker cannot be started: %s", error)
                    await asyncio.sleep(FAILURE_DELAY)

    async def _announce(self) -> None:
        async with self._there:
            self._there.notify_all()
