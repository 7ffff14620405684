"""How processes of the agent are started, and which ones they have started themselves."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


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
