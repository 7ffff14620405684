"""The loop of all executors: tasks are given to a `Crew` of workers."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Protocol

from agent.lab.jobs.agenda import Agenda
from agent.lab.jobs.executor import Event, Job, JobDone, Lost, Started, Task, Tell
from agent.lab.jobs.worker import Idle, JobFailed, Made


class JobWorker(Protocol):
    """Carries out one task at a time."""

    task: int | None
    """Number of its task, if it has one."""

    @property
    def place(self) -> str:
        """Machine and cores."""


class Crew(Protocol):
    """The workers of a run."""

    def grow(self, waiting: int) -> None:
        """Starts workers for that many waiting tasks, as far as there is room. Raises `LostWorkerError`."""

    def idle(self) -> Sequence[JobWorker]:
        """Returns the workers that wait for a task."""

    def begin(self, worker: Any, job: Any) -> None:
        """Sends a job to an idle worker, whose `task` is set; `messages` tells of a loss."""

    def messages(self) -> Sequence[tuple[JobWorker, Idle | Made | JobFailed]]:
        """Waits a while for messages of workers with a task; after `JobFailed`, the worker is gone.

        Raises the error of a job, and `LostWorkerError`.
        """

    def dismiss_idle(self) -> None:
        """Ends workers without a task, as no task waits any more."""

    def end(self) -> None:
        """Ends all workers."""


def carry_out(crew: Crew, tasks: Sequence[Task[Job]], tell: Tell) -> Generator[Event[Any], None, None]:
    """Carries out tasks as `Executor.run` does, and ends the crew."""
    agenda = Agenda(tasks)
    try:
        while not agenda.finished:
            for worker in list(crew.idle()):
                number = agenda.take()
                if number is None:
                    break
                worker.task = number
                yield Started(number, worker.place)
                crew.begin(worker, agenda.job(number))
            crew.grow(agenda.waiting)
            if not agenda.waiting:
                crew.dismiss_idle()
            for worker, message in crew.messages():
                number = worker.task
                assert number is not None
                if isinstance(message, Made):
                    if agenda.is_new(number):
                        yield JobDone(number, worker.place, message.result)
                    continue
                worker.task = None
                if isinstance(message, Idle):
                    agenda.end(number)
                elif agenda.lose(number):
                    tell(f"{worker.place}: {message.reason}; what was under way there is run again")
                else:
                    yield Lost(number, worker.place, message.reason)
    finally:
        crew.end()
