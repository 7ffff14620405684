"""The supervisor: owns the listening socket, and restarts the serving process whenever that ends unasked, or hangs.

Without a serving process, connections wait in the socket's backlog instead of being refused. The socket is handed over
as by systemd (sd_listen_fds(3): descriptor 3, LISTEN_FDS, LISTEN_PID), so systemd may take the supervisor's place. The
server's signs of life go through a pipe, and to systemd as in sd_notify(3).

It does nothing else and imports next to nothing: little can go wrong.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Collection, Mapping, Sequence

from agent.serving.watchdog import Watchdog
from games.child_process import end_with_parent

log = logging.getLogger(__name__)

LISTEN_DESCRIPTOR = 3
"""Descriptor of the inherited socket: sd_listen_fds(3)'s SD_LISTEN_FDS_START."""

BACKLOG = 128
"""Most connections that wait while there is no serving process."""

RESTARTS = "GGP_AGENT_RESTARTS"
"""Environment variable with the number of restarts; absent without a supervisor."""

STEADY_SECONDS = 10.0
"""Seconds after which the cause of a crash is not how the process was started."""

FIRST_DELAY, LONGEST_DELAY = 0.1, 5.0
"""Seconds before a restart, from the second crash in a row on; doubled each time, up to the longest."""

PRIORITY = -5
"""Niceness of the server process, unless the user chose one: replies must leave on time. Workers run without it."""

MOST_DESCRIPTORS = 1 << 12
"""Open files that the server asks for: half of them for connections (`protocol.connections`)."""

PULSE = "GGP_AGENT_PULSE"
"""Environment variable with the descriptor of the pipe to the supervisor, for signs of life."""

PULSE_SECONDS = 1.0
"""Seconds between two signs of life, and between two looks for them."""

IDLE_SECONDS, BUSY_SECONDS = 15.0, 60.0
"""Seconds that the server may do nothing, and CPU time that it may take, without a sign of life (see `Watchdog`)."""

_ASKED_TO_END = (signal.SIGTERM, signal.SIGINT)


def listen(host: str | None, port: int) -> socket.socket:
    """Returns a listening socket; port 0 takes a free one. Raises `OSError`.

    Without a host it is for all addresses, also those of IPv6 where the machine has any: many resolve localhost to ::1.
    """
    if not host:
        # A machine without IPv6 has no such sockets, or not this address.
        with contextlib.suppress(ValueError):
            try:
                return socket.create_server(("", port), family=socket.AF_INET6, backlog=BACKLOG, dualstack_ipv6=True)
            except OSError as error:
                if error.errno != errno.EADDRNOTAVAIL:
                    raise
        return socket.create_server(("", port), backlog=BACKLOG)
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return socket.create_server(address[:2], family=family, backlog=BACKLOG)


def raise_priority() -> None:
    """Takes the server's priority, if that is allowed."""
    if os.getpriority(os.PRIO_PROCESS, 0) == 0:
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)


def raise_descriptors() -> None:
    """Allows as many open files as the system does, at most `MOST_DESCRIPTORS`: each connection is one, idle or not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(MOST_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def inherited_socket(environment: Mapping[str, str] = os.environ) -> socket.socket | None:
    """Returns the listening socket handed to this process, or None. Raises `OSError`."""
    if environment.get("LISTEN_PID") != str(os.getpid()) or environment.get("LISTEN_FDS", "0") == "0":
        return None
    # Child processes must not inherit it.
    os.set_inheritable(LISTEN_DESCRIPTOR, False)
    return socket.socket(fileno=LISTEN_DESCRIPTOR)


class Pulse:
    """Signs of life of the server process, for whoever supervises it."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._pipe = int(environment[PULSE]) if PULSE in environment else None
        self._address = environment.get("NOTIFY_SOCKET", "")
        if self._pipe is not None:
            os.set_inheritable(self._pipe, False)
            os.set_blocking(self._pipe, False)

    def beat(self) -> None:
        """Gives one sign of life."""
        with contextlib.suppress(OSError):
            if self._pipe is not None:
                os.write(self._pipe, b".")
            if self._address:
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
                    # A leading @ stands for the abstract namespace.
                    notify.sendto(b"READY=1\nWATCHDOG=1", self._address.replace("@", "\0", 1))


class Supervisor:
    """Runs a command as the serving process, and restarts it, until told to end."""

    def __init__(self, listener: socket.socket, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """`command` is a program with its arguments; it inherits the listener as descriptor 3."""
        self._listener = listener
        self._command = list(command)
        self._environment = dict(environment)
        self._line, self._own_end = os.pipe()
        """See `games.child_process`: a killed supervisor takes its server along, which nothing would restart."""
        self._pulse, self._pulse_end = os.pipe()
        os.set_blocking(self._pulse, False)

    def run(self) -> int:
        """Runs until the serving process ends for good; returns its exit status.

        SIGTERM and SIGINT are passed on, and the status is 0 then. A process that ends by itself is restarted, unless
        its status is 0 or its very first start failed.
        """
        awaited = {signal.SIGCHLD, *_ASKED_TO_END}
        # Blocked, and taken one by one: no signal can be missed between a check and the wait after it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
        try:
            return self._keep_running(awaited, before)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _keep_running(self, awaited: Collection[signal.Signals], mask: Collection[int | signal.Signals]) -> int:
        restarts = crashes = 0
        while True:
            begun = time.monotonic()
            asked, status = self._wait_for(self._start(restarts, mask), awaited)
            seconds = time.monotonic() - begun
            if asked or not status:
                return max(0, status)
            if not restarts and status > 0 and seconds < STEADY_SECONDS:
                return status
            reason = f"signal {-status}" if status < 0 else f"status {status}"
            log.error("the server ended with %s after %.1f s: it is started again", reason, seconds)
            crashes = crashes + 1 if seconds < STEADY_SECONDS else 1
            delay = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(crashes - 2, 16)) if crashes > 1 else 0.0
            if delay and signal.sigtimedwait(_ASKED_TO_END, delay) is not None:
                return 0
            restarts += 1

    def _start(self, restarts: int, mask: Collection[int | signal.Signals]) -> int:
        """Starts the command; returns its process id."""
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child:
            return child
        try:
            os.close(self._own_end)
            # Descriptor 3 becomes the listener.
            line, pulse = (
                fcntl.fcntl(end, fcntl.F_DUPFD, LISTEN_DESCRIPTOR + 1) for end in (self._line, self._pulse_end)
            )
            os.dup2(self._listener.fileno(), LISTEN_DESCRIPTOR)
            os.set_inheritable(LISTEN_DESCRIPTOR, True)
            passed = {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid()), RESTARTS: str(restarts), PULSE: str(pulse)}
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            end_with_parent(line, signal.SIGTERM)
            os.execve(self._command[0], self._command, {**self._environment, **passed})
        except OSError as error:
            log.error("%s cannot be started: %s", self._command[0], error)
        finally:
            os._exit(1)

    def _wait_for(self, child: int, awaited: Collection[signal.Signals]) -> tuple[bool, int]:
        """Returns whether the child was asked to end, and its exit status, or minus the signal that ended it.

        One that hangs is killed.
        """
        asked = False
        watchdog = Watchdog(child, self._heard)
        while True:
            got = signal.sigtimedwait(awaited, PULSE_SECONDS)
            if got is None and watchdog.hangs(IDLE_SECONDS, BUSY_SECONDS):
                log.error("the server gives no sign of life: it is ended")
                os.kill(child, signal.SIGKILL)
                watchdog = Watchdog(child, self._heard)
            if got is not None and got.si_signo in _ASKED_TO_END:
                asked = True
                os.kill(child, got.si_signo)
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return asked, os.waitstatus_to_exitcode(status)

    def _heard(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            return bool(os.read(self._pulse, 1 << 16))
        return False
