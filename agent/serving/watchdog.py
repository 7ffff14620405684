"""Tells a process that hangs from one that does not get to run, as on a starved machine."""

from __future__ import annotations

import time
from collections.abc import Callable

from games.child_process import cpu_seconds_of

LATE_SECONDS = 2.0
"""Seconds between two looks beyond which this process itself did not get to run, or the machine slept."""

_WAITING = "RD"
"""States of a process that goes on as soon as it can, see proc_pid_stat(5): runnable, or waiting for a disk."""


class Watchdog:
    """Watches a process that gives signs of life, each of which costs it some CPU time."""

    def __init__(self, pid: int, heard: Callable[[], bool]) -> None:
        """`heard` returns whether there were signs of life since the last call."""
        self._pid = pid
        self._heard = heard
        self._looked = time.monotonic()
        self._cpu = cpu_seconds_of(pid)
        self._idle = 0.0
        """Seconds without a sign of life in which the process was not kept from running."""
        self._heard_cpu = self._cpu
        """CPU time at the last sign of life."""

    def hangs(self, idle_seconds: float, busy_seconds: float) -> bool:
        """Returns whether it has done nothing for `idle_seconds`, or has run for `busy_seconds` of CPU time, without a
        sign of life. To be asked at least every `LATE_SECONDS`."""
        now, cpu = time.monotonic(), cpu_seconds_of(self._pid)
        if self._heard():
            self._idle, self._heard_cpu = 0.0, cpu
        elif cpu == self._cpu and now - self._looked <= LATE_SECONDS and state_of(self._pid) not in _WAITING:
            self._idle += now - self._looked
        self._looked, self._cpu = now, cpu
        return self._idle >= idle_seconds or cpu - self._heard_cpu >= busy_seconds


def state_of(pid: int) -> str:
    """Returns the letter of a process's state, see proc_pid_stat(5); R where it cannot be told."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2][:1].decode() or "R"
    except OSError:
        return "R"
