"""Child processes with bounded memory and CPU time, supervised by their parent.

A child gets one end of a pipe. It may send and receive messages while it works; its last message is the result or the
exception of its work. It ends when its parent ends, in whatever way. The pipe's end tells a dead child from a slow one.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import multiprocessing.connection
import os
import pickle
import resource
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Literal

from games.machine import LimitError
from games.memory import be_killed_sooner, bound_memory

_PARENT_CHECK = 0.5
"""Seconds between a child's checks that its parent lives."""


_SAFE_PATH = "PYTHONSAFEPATH"

_CPU_CLOCK = 2
"""Linux's CPUCLOCK_SCHED."""


class ChildLostError(Exception):
    """A child process ended without a result; the text says why."""


@dataclass(frozen=True)
class Bounds:
    """Resource bounds of a child process; None: those of its parent."""

    cpu_seconds: float | None = None
    """CPU time of the process itself, rounded up to whole seconds (RLIMIT_CPU)."""
    memory_bytes: int | None = None
    """Private memory beyond the process's initial one (see `bound_memory`): a parent may have mapped more than the
    bound, unused (as a member of a Ray cluster does)."""


@dataclass(frozen=True)
class _Raised:
    """The last message of a child whose work failed."""

    error: Exception


class ChildProcess:
    """A running child process.

    >>> child = ChildProcess(work, 1, 2, bounds=Bounds(cpu_seconds=10))   # doctest: +SKIP
    >>> child.receive(timeout=60)                                         # a message or the result of work(pipe, 1, 2)
    >>> child.end()
    """

    def __init__(
        self,
        work: Callable[..., object],
        *arguments: object,
        method: Literal["fork", "spawn"] = "fork",
        bounds: Bounds = Bounds(),
        may_have_children: bool = False,
    ) -> None:
        """Starts `work(pipe, *arguments)` in a new process.

        A forked child has everything its parent has loaded; fork before other threads hold locks that the work needs.
        A spawned one starts afresh. A child that may not have children of its own is killed
        at this process's exit.
        """
        ours, theirs = multiprocessing.Pipe()
        self.pipe = ours
        """This process's end of the pipe."""
        self._bounds = bounds
        forking = method == "fork"
        context = multiprocessing.get_context("fork") if forking else multiprocessing.get_context("spawn")
        self._process = context.Process(
            target=_main,
            args=(theirs, ours if forking else None, bounds, work, arguments),
            daemon=not may_have_children,
        )
        with warnings.catch_warnings(), contextlib.nullcontext() if forking else _spawning():
            # Python warns of forking with threads; see above.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process.pid is not None
        return self._process.pid

    def cpu_seconds(self) -> float:
        """CPU time used by the process so far; 0 if it is gone."""
        # The other process's clock, as from clock_getcpuclockid(3); see clock_getres(2).
        try:
            return time.clock_gettime((~self.pid << 3) | _CPU_CLOCK)
        except OSError:
            return 0.0

    def send(self, message: object) -> None:
        """Sends a message to the child. Raises `ChildLostError`, or `LimitError` if its CPU time is used up."""
        try:
            self.pipe.send(message)
        except OSError:
            raise self._loss() from None

    def receive(self, timeout: float | None = None) -> Any:
        """The child's next message; waits at most `timeout` seconds.

        Raises the exception of the child's work, `LimitError` if it exceeds its bounds or the timeout, and
        `ChildLostError` if it ended in any other way.
        """
        try:
            if not self.pipe.poll(timeout):
                raise LimitError(f"no answer within {timeout:g} s")
            message = self.pipe.recv()
        except (EOFError, OSError):
            raise self._loss() from None
        if isinstance(message, _Raised):
            raise message.error
        return message

    def end(self) -> None:
        """Kills the process if it still runs, and frees its resources. Call it once for every child."""
        self._process.kill()
        self._process.join()
        self.pipe.close()

    def _loss(self) -> LimitError | ChildLostError:
        self._process.join()
        code = self._process.exitcode
        if code == -signal.SIGXCPU and self._bounds.cpu_seconds is not None:
            return LimitError(f"more than {self._bounds.cpu_seconds:g} s of CPU time")
        if code is not None and code < 0:
            return ChildLostError(f"ended by signal {-code}")
        return ChildLostError(f"ended with status {code}")


def wait_for_any(children: Sequence[ChildProcess], timeout: float | None = None) -> list[ChildProcess]:
    """Waits for a message or the end of any child; returns those children, none after `timeout` seconds."""
    ready = multiprocessing.connection.wait([child.pipe for child in children], timeout)
    return [child for child in children if child.pipe in ready]


def cpu_seconds() -> float:
    """CPU time used by this process and its ended children."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


# ------------------------------------------------------------------------------------------------------- in the child


def _main(
    pipe: Connection,
    parents_end: Connection | None,
    bounds: Bounds,
    work: Callable[..., object],
    arguments: tuple[object, ...],
) -> None:
    # A terminal sends Ctrl-C to all processes; the parent handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if parents_end is not None:
        parents_end.close()
    parent = multiprocessing.parent_process()
    assert parent is not None
    assert parent.pid is not None
    threading.Thread(target=_end_with, args=(parent.pid,), daemon=True).start()
    be_killed_sooner()
    try:
        _apply(bounds)
        # Protocol 5 writes arrays without copying them.
        message = pickle.dumps(work(pipe, *arguments), protocol=5)
    except MemoryError as error:
        # The report needs memory, too.
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        memory = bounds.memory_bytes
        known = error if memory is None else LimitError(f"more than {memory >> 20} MiB of memory")
        message = pickle.dumps(_Raised(known))
    except Exception as error:
        message = pickle.dumps(_Raised(_portable(error)))
    with contextlib.suppress(ConnectionError):
        pipe.send_bytes(message)
    sys.stdout.flush()
    sys.stderr.flush()
    # Skip Python's exit: the handlers registered for it are the parent's.
    os._exit(0)


def _apply(bounds: Bounds) -> None:
    if bounds.cpu_seconds is not None:
        seconds = math.ceil(bounds.cpu_seconds)
        _, allowed = resource.getrlimit(resource.RLIMIT_CPU)
        hard = seconds + 1 if allowed == resource.RLIM_INFINITY else min(seconds + 1, allowed)
        resource.setrlimit(resource.RLIMIT_CPU, (min(seconds, hard), hard))
    if bounds.memory_bytes is not None:
        bound_memory(bounds.memory_bytes)


def _portable(error: Exception) -> Exception:
    """The error with its traceback as a note; if it cannot be pickled, its text in a `RuntimeError`."""
    note = "In a child process:\n" + "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(note)
    return error


def _end_with(parent: int) -> None:
    """Ends this process when its parent is gone: a killed parent cannot end anything."""
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK)
    os._exit(1)


@contextlib.contextmanager
def _spawning() -> Iterator[None]:
    """Within, processes that this thread starts do not take Ctrl-C, also before `_main`, and import nothing from the
    current folder."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if before is None:
            del os.environ[_SAFE_PATH]
