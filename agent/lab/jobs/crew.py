"""How any executor goes through its tasks: it only has to have workers (`Crew`)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Protocol

from agent.lab.jobs.agenda import Agenda
from agent.lab.jobs.executor import Done, Event, Job, Lost, Started, Task, Tell
from agent.lab.jobs.worker import Failed, Idle, Made


class Worker(Protocol):
    """Something that carries out one task at a time."""

    task: int | None
    """The number of the task that it has."""

    @property
    def place(self) -> str:
        """Machine and cores."""


class Crew(Protocol):
    """The workers of a run."""

    def grow(self, waiting: int) -> None:
        """Starts workers where that many tasks wait, and there is room for more. Raises `LostWorkerError`."""

    def idle(self) -> Sequence[Worker]:
        """Those that wait for a task."""

    def begin(self, worker: Any, job: Any) -> None:
        """Sends a job to an idle worker, whose `task` is set; if it is lost meanwhile, `messages` says so."""

    def messages(self) -> Sequence[tuple[Worker, Idle | Made | Failed]]:
        """What those that have a task have sent, after a while at the latest; after `Failed`, the worker is gone.

        Raises what a job raised, and `LostWorkerError`.
        """

    def dismiss_idle(self) -> None:
        """No task waits any more: ends workers that have none."""

    def end(self) -> None:
        """Ends all workers."""


def carry_out(crew: Crew, tasks: Sequence[Task[Job]], tell: Tell) -> Generator[Event[Any], None, None]:
    """Carries out tasks, as `Executor.run` has it, and ends the crew."""
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
                        yield Done(number, worker.place, message.result)
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
