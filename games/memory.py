"""Memory of this machine or container, and this process's part of it."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
"""Where Linux shows control groups: version 2 here, the memory of version 1 in a folder below."""

KILLED_SOONER = 300
"""Added to a child's `oom_score_adj` (-1000 to 1000; see proc(5)), so that the kernel ends it before its parent."""


def machine_memory(own_groups: Path = Path("/proc/self/cgroup"), groups: Path = _GROUPS) -> int:
    """Returns the bytes of this machine's memory, or of the control group's that this process is in, if less."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError):
        for line in own_groups.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                mounted, name = groups, "memory.max"
            elif "memory" in controllers.split(","):
                mounted, name = groups / "memory", "memory.limit_in_bytes"
            else:
                continue
            # The groups above bound it as well. In a container the path may be the host's.
            folder = mounted / path.lstrip("/")
            for group in (folder, *folder.parents):
                if group.is_relative_to(mounted):
                    # "max" is no number.
                    with contextlib.suppress(OSError, ValueError):
                        most = min(most, int((group / name).read_text()))
    return most


_users = 1
"""Number of users that share this process's memory."""


def share_memory(users: int) -> None:
    """Has `memory_part` leave room for so many equal users in this process, such as the engines of all roles."""
    global _users
    _users = users


def memory_part(wanted: int, share: float) -> int:
    """Returns the wanted bytes, but at most a share of what this process may have, which is the machine's memory unless
    `bound_memory` has bounded it; of its users each has as much."""
    return min(wanted, int(share * (memory_bound() or machine_memory())) // _users)


def memory_bound() -> int | None:
    """Returns the bytes that this process's private memory is bounded to; None if it is not."""
    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return None if soft == resource.RLIM_INFINITY else soft


def bound_memory(bytes_more: int) -> None:
    """Bounds this process's private memory (RLIMIT_DATA) to so many bytes more than now.

    It counts what is reserved, but not the code of libraries, nor what an allocator keeps for itself.
    """
    size = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize() + bytes_more
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard))


def be_killed_sooner() -> None:
    """Makes the kernel end this process before its parent where memory runs out."""
    path = Path("/proc/self/oom_score_adj")
    with contextlib.suppress(OSError):
        path.write_text(str(min(1000, int(path.read_text()) + KILLED_SOONER)))
