"""The contract of executors: independent jobs go in, results come out, wherever they are carried out.

A job is plain data that can be pickled, its random seed included, and what comes of it depends on nothing else (as far
as it does not depend on time): results are the same on any executor, in any order. They come in the order in which they
are made, with the number of their job, by which whoever shows them in order can sort them.
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
"""Carries out a job in a worker; yields its results as they come."""


class LostWorkerError(CommandError):
    """Workers end before they can begin with any job, or there are none left."""


@dataclass(frozen=True)
class Task(Generic[Job]):
    """What a worker does at a time."""

    job: Job
    alone_with: frozenset[str] = frozenset()
    """What no other task may use meanwhile: players that play one match at a time."""


@dataclass(frozen=True)
class Session(Generic[Job, Result]):
    """What all jobs of a run have in common."""

    open: Callable[[], CarryOut[Job, Result]]
    """Can be pickled. Each worker calls it once, for what carries out its jobs; what it holds (rules, weights) is sent
    once per worker, or once per machine."""
    cores: int = 1
    """That each job really uses, and has to itself."""
    kernels: tuple[str, ...] = ()
    """Groups of kernels (`agent.kernels.groups`) that jobs need: a machine compiles them before it gets any."""


@dataclass(frozen=True)
class Started:
    """A worker begins with a task."""

    number: int
    """Of the task, from 0."""
    place: str
    """Machine and cores."""


@dataclass(frozen=True)
class Done(Generic[Result]):
    """One result of a task."""

    number: int
    place: str
    result: Result


@dataclass(frozen=True)
class Lost:
    """A task whose workers ended twice before it did; what is missing of its results does not come."""

    number: int
    place: str
    """Where it was lost last."""
    reason: str


Event: TypeAlias = Started | Done[Result] | Lost

Tell: TypeAlias = Callable[[str], None]
"""Takes a line for people: machines that join or are lost, what is run again."""


class Executor(ABC):
    """Carries out jobs. Use it as a context manager, or `close` it."""

    @abstractmethod
    def check(self, cores: int) -> None:
        """Raises `InputError` where it cannot carry out jobs that use so many cores."""

    @abstractmethod
    def run(
        self, session: Session[Job, Result], tasks: Sequence[Task[Job]], tell: Tell = lambda line: None
    ) -> Generator[Event[Result], None, None]:
        """Carries out tasks; yields what happens, as it does.

        Tasks begin in their order as far as `Task.alone_with` allows. A task whose worker ends (killed, out of memory,
        its machine gone) is run again once from its beginning, the results it had yielded are not yielded again, and is
        then reported as `Lost`; the others go on. What a job raises ends the run, and is raised. To be called in the
        main thread, which gets `KeyboardInterrupt`; closing the generator ends all workers. Raises `LostWorkerError`,
        and what `check` does.
        """

    def close(self) -> None:
        """Frees what runs have in common; no run is under way."""
        return None

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def place_text(machine: str, cores: Sequence[int]) -> str:
    """Machine and cores in few words."""
    numbers = ",".join(map(str, cores))
    return f"{machine} " * bool(machine) + f"{'cores' if len(cores) > 1 else 'core'} {numbers}"
