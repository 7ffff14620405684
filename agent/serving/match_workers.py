"""The workers of one match: the one that plays, a replacement when it is lost, a stand-by when it does not answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from agent.serving.clock import now
from agent.serving.worker_pool import Worker, WorkerPool
from agent.worker.messages import PULSE, Begin, Command, Report, Rewind, Turn

log = logging.getLogger(__name__)

RECKLESS_LOSSES = 2
"""Lost workers after which a match goes on without the circuit, in case that is what kills them."""

HUNG_AFTER = 3.0
"""Seconds without a sign of life after which a worker is taken to hang. They come every half second, but a loaded
machine may hold them up."""

MAX_LOSSES = 20
"""Lost workers after which no more of them are spent on a match."""


class Crew:
    """Keeps a match staffed, and every worker of it informed of each turn exactly once."""

    def __init__(
        self,
        match_id: str,
        pool: WorkerPool,
        brief: Callable[[bool], Begin],
        take: Callable[[Report, bool], None],
    ) -> None:
        """`brief(compile)` says what a new worker has to know by now; `take(report, main)` gets what workers report,
        `main` being whether it comes from the worker that plays."""
        self._match_id = match_id
        self._pool = pool
        self._brief = brief
        self._take = take
        self._main: Worker | None = None
        self._standby: Worker | None = None
        self._turns_told: dict[Worker, int] = {}
        self._calling: asyncio.Task[None] | None = None
        self._losses = 0
        self._released = False
        self._watch = asyncio.create_task(self._watch_pulse())

    @property
    def staffed(self) -> bool:
        """Whether a worker plays the match at this moment."""
        return self._main is not None

    def call(self) -> None:
        """Sees to it that there will be a worker."""
        if not self._released and self._main is None and self._calling is None and self._losses <= MAX_LOSSES:
            self._calling = asyncio.create_task(self._join())

    def call_standby(self) -> None:
        """Puts a second worker beside one that does not answer."""
        if not self._released and self._main is not None and self._standby is None and self._calling is None:
            self._calling = asyncio.create_task(self._join())

    def turn(self, number: int, command: Turn) -> None:
        """Tells of a turn: `number` joint moves were received, the last of them in `command`."""
        for worker in (self._main, self._standby):
            if worker is not None and (command.joint_move is None or self._turns_told[worker] < number):
                self._turns_told[worker] = number
                worker.send(command)

    def rewind(self) -> None:
        """Tells that the match begins again."""
        self._turns_told = dict.fromkeys(self._turns_told, 0)
        self.tell(Rewind())

    def tell(self, command: Command) -> None:
        """Passes any other command on."""
        for worker in (self._main, self._standby):
            if worker is not None:
                worker.send(command)

    def release(self) -> None:
        """Ends all work; no further worker is called."""
        self._released = True
        self._watch.cancel()
        self.dismiss()

    def give_back(self) -> None:
        """Ends a match that was refused before it began: its worker is as good as new."""
        self._released = True
        self._watch.cancel()
        if self._main is not None:
            self._pool.take_back(self._main)
            self._main = None
        self.dismiss()

    def dismiss(self) -> None:
        """Ends the present workers."""
        for worker in (self._main, self._standby):
            if worker is not None:
                self._pool.release(worker)
        self._main = self._standby = None
        self._turns_told.clear()

    def keep(self, from_main: bool) -> None:
        """Settles on one of two workers: the main one, or the stand-by in its place."""
        if not from_main and self._standby is not None:
            log.warning("%s: the stand-by was faster, the old worker is dropped", self._match_id)
            self._main, self._standby = self._standby, self._main
        if self._standby is not None:
            self._turns_told.pop(self._standby, None)
            self._pool.release(self._standby)
            self._standby = None

    async def _join(self) -> None:
        worker = await self._pool.acquire()
        self._calling = None
        if self._released:
            self._pool.release(worker)
            return
        if self._main is None:
            self._main = worker
        else:
            self._standby = worker
        log.info("%s: worker %d joins", self._match_id, worker.pid)
        begin = self._brief(self._losses < RECKLESS_LOSSES)
        self._turns_told[worker] = begin.position.turn + len(begin.position.since)
        worker.on_report = self._on_report
        worker.on_lost = self._on_lost
        worker.send(begin)
        if worker.lost.is_set():
            self._on_lost(worker)

    async def _watch_pulse(self) -> None:
        """Replaces a worker that gives no sign of life."""
        while True:
            before = now()
            await asyncio.sleep(PULSE)
            if now() - before > 2 * PULSE:
                # It was this process that did not get to run.
                continue
            for worker in (self._main, self._standby):
                if worker is not None and worker.heard is not None and now() - worker.heard > HUNG_AFTER:
                    log.error("%s: worker %d hangs", self._match_id, worker.pid)
                    self._on_lost(worker)

    def _on_report(self, worker: Worker, report: Report) -> None:
        if not self._released:
            self._take(report, worker is self._main)

    def _on_lost(self, worker: Worker) -> None:
        self._pool.release(worker)
        self._turns_told.pop(worker, None)
        if worker is self._standby:
            self._standby = None
            return
        if worker is not self._main:
            return
        self._main, self._standby = self._standby, None
        if self._released:
            return
        self._losses += 1
        log.error("%s: worker %d is lost", self._match_id, worker.pid)
        if self._losses > MAX_LOSSES:
            log.error("%s: that was too many: the match goes on without a worker", self._match_id)
        self.call()
