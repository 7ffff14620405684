"""Child processes: their messages, results, errors, bounds and ends."""

from __future__ import annotations

import asyncio
import mmap
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal

import pytest

from games.child_process import (
    AsyncEnd,
    Bounds,
    ChildLostError,
    ChildProcess,
    cpu_seconds,
    end_with_parent,
    wait_for_any,
)
from games.machine import LimitError, RulesError
from tests.processes import PATIENCE, children_of, runs, until


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


def third(_pipe: Connection) -> bytes:
    """Returns what can be read from descriptor 3."""
    return os.read(3, 100)


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
    assert cpu_seconds() - before > 0.5


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


def test_output_of_a_child_is_kept_from_that_of_its_parent(start: Callable[..., ChildProcess]) -> None:
    """All that a spawned child prints goes to the descriptor for errors; it reads nothing."""
    with tempfile.TemporaryFile() as file:
        assert start(talk, method="spawn", errors=file.fileno()).receive() == ""
        file.seek(0)
        assert file.read() == b"to one\nto the other\n"


def talk(_pipe: Connection) -> str:
    """Prints, and reads."""
    print("to one", flush=True)
    print("to the other", file=sys.stderr)
    return sys.stdin.read()


def exit_with(_pipe: Connection, status: int) -> None:
    """Ends as a command does."""
    sys.exit(status)


def test_name_of_a_work_and_status_of_a_command(start: Callable[..., ChildProcess]) -> None:
    """A work may be named, if its module is not to be loaded here; a command's exit status is the process's."""
    child = start("tests.games.test_child_process:exit_with", 7, method="spawn")
    until(lambda: child.status is not None)
    assert child.status == 7


def test_what_cannot_be_sent_starts_nothing(start: Callable[..., ChildProcess]) -> None:
    """The error is that of the argument, and no process is left."""
    before = children_of(os.getpid())
    with pytest.raises(TypeError, match="pickle"):
        start(exit_with, threading.Lock(), method="spawn")
    assert children_of(os.getpid()) == before


def surroundings(_pipe: Connection) -> tuple[list[str], int]:
    """Returns the import path, and the niceness."""
    return sys.path, os.getpriority(os.PRIO_PROCESS, 0)


def test_spawned_child_imports_nothing_of_the_current_folder(
    start: Callable[..., ChildProcess], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever `PYTHONPATH` says. It gives way to others if told to."""
    (tmp_path / "games").mkdir()
    (tmp_path / "games" / "__init__.py").write_text("raise SystemExit")
    (tmp_path / "pickle.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", ":")
    path, niceness = start(surroundings, method="spawn", bounds=Bounds(niceness=3)).receive()
    assert not {"", ".", str(tmp_path)} & set(path)
    assert niceness == max(3, os.getpriority(os.PRIO_PROCESS, 0))


# ------------------------------------------------------------------------------------------------------------- the end


def have_a_child(pipe: Connection) -> None:
    """Starts a child of its own, sends its process id, and goes on."""
    pipe.send(ChildProcess(sleep).pid)
    time.sleep(600)


def die_with_a_new_child(pipe: Connection) -> None:
    """Starts a child of its own, sends its process id, and is gone."""
    pipe.send(ChildProcess(sleep, method="spawn").pid)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("stopped", [False, True])
def test_children_end_with_their_parent(
    start: Callable[..., ChildProcess], method: Literal["fork", "spawn"], stopped: bool
) -> None:
    """A killed process leaves no children behind, not even those that were stopped before their first step."""
    parent = start(stop_a_new_child if stopped else have_a_child, method=method)
    grandchild = parent.receive()
    os.kill(parent.pid, signal.SIGKILL)
    until(lambda: not runs(grandchild))


def test_parent_may_end_before_its_child_begins(start: Callable[..., ChildProcess]) -> None:
    """The child ends all the same, whichever of both is the first to look after that."""
    grandchild = start(die_with_a_new_child).receive()
    until(lambda: not runs(grandchild))
    line, other_end = os.pipe()
    os.close(other_end)
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    child = start(sleep)
    signal.signal(signal.SIGTERM, before)
    end_with_parent(line, signal.SIGTERM, child.pid)
    with pytest.raises(ChildLostError, match="ended by signal 15"):
        child.receive()
    os.close(line)


def test_child_outlives_the_thread_that_started_it(start: Callable[..., ChildProcess]) -> None:
    """It belongs to the process."""
    with ThreadPoolExecutor(1) as threads:
        child = threads.submit(start, sleep).result()
    time.sleep(0.1)
    assert runs(child.pid)


def stop_a_new_child(pipe: Connection) -> None:
    """Stops a child of its own at once, sends its process id, and goes on."""
    child = ChildProcess(sleep)
    os.kill(child.pid, signal.SIGSTOP)
    pipe.send(child.pid)
    time.sleep(600)


def have_a_strange_child(pipe: Connection) -> None:
    """Starts another program."""
    pipe.send(subprocess.Popen(["sleep", "600"]).pid)
    time.sleep(600)


def test_group_of_a_spawned_child_ends_with_it(start: Callable[..., ChildProcess]) -> None:
    """Programs of others know nothing of parents."""
    child = start(have_a_strange_child, method="spawn")
    stranger = child.receive()
    child.end()
    until(lambda: not runs(stranger))


def wait_for_a_signal(pipe: Connection, heeded: bool) -> None:
    """Ends by itself when it gets SIGTERM, or does not."""
    signal.signal(signal.SIGTERM, lambda number, frame: os._exit(5) if heeded else None)
    pipe.send("ready")
    while True:
        time.sleep(1)


@pytest.mark.parametrize(("heeded", "status"), [(True, 5), (False, -signal.SIGKILL)])
def test_child_may_be_asked_to_end(start: Callable[..., ChildProcess], heeded: bool, status: int) -> None:
    """It has some time to do so. Its end can be called again, and its status is known."""
    child = start(wait_for_a_signal, heeded)
    child.receive()
    child.end(signal.SIGTERM, PATIENCE if heeded else 0.1)
    child.end()
    child.kill()
    assert child.status == status


# ----------------------------------------------------------------------------------------------- the event loop's end


class Listener(AsyncEnd):
    """Keeps what it is told."""

    def __init__(self, child: ChildProcess, most_bytes: int = 1 << 20, most_unread: int = 10) -> None:
        super().__init__(child, "child", most_bytes, most_unread)
        self.told: list[object] = []
        self.lost = asyncio.Event()

    def take(self, message: object) -> None:
        """Keeps it."""
        self.told.append(message)

    def lose(self) -> None:
        """Notes it."""
        self.lost.set()


def echo(pipe: Connection) -> None:
    """Sends back the length of each message, until there is an empty one."""
    while message := pipe.recv():
        pipe.send(len(message))


async def test_event_loop_hears_a_child_and_its_end() -> None:
    """Messages of any length pass in order, in parts; a work without a result tells none."""
    listener = Listener(ChildProcess(echo))
    listener.write(bytes(size) for size in (1, 3 << 20, 70_000))
    listener.write([b"12", b""])
    await asyncio.wait_for(listener.lost.wait(), PATIENCE)
    assert listener.told == [1, 3 << 20, 70_000, 2]
    listener.write([b"too late"])
    assert Path(f"/proc/{listener.child.pid}").exists(), "nobody else may have its number"
    await listener.end()
    assert not Path(f"/proc/{listener.child.pid}").exists()


def flood(pipe: Connection, header: bytes) -> None:
    """Begins a message, and never ends it."""
    os.write(pipe.fileno(), header)
    time.sleep(600)


@pytest.mark.parametrize(
    "header", [struct.pack("!i", 101) + pickle.dumps(b"x" * 101), struct.pack("!iQ", -1, 1 << 40), b"\0\0\0\1x"]
)
async def test_child_whose_message_is_too_long_is_lost(header: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """It is not read; and so is one whose message is none. That is logged, and the process ends when it is told to."""
    listener = Listener(ChildProcess(flood, header), most_bytes=100)
    await asyncio.wait_for(listener.lost.wait(), PATIENCE)
    assert "it is lost" in caplog.text
    assert runs(listener.child.pid)
    await listener.end()
    assert not listener.told


async def test_child_that_reads_nothing_keeps_nobody_waiting() -> None:
    """What waits for it has a bound."""
    listener = Listener(ChildProcess(sleep), most_unread=10)
    for _ in range(10):
        listener.write([bytes(1 << 20)])
        await asyncio.sleep(0)
    assert not listener.lost.is_set()
    listener.write([b""])
    assert listener.lost.is_set()
    await listener.end()


async def test_event_loop_is_told_why_a_work_has_failed(caplog: pytest.LogCaptureFixture) -> None:
    """The log has the error of the work."""
    listener = Listener(ChildProcess(fail, RulesError("no meaning")))
    await asyncio.wait_for(listener.lost.wait(), PATIENCE)
    await listener.end()
    assert "has failed" in caplog.text
    assert "no meaning" in caplog.text
    assert str(listener.error) == "no meaning"
    assert listener.child.status == 1
    assert not listener.told


def test_child_has_a_descriptor_of_its_parent_as_its_third(start: Callable[..., ChildProcess]) -> None:
    """Whatever number it has here, and beside the child's pipe and line."""
    for _ in range(3):
        reading, writing = os.pipe()
        os.write(writing, b"told")
        os.close(writing)
        assert start(third, method="spawn", third=reading).receive(PATIENCE) == b"told"
        os.close(reading)
