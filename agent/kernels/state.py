"""What the kernel cache says of each group: whether it is complete, who is compiling it, and how far they are.

Beside the kernels lie, for each group, a file of progress and a lock. The lock is held by the process that compiles
the group, and is free again when that process ends, however it ends.
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

import games

assert games, "its import says where the kernel cache is"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the compilation of a group is."""

    toolchain: str = ""
    """What compiled it, and for which processor."""
    compiled: int = 0
    """Specialisations of kernels that were compiled so far."""
    latest: str = ""
    """The kernel that was finished last."""
    complete: bool = False


def folder() -> Path:
    """The kernel cache of this process."""
    return Path(os.environ["NUMBA_CACHE_DIR"])


@cache
def toolchain() -> str:
    """What compiled kernels depend on beside their sources: Numba keeps them apart by the same."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        text = ""
    processor = sorted(set(re.findall(r"^(?:model name|flags|Features)\s*:.*$", text, re.MULTILINE)))
    chosen = [os.environ.get(name, "") for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")]
    digest = hashlib.sha256("\n".join([platform.machine(), *processor, *chosen]).encode()).hexdigest()
    return f"numba {version('numba')}, llvmlite {version('llvmlite')}, processor {digest[:16]}"


def read(group: str) -> Progress:
    """How far the group is; nothing is known where there is no file, or a damaged one, or another compiler's."""
    try:
        known = Progress(**json.loads(_path(group).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return Progress()
    return known if known.toolchain == toolchain() else Progress()


def write(group: str, progress: Progress) -> None:
    """Tells other processes; readers see the old state or the new one, never half of it. Raises `OSError`."""
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
    """Holds the group's lock; yields whether it could be had at once. Raises `OSError`."""
    folder().mkdir(parents=True, exist_ok=True)
    with open(folder() / f"{group}.lock", "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def claimed(group: str) -> bool:
    """Whether some process is compiling the group. Raises `OSError`."""
    with claim(group) as free:
        return not free


def _path(group: str) -> Path:
    return folder() / f"{group}.json"
