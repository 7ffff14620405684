"""Jobs for tests of executors, and their results."""

from __future__ import annotations

import os
import random
import signal
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agent.lab.jobs.executor import JobSession
from tests.processes import until


@dataclass(frozen=True)
class Dice:
    """A job of a few results."""

    seed: int
    throws: int = 3
    killed: int = 0
    """Number of times that the process is killed after its first throw."""
    wait_for: str = ""
    """File to which the job writes its seed; it goes on when the file `go` is beside it."""


def throw(folder: Path, factor: int, job: Dice) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yields (seed, number thrown, cores) for each throw."""
    dice = random.Random(job.seed)
    if job.wait_for:
        with (folder / job.wait_for).open("a") as file:
            file.write(f"{job.seed}\n")
        until((folder / "go").exists)
    for _ in range(job.throws):
        yield job.seed, factor * dice.randint(1, 6), tuple(sorted(os.sched_getaffinity(0)))
        mark = folder / f"killed-{job.seed}"
        times = len(mark.read_text()) if mark.exists() else 0
        if times < job.killed:
            mark.write_text("x" * (times + 1))
            os.kill(os.getpid(), signal.SIGKILL)


def open_dice(folder: Path, factor: int) -> Callable[[Dice], Iterator[tuple[int, int, tuple[int, ...]]]]:
    """In a worker: returns the function that throws."""
    return partial(throw, folder, factor)


def refuse() -> Callable[[Dice], Iterator[int]]:
    """In a worker: fails to open."""
    raise ValueError("no dice")


def die() -> Callable[[Dice], Iterator[int]]:
    """In a worker: dies while opening."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def dice(folder: Path, factor: int = 1) -> JobSession[Dice, tuple[int, int, tuple[int, ...]]]:
    """Returns a session that throws dice, with notes in `folder`."""
    return JobSession(partial(open_dice, folder, factor))


def thrown(seed: int, throws: int = 3, factor: int = 1) -> list[int]:
    """Returns the throws of a job."""
    dice = random.Random(seed)
    return [factor * dice.randint(1, 6) for _ in range(throws)]


def slower_each_time() -> float:
    """In a worker: reports the second machine to be half as fast as the first."""
    with (Path(tempfile.gettempdir()) / "measured").open("a") as file:
        file.write("x")
        file.flush()
        return 1.0 if file.tell() == 1 else 0.5
