"""The workers of one match: the main one, its replacement when it is lost, a stand-by when it does not answer.

While kernels are being compiled for the first time, a match may begin with a worker that lacks some. A second worker
joins when there are more kernels, and takes over if they change how it plays.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from agent.search.kernel_groups import CIRCUIT
from agent.serving.clock import now
from agent.serving.light_workers import LIGHT
from agent.serving.worker_pool import LIGHT_AFTER, Worker, WorkerPool
from agent.worker.messages import PULSE, Begin, Command, Prepared, Report, Rewind, Thought, Turn, count_turns

log = logging.getLogger(__name__)

RECKLESS_LOSSES = 2
"""Lost workers after which a match goes on without the circuit, which may be what kills them."""

HUNG_AFTER = 3.0
"""Seconds without a sign of life after which a worker is taken to hang; the pulse may be late on a loaded machine."""

BEGIN_SECONDS = 5.0
"""Additional seconds until the first sign of life: a worker checks the rules first."""

MAX_LOSSES = 20
"""Lost workers after which a match gets no more."""


class MatchWorkers:
    """Keeps a match supplied with a worker, and tells each of its workers of each turn exactly once."""

    def __init__(
        self,
        match_id: str,
        pool: WorkerPool,
        make_begin: Callable[[bool], Begin],
        on_report: Callable[[Report, bool], None],
        on_loss: Callable[[], None] = lambda: None,
    ) -> None:
        """`make_begin(compile)` returns the command for a new worker.

        `on_report(report, main)` takes reports; `main` says whether the worker is the main one. `on_loss` is called
        when that one is lost.
        """
        self._match_id = match_id
        self._pool = pool
        self._make_begin = make_begin
        self._on_report = on_report
        self._on_loss = on_loss
        self._main: Worker | None = None
        self._standby: Worker | None = None
        self._bettering = False
        """Whether the stand-by joined for its kernels, and not because the main worker does not answer."""
        self._turns_told: dict[Worker, int] = {}
        self._thoughts: dict[Worker, Thought] = {}
        """Each worker's latest opinion: one that takes over may not report another."""
        self._joining: asyncio.Task[None] | None = None
        self._bettering_join: asyncio.Task[None] | None = None
        """Wait for a worker with more kernels. It may take long, and must not delay an urgent `_joining`."""
        self._losses = 0
        self._released = False
        self._watch = asyncio.create_task(self._watch_pulse())

    @property
    def has_worker(self) -> bool:
        """Whether a worker plays the match now."""
        return self._main is not None

    @property
    def is_alive(self) -> bool:
        """Whether a worker has given a sign of life recently."""
        return any(worker.heard is not None and now() - worker.heard < 3 * PULSE for worker in self._present())

    def ensure_one(self, *, urgent: bool = False) -> None:
        """Gets a worker if there is none; if `urgent`, a light one rather than wait for a warm one."""
        if not self._released and self._main is None and self._joining is None and self._losses <= MAX_LOSSES:
            self._joining = asyncio.create_task(self._join(patience=0.0 if urgent else LIGHT_AFTER))

    def add_standby(self) -> None:
        """Gets a second worker beside one that does not answer; the faster of them is kept."""
        if not self._released and self._main is not None and self._standby is None and self._joining is None:
            self._joining = asyncio.create_task(self._join(patience=0.0))

    def send_turn(self, number: int, command: Turn) -> None:
        """Tells the workers of a turn: `number` joint moves were received, the last of them in `command`."""
        for worker in self._present():
            if command.joint_move is None or self._turns_told[worker] < number:
                self._turns_told[worker] = number
                worker.send(command)

    def send_rewind(self) -> None:
        """Tells the workers that the match begins again."""
        self._turns_told = dict.fromkeys(self._turns_told, 0)
        self.send(Rewind())

    def send(self, command: Command) -> None:
        """Sends any other command to the workers."""
        for worker in self._present():
            worker.send(command)

    def release(self) -> None:
        """Ends all workers for good."""
        self._stop_waiting()
        self._end_all()

    def give_back(self) -> None:
        """Releases everything, but gives the main worker back to the pool: the match never began."""
        self._stop_waiting()
        if self._main is not None:
            self._pool.take_back(self._main)
            self._main = None
        self._end_all()

    def _present(self) -> list[Worker]:
        return [worker for worker in (self._main, self._standby) if worker is not None]

    def _stop_waiting(self) -> None:
        self._released = True
        self._watch.cancel()
        for joining in (self._joining, self._bettering_join):
            if joining is not None:
                # A long wait would keep the match in memory, and take a worker away from others.
                joining.cancel()

    def keep_one(self, main: bool) -> None:
        """Keeps one of two workers: the main one, or the stand-by in its place.

        A stand-by that joined for its kernels stays beside the main one until it is prepared.
        """
        if main and self._bettering:
            return
        if not main and self._standby is not None:
            log.warning("%s: the stand-by was faster, the old worker is dropped", self._match_id)
        self._end_one(main)

    def _end_one(self, main: bool) -> None:
        self._bettering = False
        if not main and self._standby is not None:
            self._main, self._standby = self._standby, self._main
        if self._standby is not None:
            self._forget(self._standby)
            self._standby = None
        if not main:
            self._repeat_thought()

    def _repeat_thought(self) -> None:
        if self._main is not None and self._main in self._thoughts and not self._released:
            self._on_report(self._thoughts[self._main], True)

    def _forget(self, worker: Worker) -> None:
        self._turns_told.pop(worker, None)
        self._thoughts.pop(worker, None)
        self._pool.release(worker)

    def _end_all(self) -> None:
        for worker in self._present():
            self._pool.release(worker)
        self._main = self._standby = None
        self._turns_told.clear()
        self._thoughts.clear()

    async def _join(self, bettering: bool = False, patience: float = LIGHT_AFTER) -> None:
        worker = await self._pool.acquire(bettering, patience)
        if bettering:
            self._bettering_join = None
        else:
            self._joining = None
        if self._released or (self._main is not None and self._standby is not None):
            # Too late, or another worker was faster.
            self._pool.take_back(worker)
            return
        if self._main is None:
            self._main = worker
        else:
            self._standby = worker
            self._bettering = bettering
        log.info("%s: worker %d joins", self._match_id, worker.pid)
        begin = self._make_begin(self._losses < RECKLESS_LOSSES and CIRCUIT not in worker.without)
        self._turns_told[worker] = begin.checkpoint.turn + count_turns(*begin.checkpoint.since)
        worker.on_report = self._pass_on
        worker.on_lost = self._on_lost
        # A stopped process gives no sign of life at all: count from now.
        worker.heard = now() + BEGIN_SECONDS
        worker.send(begin)
        if worker.lost.is_set():
            self._on_lost(worker)

    async def _watch_pulse(self) -> None:
        """Replaces a worker that gives no sign of life, or lacks kernels."""
        while True:
            before = now()
            await asyncio.sleep(PULSE)
            if now() - before > 2 * PULSE:
                # This process itself did not get to run.
                continue
            for worker in self._present():
                if worker.heard is not None and now() - worker.heard > HUNG_AFTER:
                    log.error("%s: worker %d hangs", self._match_id, worker.pid)
                    self._on_lost(worker)
            joining = self._joining is not None or self._bettering_join is not None
            alone = self._main if self._standby is None and not joining else None
            if alone is None or not self._pool.can_better(alone):
                continue
            # Lost workers may have died of the kernels. A light one is replaced all the same, by one without a circuit.
            if self._losses < (MAX_LOSSES if alone.without >= LIGHT else RECKLESS_LOSSES):
                self._bettering_join = asyncio.create_task(self._join(bettering=True))

    def _pass_on(self, worker: Worker, report: Report) -> None:
        if self._released:
            return
        if isinstance(report, Thought):
            self._thoughts[worker] = report
        self._on_report(report, worker is self._main)
        if isinstance(report, Prepared) and worker is self._standby and self._bettering:
            self._take_better(worker)

    def _take_better(self, worker: Worker) -> None:
        """Lets the stand-by take over if it plays differently; if not, the main worker keeps its search tree."""
        assert self._main is not None
        better = worker.prepared != self._main.prepared
        if better:
            log.info("%s: worker %d takes over with the kernels compiled by now", self._match_id, worker.pid)
        else:
            # The missing kernels are of no use in this match.
            log.info("%s: worker %d plays on: new kernels change nothing", self._match_id, self._main.pid)
            self._main.without = worker.without
        self._end_one(main=not better)

    def _on_lost(self, worker: Worker) -> None:
        self._forget(worker)
        if worker is self._standby:
            self._standby = None
            if self._bettering and self._main is not None:
                self._bettering = False
                if self._main.without >= LIGHT:
                    # The next attempts count towards `RECKLESS_LOSSES`: in the end without a circuit.
                    self._losses += 1
                else:
                    self._main.without = frozenset()
            return
        if worker is not self._main:
            return
        self._main, self._standby = self._standby, None
        self._bettering = False
        self._repeat_thought()
        if self._released:
            return
        self._losses += 1
        self._on_loss()
        log.error("%s: worker %d is lost", self._match_id, worker.pid)
        if self._losses > MAX_LOSSES:
            log.error("%s: that was too many: the match goes on without a worker", self._match_id)
        self.ensure_one(urgent=True)
