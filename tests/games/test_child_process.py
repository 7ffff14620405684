"""Child processes: their messages, results, errors, bounds and ends."""

from __future__ import annotations

import mmap
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Literal

import pytest

from games.child_process import Bounds, ChildLostError, ChildProcess, cpu_seconds, wait_for_any
from games.machine import LimitError, RulesError
from tests.processes import runs, until


@pytest.fixture
def start() -> Iterator[Callable[..., ChildProcess]]:
    """Starts children that end with the test."""
    children: list[ChildProcess] = []

    def start_one(*arguments: object, **options: object) -> ChildProcess:
        children.append(ChildProcess(*arguments, **options))  # type: ignore[arg-type]
        return children[-1]

    yield start_one
    for child in children:
        child.end()
    assert not multiprocessing.active_children()


def double(pipe: Connection, number: int) -> int:
    """Sends what it does, asks for a number to add, and returns the sum."""
    pipe.send("doubling")
    return 2 * number + int(pipe.recv())


def fail(_pipe: Connection, error: Exception) -> None:
    """Fails."""
    raise error


def die(_pipe: Connection) -> None:
    """Ends without a word."""
    os._exit(3)


def sleep(_pipe: Connection) -> None:
    """Goes on for long without using CPU time."""
    time.sleep(600)


def spin(_pipe: Connection) -> None:
    """Uses CPU time without end."""
    while True:
        pass


def allocate(_pipe: Connection, size: int) -> int:
    """Takes memory."""
    return len(bytearray(size))


class UnpicklableError(Exception):
    """Cannot be made from its message."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_messages_pass_both_ways_and_the_result_is_the_last(
    start: Callable[..., ChildProcess], method: Literal["fork", "spawn"]
) -> None:
    """A child talks over its pipe while it works; what its work returns comes last."""
    child = start(double, 21, method=method)
    assert child.receive() == "doubling"
    child.send(8)
    assert child.receive() == 50
    with pytest.raises(ChildLostError, match="ended with status 0"):
        child.receive()


def test_children_may_be_started_in_any_thread(start: Callable[..., ChildProcess]) -> None:
    """Forking does not need the main thread."""
    with ThreadPoolExecutor(1) as threads:
        child = threads.submit(start, allocate, 10).result()
    assert child.receive() == 10


def test_errors_of_the_work_are_raised_in_the_parent(start: Callable[..., ChildProcess]) -> None:
    """With their type and where they happened; by name and text where they cannot be pickled."""
    with pytest.raises(RulesError, match="no meaning") as caught:
        start(fail, RulesError("no meaning")).receive()
    assert "in fail" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError, match="UnpicklableError: 1 and 2"):
        start(fail, UnpicklableError(1, 2)).receive()


def test_a_child_that_dies_is_told_from_one_that_is_slow(start: Callable[..., ChildProcess]) -> None:
    """The end of the pipe, and a status or signal, against a timeout."""
    with pytest.raises(ChildLostError, match="ended with status 3"):
        start(die).receive()
    slow = start(sleep)
    with pytest.raises(LimitError, match=r"no answer within 0\.1 s"):
        slow.receive(0.1)
    os.kill(slow.pid, 9)
    with pytest.raises(ChildLostError, match="ended by signal 9"):
        slow.receive()


def test_the_first_of_several_is_waited_for(start: Callable[..., ChildProcess]) -> None:
    """Children that have sent something are told from those that have not."""
    slow, dead = start(sleep), start(die)
    assert wait_for_any([slow, dead], 60.0) == [dead]
    assert wait_for_any([slow], 0.0) == []


def test_cpu_time_is_bounded(start: Callable[..., ChildProcess]) -> None:
    """A child that exceeds its CPU time is ended, and the reason is known; its CPU time counts then."""
    before = cpu_seconds()
    with pytest.raises(LimitError, match="more than 1 s of CPU time"):
        start(spin, bounds=Bounds(cpu_seconds=1)).receive()
    assert cpu_seconds() - before > 0.9


def test_memory_is_bounded(start: Callable[..., ChildProcess]) -> None:
    """Memory within the bounds is granted, more is not."""
    bounds = Bounds(memory_bytes=256 << 20)
    assert start(allocate, 1 << 20, bounds=bounds).receive() == 1 << 20
    with pytest.raises(LimitError, match=r"more than \d+ MiB of memory"):
        start(allocate, 1 << 30, bounds=bounds).receive()


def test_what_the_parent_has_mapped_counts_for_nothing(start: Callable[..., ChildProcess]) -> None:
    """A process in a Ray cluster, and so its children, has mapped gigabytes that it does not use."""
    with mmap.mmap(-1, 1 << 30):
        assert start(allocate, 1 << 20, bounds=Bounds(memory_bytes=256 << 20)).receive() == 1 << 20


def have_a_child(pipe: Connection) -> None:
    """Starts a child of its own, sends its process id, and goes on."""
    pipe.send(ChildProcess(sleep).pid)
    time.sleep(600)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_end_with_their_parent(start: Callable[..., ChildProcess], method: Literal["fork", "spawn"]) -> None:
    """A killed process leaves no children behind."""
    parent = start(have_a_child, method=method, may_have_children=True)
    grandchild = parent.receive()
    os.kill(parent.pid, 9)
    until(lambda: not runs(grandchild))
