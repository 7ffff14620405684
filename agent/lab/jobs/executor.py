"""The contract of executors: independent jobs go in, results come out.

A job is plain data that can be pickled, with its random seed. Unless time plays a part, its results depend on nothing
else: they are the same on any executor. They come as they are made, with the number of their task.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from agent.errors import CommandError

Job = TypeVar("Job")
Result = TypeVar("Result")

CarryOut: TypeAlias = Callable[[Job], Iterable[Result]]
"""Carries out a job in a worker; yields its results as they are made."""


class LostWorkerError(CommandError):
    """Workers end before they begin with any job, or none is left."""


@dataclass(frozen=True)
class Task(Generic[Job]):
    """A job, and the resources that it needs."""

    job: Job
    alone_with: frozenset[str] = frozenset()
    """Resources that no other task may use meanwhile: players that play one match at a time."""


@dataclass(frozen=True)
class JobSession(Generic[Job, Result]):
    """The setting shared by all jobs of a run."""

    open: Callable[[], CarryOut[Job, Result]]
    """Called once by each worker; can be pickled. Data that it holds (rules, weights) is sent once per worker or
    machine."""
    cores: int = 1
    """Cores that each job has to itself."""
    kernels: tuple[str, ...] = ()
    """Groups of kernels that jobs need: a machine compiles them first."""


@dataclass(frozen=True)
class Started:
    """A worker has begun with a task."""

    number: int
    """Number of the task, from 0."""
    place: str
    """Machine and cores."""


@dataclass(frozen=True)
class JobDone(Generic[Result]):
    """One result of a task."""

    number: int
    place: str
    result: Result


@dataclass(frozen=True)
class Lost:
    """A task whose workers ended twice before it did: its missing results do not come."""

    number: int
    place: str
    """Place of the last loss."""
    reason: str


Event: TypeAlias = Started | JobDone[Result] | Lost

Tell: TypeAlias = Callable[[str], None]
"""Takes a line for people: machines that join or are lost, jobs that are run again."""


class Executor(ABC):
    """Carries out jobs. Use it as a context manager, or `close` it."""

    @abstractmethod
    def check(self, cores: int) -> None:
        """Raises `InputError` where it cannot carry out jobs of that many cores."""

    @abstractmethod
    def run(
        self, session: JobSession[Job, Result], tasks: Sequence[Task[Job]], tell: Tell = lambda line: None
    ) -> Generator[Event[Result], None, None]:
        """Carries out tasks; yields events as they happen.

        Tasks begin in order, as far as `Task.alone_with` allows. A task whose worker ends (killed, out of memory, its
        machine gone) is run again once, without repeating results; the next time it is `Lost`, and the others go on.
        The first error of a job ends the run, and is raised. To be called in the main thread, for `KeyboardInterrupt`;
        closing the generator ends all workers. Raises `LostWorkerError`, and the errors of `check`.
        """

    def close(self) -> None:
        """Frees resources shared by runs; no run is under way."""
        return None

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def place_text(machine: str, cores: Sequence[int]) -> str:
    """Returns machine and cores in few words."""
    numbers = ",".join(map(str, cores))
    return f"{machine} " * bool(machine) + f"{'cores' if len(cores) > 1 else 'core'} {numbers}"
