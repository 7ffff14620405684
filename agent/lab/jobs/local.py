"""Jobs in processes of this machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from agent.errors import InputError
from agent.lab.jobs.cores import claim_or_share_cores
from agent.lab.jobs.crew import carry_out
from agent.lab.jobs.executor import Event, Executor, Job, JobSession, LostWorkerError, Result, Task, Tell, place_text
from agent.lab.jobs.worker import Idle, JobFailed, Made, pickled, start_worker
from games.child_process import ChildLostError, ChildProcess, wait_for_any


class LocalExecutor(Executor):
    """Carries out up to `jobs` jobs at a time, each in a process with cores of its own."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def check(self, cores: int) -> None:
        """Raises `InputError` where there are too few cores for all jobs."""
        available = len(os.sched_getaffinity(0))
        if self._jobs * cores > available:
            raise InputError(
                f"{self._jobs} x {cores} cores are wanted, and there are {available}: times would not be equal; "
                "choose fewer --jobs or --cores"
            )

    def run(
        self, session: JobSession[Job, Result], tasks: Sequence[Task[Job]], tell: Tell = lambda line: None
    ) -> Generator[Event[Result], None, None]:
        """See `Executor.run`."""
        self.check(session.cores)
        return self._run(session, tasks, tell)

    def _run(
        self, session: JobSession[Job, Result], tasks: Sequence[Task[Job]], tell: Tell
    ) -> Generator[Event[Result], None, None]:
        each = session.cores
        # Other runs on this machine have cores of their own, if there are enough.
        with contextlib.closing(claim_or_share_cores(self._jobs * each)) as claim:
            pools = [claim.cores[n * each : (n + 1) * each] for n in range(self._jobs)]
            yield from carry_out(_Processes(pickled(session), pools), tasks, tell)


@dataclass(eq=False)
class _LocalWorker:
    """One process."""

    process: ChildProcess
    cores: tuple[int, ...]
    task: int | None = None
    began: bool = False
    """Whether it has waited for a task."""

    @property
    def place(self) -> str:
        return place_text("", self.cores)


class _Processes:
    """The workers of a run (see `crew.Crew`), each in a pool of cores."""

    def __init__(self, session: bytes, pools: list[tuple[int, ...]]) -> None:
        self._session = session
        self._pools = pools
        self._workers: list[_LocalWorker] = []
        self._working = False
        """Whether a worker was given a task: only then is the kernel cache filled for further workers."""

    def grow(self, waiting: int) -> None:
        free = sum(worker.task is None for worker in self._workers)
        while self._pools and free < waiting and (self._working or not self._workers):
            cores = self._pools.pop(0)
            self._workers.append(_LocalWorker(start_worker(self._session, cores), cores))
            free += 1

    def idle(self) -> list[_LocalWorker]:
        return [worker for worker in self._workers if worker.began and worker.task is None]

    def begin(self, worker: _LocalWorker, job: Any) -> None:
        self._working = True
        with contextlib.suppress(ChildLostError):
            worker.process.send(job)

    def messages(self) -> list[tuple[_LocalWorker, Idle | Made | JobFailed]]:
        found: list[tuple[_LocalWorker, Idle | Made | JobFailed]] = []
        by_process = {worker.process: worker for worker in self._workers}
        for process in wait_for_any(list(by_process)):
            worker = by_process[process]
            try:
                message: Idle | Made | JobFailed = process.receive()
            except ChildLostError as error:
                message = JobFailed(f"a worker {error}")
                self._remove(worker)
                if not worker.began:
                    raise LostWorkerError(f"a worker {error} before it could begin") from None
            worker.began = True
            if worker.task is not None:
                found.append((worker, message))
        return found

    def dismiss_idle(self) -> None:
        for worker in self.idle():
            self._remove(worker)

    def end(self) -> None:
        for worker in list(self._workers):
            self._remove(worker)

    def _remove(self, worker: _LocalWorker) -> None:
        self._workers.remove(worker)
        self._pools.insert(0, worker.cores)
        worker.process.end()
