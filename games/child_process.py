"""Child processes: the one way to start, bound, supervise and end a process.

A child runs a function: forked, with everything that its parent has loaded, or in a new interpreter. It has one end of
a pipe: it may send and receive messages while it works; its last message is the result or the exception of its work.
The pipe's end tells a dead child from a slow one. Its parent's end waits (`ChildProcess`), or never does (`AsyncEnd`).

A child ends when its parent does, in whatever way. It holds one end of a second pipe, its line, in which nothing is
ever written. When the other end is closed, as all of a process's files are when it ends, the kernel sends the child a
signal (F_SETSIG in fcntl(2)). That also ends a child that is stopped, or deep in native code, which asks no more for
its parent. And the thread that started it may end before, unlike with PR_SET_PDEATHSIG of prctl(2). The line is made
once there is a child, and sent to it: one that is stopped before its first step has no copy of the other end.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import logging
import math
import multiprocessing
import os
import pickle
import resource
import select
import signal
import struct
import sys
import threading
import time
import traceback
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from games.machine import LimitError
from games.memory import be_killed_sooner, bound_memory

if TYPE_CHECKING:
    # Slow to import, and children do without it.
    import asyncio

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[1]
"""The folder of this package and its neighbours."""

_BEGIN = "from games.child_process import begin; begin()"
"""What a new interpreter runs."""

_HEADER = struct.Struct("!i")
"""Length of the message that follows, in bytes, as in `multiprocessing.connection`; negative for more than 2 GiB."""

_CHUNK = 1 << 16
"""Most bytes that an event loop reads or writes at once."""

_LOOK_SECONDS = 0.02
"""Seconds between two looks at a child that was asked to end."""

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
    niceness: int | None = None
    """Least niceness: others go first."""


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

    pid: int
    """The process id, also of the process group of a spawned child."""

    def __init__(
        self,
        work: Callable[..., object] | str,
        *arguments: object,
        method: Literal["fork", "spawn"] = "fork",
        bounds: Bounds = Bounds(),
        ended_by: signal.Signals = signal.SIGKILL,
        errors: int = 2,
        third: int | None = None,
    ) -> None:
        """Starts `work(pipe, *arguments)` in a new process, which gets `ended_by` when this one ends. Raises `OSError`.

        A forked child has everything its parent has loaded; fork before other threads hold locks that the work needs.
        It stays in its parent's process group, and leaves Ctrl-C to it.

        A spawned one starts afresh, without anything of the current folder; `work` may be `module:function`. It leads
        a process group, which Ctrl-C does not reach, and which ends with it. Its input is empty, and what it
        prints goes to the descriptor `errors`: it must not get between its parent's output. If `third` is given, that
        is its descriptor 3, as of a socket that systemd hands over.
        """
        self._bounds = bounds
        self._spawned = method == "spawn"
        task = pickle.dumps((bounds, work, arguments), protocol=5) if self._spawned else b""
        self._status: int | None = None
        self._reaped = False
        self._reaping = threading.Lock()
        self.pipe, theirs = multiprocessing.Pipe()
        """This process's end of the pipe."""
        try:
            if self._spawned:
                self.pid = _spawn(theirs.fileno(), work, errors, third)
            else:
                self.pid = self._fork(theirs, lambda: (bounds, work, arguments))
        except OSError:
            self.pipe.close()
            raise
        finally:
            theirs.close()
        line, self._line = os.pipe()
        end_with_parent(line, ended_by, self.pid)
        # It may be dead already.
        with contextlib.suppress(ConnectionError):
            send_handle(self.pipe, line, self.pid)
            if self._spawned:
                self.pipe.send_bytes(task)
        os.close(line)

    @property
    def status(self) -> int | None:
        """Exit status, or minus the number of the signal that ended it; None while it runs. Does not reap it."""
        self._look(os.WNOHANG)
        return self._status

    def cpu_seconds(self) -> float:
        """CPU time used by the process so far; 0 if it is gone."""
        return cpu_seconds_of(self.pid)

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

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Sends the process a signal if it still runs; from any thread."""
        # Only `end` reaps it: until then, nobody else has its number.
        with self._reaping:
            if not self._reaped:
                os.kill(self.pid, number)

    def end(self, asked_by: signal.Signals | None = None, seconds: float = 0.0) -> None:
        """Kills the process, and its group if it was spawned, and frees its resources. Call it for every child.

        With a signal it is asked first, and has some seconds to end by itself.
        """
        if asked_by is not None:
            self.kill(asked_by)
            deadline = time.monotonic() + seconds
            while self.status is None and time.monotonic() < deadline:
                time.sleep(_LOOK_SECONDS)
        self._reap()
        with self._reaping:
            self.pipe.close()

    def _look(self, options: int = 0) -> None:
        """Waits for the end of the process, unless with WNOHANG."""
        # Another thread may reap it.
        with contextlib.suppress(ChildProcessError):
            if self._status is None and (ended := os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | options)):
                self._status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def _reap(self) -> None:
        with self._reaping:
            if not self._reaped:
                (os.killpg if self._spawned else os.kill)(self.pid, signal.SIGKILL)
                self._look()
                os.waitpid(self.pid, 0)
                os.close(self._line)
                self._reaped = True

    def _loss(self) -> LimitError | ChildLostError:
        self._look()
        self._reap()
        assert self._status is not None
        if self._status == -signal.SIGXCPU and self._bounds.cpu_seconds is not None:
            return LimitError(f"more than {self._bounds.cpu_seconds:g} s of CPU time")
        if self._status < 0:
            return ChildLostError(f"ended by signal {-self._status}")
        return ChildLostError(f"ended with status {self._status}")

    def _fork(self, theirs: Connection, task: Callable[[], _Task]) -> int:
        with warnings.catch_warnings():
            # Python warns of forking with threads; see above.
            warnings.simplefilter("ignore", DeprecationWarning)
            sys.stdout.flush()
            sys.stderr.flush()
            # None of the parent's handlers ever runs in the child.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
            try:
                pid = os.fork()
            except OSError:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                raise
        if pid:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            return pid
        try:
            self.pipe.close()
            # A terminal sends Ctrl-C to all processes; the parent handles it.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            _main(theirs, task)
        finally:
            os._exit(1)


def wait_for_any(children: Sequence[ChildProcess], timeout: float | None = None) -> list[ChildProcess]:
    """Waits for a message or the end of any child; returns those children, none after `timeout` seconds."""
    ready = wait([child.pipe for child in children], timeout)
    return [child for child in children if child.pipe in ready]


def cpu_seconds() -> float:
    """CPU time used by this process and its ended children."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def cpu_seconds_of(pid: int) -> float:
    """CPU time used by a process so far; 0 if it is gone."""
    # The other process's clock, as from clock_getcpuclockid(3); see clock_getres(2).
    try:
        return time.clock_gettime((~pid << 3) | _CPU_CLOCK)
    except OSError:
        return 0.0


def module_environment() -> dict[str, str]:
    """Returns this process's environment, changed so that a new interpreter finds these packages from any folder.

    Nothing in the current folder is imported: it may have an `agent.py` of its own.
    """
    # An empty part stands for the current folder.
    others = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), *others)), "PYTHONSAFEPATH": "1"}


def end_with_parent(line: int, number: signal.Signals, pid: int | None = None) -> None:
    """Has the kernel send a process, by default this one, a signal when the other end of its line is closed.

    Does so itself where that has happened already.
    """
    pid = os.getpid() if pid is None else pid
    fcntl.fcntl(line, fcntl.F_SETSIG, number)
    fcntl.fcntl(line, fcntl.F_SETOWN, pid)
    fcntl.fcntl(line, fcntl.F_SETFL, os.O_ASYNC)
    poll = select.poll()
    poll.register(line, 0)
    if poll.poll(0):
        os.kill(pid, number)


def _spawn(pipe: int, work: Callable[..., object] | str, errors: int, third: int | None) -> int:
    # The last word is for people who look at processes.
    name = work if isinstance(work, str) else work.__module__
    # To itself, it stays open.
    theirs = pipe if third is None else max(pipe, third) + 1
    handed = [(os.POSIX_SPAWN_DUP2, pipe, theirs)]
    if third is not None:
        handed.append((os.POSIX_SPAWN_DUP2, third, 3))
    return os.posix_spawn(
        sys.executable,
        (sys.executable, "-c", _BEGIN, str(theirs), name),
        module_environment(),
        file_actions=(
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, errors, 1),
            (os.POSIX_SPAWN_DUP2, errors, 2),
            *handed,
        ),
        # No session of its own: between those, niceness does not count (autogroup in sched(7)).
        setpgroup=0,
        setsigmask=(),
        setsigdef=(signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ),
    )


class AsyncEnd(ABC):
    """A child as an event loop sees it: written to without waiting, read within bounds.

    One that breaks a bound is lost, as one that has ended. It runs until `end`.
    """

    def __init__(self, child: ChildProcess, name: str, most_bytes: int, most_unread: int) -> None:
        """`most_bytes` bounds a message from the child, `most_unread` the number of those that it has not read."""
        import asyncio

        self.child = child
        self._name = name
        self._most_bytes = most_bytes
        self._most_unread = most_unread
        self._unread: deque[Iterator[object]] = deque()
        self._writing = memoryview(b"")
        self._reading = bytearray()
        self._open = True
        self.error: Exception | None = None
        """Error that has ended the child's work, if it told one."""
        self._descriptor = child.pipe.fileno()
        self._loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        os.set_blocking(self._descriptor, False)
        self._loop.add_reader(self._descriptor, self._read)

    @abstractmethod
    def take(self, message: Any) -> None:
        """Takes a message of the child."""

    @abstractmethod
    def lose(self) -> None:
        """Takes note that there will be no more: the child has ended, or is lost."""

    def write(self, parts: Iterable[object]) -> None:
        """Sends messages, one at a time; does nothing if the child is lost."""
        if self._open and len(self._unread) >= self._most_unread:
            self._close("does not read what it is told")
        if self._open:
            self._unread.append(iter(parts))
            self._loop.add_writer(self._descriptor, self._write)

    async def end(self) -> None:
        """Kills the child, see `ChildProcess.end`; nothing is read any more."""
        self._close()
        await self._loop.run_in_executor(None, self.child.end)

    def _close(self, fault: str = "") -> None:
        if fault:
            log.error("%s %d %s: it is lost", self._name, self.child.pid, fault)
        if self._open:
            self._open = False
            self._loop.remove_reader(self._descriptor)
            self._loop.remove_writer(self._descriptor)
            self.lose()

    def _write(self) -> None:
        """Writes some bytes. The loop has its turn between two of these, however much there is to write."""
        while not self._writing and self._unread:
            for part in self._unread[0]:
                body = pickle.dumps(part, protocol=pickle.HIGHEST_PROTOCOL)
                self._writing = memoryview(_HEADER.pack(len(body)) + body)
                break
            else:
                self._unread.popleft()
        try:
            self._writing = self._writing[os.write(self._descriptor, self._writing[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:
            # What it has told before is still read.
            self._writing = memoryview(b"")
            self._unread.clear()
        if not self._writing and not self._unread:
            self._loop.remove_writer(self._descriptor)

    def _read(self) -> None:
        try:
            read = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            read = b""
        if not read:
            self._close()
        self._reading += read
        while self._open and len(self._reading) >= _HEADER.size:
            (length,) = _HEADER.unpack_from(self._reading)
            if not 0 <= length <= self._most_bytes:
                self._close(f"reports {length} bytes at once")
                return
            end = _HEADER.size + length
            if len(self._reading) < end:
                return
            message, self._reading = self._reading[_HEADER.size : end], self._reading[end:]
            try:
                self._take(pickle.loads(message))
            except Exception:
                log.exception("%s %d cannot be heard", self._name, self.child.pid)
                self._close("reports what cannot be taken in")

    def _take(self, message: object) -> None:
        if isinstance(message, _Raised):
            self.error = message.error
            log.error("%s %d has failed", self._name, self.child.pid, exc_info=self.error)
        elif message is not None:
            # A work without a result ends with that.
            self.take(message)


# ------------------------------------------------------------------------------------------------------- in the child

_Task = tuple[Bounds, Callable[..., object] | str, tuple[object, ...]]


def begin() -> NoReturn:
    """Runs a child in a new interpreter."""
    pipe = Connection(int(sys.argv[1]))
    os.set_inheritable(pipe.fileno(), False)
    _main(pipe, pipe.recv)


def _main(pipe: Connection, task: Callable[[], _Task]) -> NoReturn:
    try:
        # The line, which stays open.
        recv_handle(pipe)
    except (EOFError, OSError):
        # The parent has ended before it could send it.
        os._exit(1)
    be_killed_sooner()
    status, bounds = 1, Bounds()
    try:
        bounds, work, arguments = task()
        _apply(bounds)
        if isinstance(work, str):
            module, _, name = work.partition(":")
            work = getattr(importlib.import_module(module), name)
        # Protocol 5 writes arrays without copying them.
        message, status = pickle.dumps(work(pipe, *arguments), protocol=5), 0
    except (MemoryError, SystemError) as error:
        # The interpreter may lose the first, which leads to the second. The report needs memory, too.
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        # It may have the bound of its parent.
        memory = bounds.memory_bytes or soft
        bounded = memory != resource.RLIM_INFINITY
        known = LimitError(f"more than {memory >> 20} MiB of memory") if bounded else _portable(error)
        message = pickle.dumps(_Raised(known))
    except Exception as error:
        message = pickle.dumps(_Raised(_portable(error)))
    except SystemExit as ended:
        message, status = pickle.dumps(None), int(ended.code or 0)
    with contextlib.suppress(OSError):
        pipe.send_bytes(message)
    sys.stdout.flush()
    sys.stderr.flush()
    # Skip Python's exit: the handlers registered for it are the parent's, and threads are not worth waiting for.
    os._exit(status)


def _apply(bounds: Bounds) -> None:
    if bounds.niceness is not None:
        os.setpriority(os.PRIO_PROCESS, 0, max(bounds.niceness, os.getpriority(os.PRIO_PROCESS, 0)))
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
