"""How processes of the agent are started and end, which ones they have started themselves, and what tells apart the
machine's starts."""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

_PARENT_DEATH_SIGNAL = 1
"""prctl(2)'s PR_SET_PDEATHSIG."""

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""What Linux calls the time since it was started."""

_libc = ctypes.CDLL(None)


async def start_module(
    module: str,
    *arguments: str,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
) -> asyncio.subprocess.Process:
    """Starts `python -m module arguments` with the packages that this process runs, wherever they stand.

    The streams are as for `subprocess.Popen`; None: this process's own. The process leads a session of its own, so that
    an interrupt at the keyboard does not reach it, and its process group is it with its children. Raises `OSError`.
    """
    # The supervisor and light workers do without.
    import asyncio

    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *arguments,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=module_environment(),
        start_new_session=True,
    )


def module_environment() -> dict[str, str]:
    """This process's environment, made such that `python -m module` finds the packages that this process runs."""
    root = str(Path(__file__).resolve().parents[1])
    search_path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": search_path}


def end_with_parent(number: signal.Signals) -> None:
    """This process gets a signal when the thread that started it ends, however that ends.

    May be called between fork and exec. A parent that is gone already is not noticed.
    """
    _libc.prctl(_PARENT_DEATH_SIGNAL, number)


@functools.cache
def boot_id() -> str | None:
    """What tells this start of the machine from others, and from other machines; None where nothing does.

    Containers of one machine have it in common.
    """
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return None


def children(pid: int) -> list[int]:
    """The processes that a process has started itself; none where it is gone."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except OSError:
        pass
    return found


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    return [process for child in children(pid) for process in (child, *descendants(child))]
