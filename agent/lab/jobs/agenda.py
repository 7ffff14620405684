"""The tasks of a run: waiting, being carried out, lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Generic

from agent.lab.jobs.executor import Job, Task

TRIES = 2
"""Attempts at a task: a second loss is likelier to be its own fault than a machine's."""


class Agenda(Generic[Job]):
    """The tasks of a run, by their numbers."""

    def __init__(self, tasks: Sequence[Task[Job]]) -> None:
        self._tasks = tasks
        self._waiting = list(range(len(tasks)))
        self._losses: Counter[int] = Counter()
        self._yielded: Counter[int] = Counter()
        self._made: dict[int, int] = {}
        """By task that is being carried out, number of results of this attempt."""

    @property
    def waiting(self) -> int:
        """Number of waiting tasks."""
        return len(self._waiting)

    @property
    def finished(self) -> bool:
        """Whether no task waits or is being carried out."""
        return not self._waiting and not self._made

    def job(self, number: int) -> Job:
        """Returns the job of a task."""
        return self._tasks[number].job

    def take(self) -> int | None:
        """Begins the next task that may begin now; returns its number, None if there is none."""
        taken = frozenset[str]().union(*(self._tasks[number].alone_with for number in self._made))
        for place, number in enumerate(self._waiting):
            if not taken & self._tasks[number].alone_with:
                del self._waiting[place]
                self._made[number] = 0
                return number
        return None

    def is_new(self, number: int) -> bool:
        """Counts a result of a task; returns False if it was yielded before the task was lost."""
        self._made[number] += 1
        if self._made[number] <= self._yielded[number]:
            return False
        self._yielded[number] += 1
        return True

    def end(self, number: int) -> None:
        """Notes that a task has made all its results."""
        del self._made[number]

    def lose(self, number: int) -> bool:
        """Notes that a task's worker has ended; returns whether the task is run again, as the next one."""
        del self._made[number]
        self._losses[number] += 1
        again = self._losses[number] < TRIES
        if again:
            self._waiting.insert(0, number)
        return again
