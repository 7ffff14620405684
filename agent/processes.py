"""Surroundings, end and descendants of processes; identity of the machine's boot."""

from __future__ import annotations

import ctypes
import functools
import os
import signal
from pathlib import Path

_PARENT_DEATH_SIGNAL = 1
"""prctl(2)'s PR_SET_PDEATHSIG."""

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""Linux's identifier of the current boot."""

ROOT = Path(__file__).resolve().parents[1]
"""The folder of this package and its neighbours."""

_libc = ctypes.CDLL(None)


def module_environment() -> dict[str, str]:
    """Returns this process's environment, changed so that `python -m module` finds this package from any folder.

    Nothing in the current folder is imported: it may have an `agent.py` of its own.
    """
    # An empty part stands for the current folder.
    others = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), *others)), "PYTHONSAFEPATH": "1"}


def end_with_parent(number: signal.Signals) -> None:
    """Makes this process get a signal when the thread that started it ends.

    May be called between fork and exec. A parent that has ended already is not noticed.
    """
    _libc.prctl(_PARENT_DEATH_SIGNAL, number)


@functools.cache
def boot_id() -> str | None:
    """Returns the identifier of this boot of this machine, the same in all of its containers; None if there is none."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return None


def children(pid: int) -> list[int]:
    """Returns the children of a process; none if it has ended."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except OSError:
        pass
    return found


def descendants(pid: int) -> list[int]:
    """Returns the children of a process, and their descendants."""
    return [process for child in children(pid) for process in (child, *descendants(child))]
