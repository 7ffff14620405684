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

from games.kernel_cache import cache_folder, sources_digest


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the compilation of a group is."""

    toolchain: str = ""
    """Of what, by what and for which processor it is compiled."""
    compiled: tuple[tuple[str, str, int], ...] = ()
    """What was compiled so far, in this order: name of the kernel, digest of the types of its arguments, IR lines (see
    `meter.Specialisation`)."""
    complete: bool = False

    @property
    def latest(self) -> str:
        """The kernel of ours that was finished last; Numba's own are compiled on the way."""
        return next((name for name, _, _ in reversed(self.compiled) if name.startswith(("agent.", "games."))), "")


@cache
def toolchain() -> str:
    """What compiled kernels depend on: their sources, what compiles them, and for which processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        text = ""
    processor = sorted(set(re.findall(r"^(?:model name|flags|Features)\s*:.*$", text, re.MULTILINE)))
    chosen = [os.environ.get(name, "") for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")]
    digest = hashlib.sha256("\n".join([platform.machine(), *processor, *chosen]).encode()).hexdigest()
    versions = f"numba {version('numba')}, llvmlite {version('llvmlite')}"
    return f"sources {sources_digest()}, {versions}, processor {digest[:16]}"


def forget(group: str) -> None:
    """Notes that nothing of the group is compiled. Raises `OSError`."""
    _path(group).unlink(missing_ok=True)


def read(group: str) -> Progress:
    """How far the group is; nothing is known where there is no file, or a damaged one, or another compiler's."""
    try:
        data = json.loads(_path(group).read_text(encoding="utf-8"))
        compiled = tuple((str(name), str(types), int(lines)) for name, types, lines in data["compiled"])
        known = Progress(data["toolchain"], compiled, data["complete"])
    except (OSError, ValueError, TypeError, KeyError):
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
    cache_folder().mkdir(parents=True, exist_ok=True)
    with open(cache_folder() / f"{group}.lock", "wb") as file:
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
    return cache_folder() / f"{group}.json"
