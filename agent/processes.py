"""Descendants of processes; identity of the machine's boot."""

from __future__ import annotations

import functools
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""Linux's identifier of the current boot."""


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
