"""The installed program in places that are not its own: folders, users and streams of others."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

STRANGER = 54321
"""Id of a user without an entry."""

SCRIPT = f"""#!{sys.executable}
import sys
from agent.cli import main
if __name__ == "__main__":
    sys.exit(main())
"""
"""What pip installs as `ggp-agent`."""

TRAPS = ("agent.py", "protocol.py", "games/__init__.py", "multiprocessing.py", "random.py", "numba.py", "signal.py")
"""Files of a user's own, with names of modules that the program imports."""

TRAP = "open({!r}, 'a').close()\nraise ImportError('of the current folder')\n"


@contextmanager
def folder_for_all() -> Iterator[Path]:
    """A folder that all users may enter and write: pytest's own are for one."""
    with tempfile.TemporaryDirectory(prefix="ggp-agent-test-") as name:
        os.chmod(name, 0o777)
        yield Path(name)


def installed(folder: Path) -> str:
    """Installs the program there, and returns it."""
    program = folder / "ggp-agent"
    program.write_text(SCRIPT)
    program.chmod(0o755)
    return str(program)


def trapped(folder: Path) -> Path:
    """Puts modules into a folder that must not be imported; returns the file that tells that one was."""
    fallen = folder / "imported"
    for name in TRAPS:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(TRAP.format(str(fallen)))
    return fallen


def environment(**changed: str | None) -> dict[str, str]:
    """This process's environment, in which the packages are installed, with changes; None removes."""
    values = {**os.environ, "PYTHONPATH": str(ROOT), **changed}
    values.pop("PYTHONSAFEPATH", None)
    return {name: value for name, value in values.items() if value is not None}


@functools.cache
def as_stranger() -> tuple[str, ...]:
    """The words before a command of a user without an entry; skips the test where this user cannot start one.

    The user may read what root may, where that is possible: Python may be in root's home.
    """
    user = ("setpriv", "--reuid", str(STRANGER), "--regid", str(STRANGER), "--clear-groups")
    for reading in (("--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"), ()):
        command = (*user, *reading, sys.executable, "-c", "pass")
        if os.getuid() == 0 and shutil.which("setpriv") and subprocess.run(command, stderr=-3).returncode == 0:
            return (*user, *reading)
    pytest.skip("needs another user")


def give_to_stranger(folder: Path) -> None:
    """Makes a folder, with all that is in it, the other user's alone."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, STRANGER, STRANGER)
    folder.chmod(0o700)
