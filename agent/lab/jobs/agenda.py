"""What an executor has to do: which tasks wait, which are being carried out, which were lost and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Generic

from agent.lab.jobs.executor import Job, Task

TRIES = 2
"""How often a task is begun: a second loss is likelier to be its own fault than that of a machine."""


class Agenda(Generic[Job]):
    """The tasks of a run, known by their numbers."""

    def __init__(self, tasks: Sequence[Task[Job]]) -> None:
        self._tasks = tasks
        self._waiting = list(range(len(tasks)))
        self._losses: Counter[int] = Counter()
        self._yielded: Counter[int] = Counter()
        self._made: dict[int, int] = {}
        """Of each task that is being carried out, how many results it has made this time."""

    @property
    def waiting(self) -> int:
        """How many tasks wait."""
        return len(self._waiting)

    @property
    def finished(self) -> bool:
        """Whether nothing waits or is being carried out."""
        return not self._waiting and not self._made

    def job(self, number: int) -> Job:
        """What a task is about."""
        return self._tasks[number].job

    def take(self) -> int | None:
        """The next task that may begin now, which counts as begun."""
        taken = frozenset[str]().union(*(self._tasks[number].alone_with for number in self._made))
        for place, number in enumerate(self._waiting):
            if not taken & self._tasks[number].alone_with:
                del self._waiting[place]
                self._made[number] = 0
                return number
        return None

    def is_new(self, number: int) -> bool:
        """Counts a result of a task; False if it is one that was yielded before the task was lost."""
        self._made[number] += 1
        if self._made[number] <= self._yielded[number]:
            return False
        self._yielded[number] += 1
        return True

    def end(self, number: int) -> None:
        """A task has made all its results."""
        del self._made[number]

    def lose(self, number: int) -> bool:
        """A task's worker has ended; True if the task is run again, and waits as the first."""
        del self._made[number]
        self._losses[number] += 1
        again = self._losses[number] < TRIES
        if again:
            self._waiting.insert(0, number)
        return again
