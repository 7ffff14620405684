"""Memory of this machine or container, and its division among processes."""

from __future__ import annotations

import os
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from games.child_process import Bounds, ChildProcess
from games.memory import be_killed_sooner, bound_memory, machine_memory, memory_part, share_memory

GROUPS = {
    "version 2": ("0::/a/b\n", "a/b/memory.max", "a/memory.max"),
    "version 1": (
        "5:cpu:/x\n4:rdma,memory:/a/b\n0::/\n",
        "memory/a/b/memory.limit_in_bytes",
        "memory/a/memory.limit_in_bytes",
    ),
}


@pytest.mark.parametrize("version", GROUPS)
@pytest.mark.parametrize(("inner", "outer"), [("1000000", "max"), ("max", "1000000"), ("1000000", "2000000")])
def test_memory_is_the_least_of_all_groups(tmp_path: Path, version: str, inner: str, outer: str) -> None:
    """A control group bounds it, and so does any group above; one that is not there, as in a container, does not."""
    own, *files = GROUPS[version]
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    (tmp_path / "own").write_text(own)
    assert machine_memory(tmp_path / "own", tmp_path) == physical
    for name, text in zip(files, (inner, outer), strict=True):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    assert machine_memory(tmp_path / "own", tmp_path) == 1_000_000
    assert machine_memory(tmp_path / "missing", tmp_path) == physical


def own_part(_pipe: Connection) -> tuple[int, int, str]:
    """Returns parts of this process's memory, and its place in the order of those that the kernel ends."""
    bound_memory(1 << 30)
    be_killed_sooner()
    return memory_part(1 << 20, 0.5), memory_part(1 << 60, 0.5), Path("/proc/self/oom_score_adj").read_text()


def test_part_is_one_of_what_the_process_may_have() -> None:
    """The machine's memory, or less where the process is bounded; what is wanted is the most."""
    # Matches of tests before may have shared it.
    share_memory(1)
    assert memory_part(1 << 60, 0.5) == machine_memory() // 2
    # A forked one would have the memory of all tests before.
    child = ChildProcess(own_part, method="spawn", bounds=Bounds(memory_bytes=1 << 31))
    little, much, order = child.receive()
    child.end()
    assert little == 1 << 20
    assert 1 << 29 < much < 1 << 30
    assert int(order) == min(1000, int(Path("/proc/self/oom_score_adj").read_text()) + 600)
