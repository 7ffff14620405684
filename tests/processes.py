"""Waiting for other processes and threads."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 300.0
"""Seconds after which a test stops waiting. Only what hangs takes that long."""


def until(condition: Callable[[], bool], what: Callable[[], str] = str, pause: float = 0.005) -> None:
    """Waits until a condition holds, looked at every `pause` seconds; the failure quotes `what`."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"nothing came of it in {PATIENCE:g} s {what()}"
        time.sleep(pause)


def runs(process: int) -> bool:
    """Whether a process has not ended; it may not have been reaped."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def children_of(process: int) -> list[int]:
    """The children of a process."""
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@contextmanager
def throttled() -> Iterator[None]:
    """This process and those that it starts share one core with two others that are always busy."""
    cores = os.sched_getaffinity(0)
    core = min(cores)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        for process in (0, *(one.pid for one in busy)):
            os.sched_setaffinity(process, {core})
        yield
    finally:
        os.sched_setaffinity(0, cores)
        for one in busy:
            one.kill()
            one.wait()
