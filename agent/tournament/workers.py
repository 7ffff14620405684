"""Matches spread over worker processes, each with cores of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Generic, TypeVar

from agent.errors import CommandError, InputError
from games.child_process import ChildLostError, ChildProcess, wait_for_any

Job = TypeVar("Job")
Result = TypeVar("Result")


class LostWorkerError(CommandError):
    """A worker process ended before its games did."""


@dataclass(frozen=True)
class Task(Generic[Job]):
    """What a worker does at a time."""

    job: Job
    alone_with: frozenset[str] = frozenset()
    """What no other task may use meanwhile: players that play one match at a time."""


@dataclass(frozen=True)
class _Done(Generic[Result]):
    """One result of a task."""

    result: Result


_IDLE = "idle"
"""What a worker sends when it waits for a task; for each result of one it sends a `_Done`."""


def check_cores(jobs: int, cores: int) -> None:
    """Raises `InputError` where there are not so many cores for each of the jobs."""
    available = len(os.sched_getaffinity(0))
    if jobs * cores > available:
        raise InputError(
            f"{jobs} x {cores} cores are wanted, and there are {available}: times would not be equal; "
            "choose fewer --jobs or --cores"
        )


def run_tasks(
    open_session: Callable[[], Callable[[Job], Iterable[Result]]], tasks: Sequence[Task[Job]], *, jobs: int, cores: int
) -> Generator[Result, None, None]:
    """Carry out tasks in up to `jobs` processes of `cores` cores each; yields results as they come.

    `open_session` can be pickled; each process calls it once, for what carries out its tasks. Tasks begin in their
    order as far as `alone_with` allows. To be called in the main thread, which gets `KeyboardInterrupt`. Closing the
    generator ends all processes. Raises `LostWorkerError`, and what a task raises.
    """
    available = sorted(os.sched_getaffinity(0))
    pools = [available[job * cores : (job + 1) * cores] for job in range(jobs)]
    waiting = list(tasks)
    workers: list[ChildProcess] = []
    idle: list[ChildProcess] = []
    busy: dict[ChildProcess, frozenset[str]] = {}

    def start_one() -> None:
        if len(waiting) > len(idle) and pools:
            # Not forked: the caller may have threads that hold locks. It has children because it compiles.
            workers.append(ChildProcess(_work, open_session, pools.pop(0), method="spawn", may_have_children=True))

    def next_task() -> Task[Job] | None:
        taken = frozenset[str]().union(*busy.values())
        found = next((i for i, task in enumerate(waiting) if not taken & task.alone_with), None)
        return None if found is None else waiting.pop(found)

    try:
        start_one()
        while workers:
            for worker in wait_for_any([worker for worker in workers if worker not in idle]):
                message = worker.receive()
                if isinstance(message, _Done):
                    yield message.result
                else:
                    busy.pop(worker, None)
                    idle.append(worker)
            for worker in list(idle):
                task = next_task()
                if task is not None:
                    idle.remove(worker)
                    busy[worker] = task.alone_with
                    worker.send(task.job)
                    # The first worker has filled the kernel cache before the next one is started.
                    start_one()
                elif not waiting:
                    idle.remove(worker)
                    workers.remove(worker)
                    worker.end()
    except ChildLostError as error:
        raise LostWorkerError(f"a worker {error}") from None
    finally:
        for worker in workers:
            worker.end()


def _work(pipe: Connection, open_session: Callable[[], Callable[[Job], Iterable[Result]]], cores: list[int]) -> None:
    """A worker's life, until it is ended."""
    os.sched_setaffinity(0, cores)
    carry_out = open_session()
    while True:
        pipe.send(_IDLE)
        for result in carry_out(pipe.recv()):
            pipe.send(_Done(result))
