"""State of each group in the kernel cache: complete, being compiled, or missing.

Each group has a file of progress and a lock beside the kernels. The process that compiles the group holds the lock,
which the system frees when the process ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import re
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from games.kernel_cache import cache_folder


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """BuildProgress in compiling a group."""

    toolchain: str = ""
    """Result of `toolchain()` at the time."""
    compiled: tuple[tuple[str, str, int], ...] = ()
    """Specialisations in order of compilation: kernel, digest of the argument types, IR lines (see
    `meter.Specialisation`)."""
    complete: bool = False

    @property
    def latest(self) -> str:
        """The project's kernel that was finished last, as opposed to Numba's own."""
        return next((name for name, _, _ in reversed(self.compiled) if name.startswith(("agent.", "games."))), "")


@cache
def toolchain() -> str:
    """Returns a text that identifies what compiled kernels depend on beside the sources: compiler and processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        text = ""
    processor = sorted(set(re.findall(r"^(?:model name|flags|Features)\s*:.*$", text, re.MULTILINE)))
    chosen = [os.environ.get(name, "") for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")]
    digest = hashlib.sha256("\n".join([platform.machine(), *processor, *chosen]).encode()).hexdigest()
    return f"numba {version('numba')}, llvmlite {version('llvmlite')}, processor {digest[:16]}"


def forget(group: str) -> None:
    """Removes the group's progress file. Raises `OSError`."""
    _path(group).unlink(missing_ok=True)


def read(group: str) -> BuildProgress:
    """Returns the group's progress; none where the file is missing, damaged, or of another toolchain."""
    try:
        data = json.loads(_path(group).read_text(encoding="utf-8"))
        compiled = tuple((str(name), str(types), int(lines)) for name, types, lines in data["compiled"])
        known = BuildProgress(data["toolchain"], compiled, data["complete"])
    except (OSError, ValueError, TypeError, KeyError):
        return BuildProgress()
    return known if known.toolchain == toolchain() else BuildProgress()


def write(group: str, progress: BuildProgress) -> None:
    """Writes the group's progress atomically. Raises `OSError`."""
    path = _path(group)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(progress), file)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def claim(group: str) -> Iterator[bool]:
    """Tries to hold the group's lock; yields whether it was free. Raises `OSError`."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with open(cache_folder() / f"{group}.lock", "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def claimed(group: str) -> bool:
    """Returns whether a process is compiling the group. Raises `OSError`."""
    with claim(group) as free:
        return not free


def _path(group: str) -> Path:
    return cache_folder() / f"{group}.json"
