"""The folder of compiled kernels: one per version of the sources.

To tell whether cached code is stale, Numba looks only at the kernel's own file: a kernel whose callee in another file
changed would keep the old code. So the folder's name is a digest of all sources.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

KEPT_VERSIONS = 3
"""Number of other versions' folders kept, the newest; older ones are removed."""

_VARIABLE = "NUMBA_CACHE_DIR"


notice = ""
"""A line for the user of a process that cannot keep kernels in the usual place; empty in its children."""


def use_versioned_cache() -> None:
    """Makes Numba keep its cache in the first of `_places` that is writable; without any, kernels live in memory only.

    Must run before the first kernel is defined. A writable folder set by the user (NUMBA_CACHE_DIR) is left alone.
    """
    global notice
    chosen = os.environ.get(_VARIABLE)
    usual, temporary = _places()
    # A folder below ours, or the empty text for none, comes from a parent process, perhaps with other sources.
    inherited = chosen is not None and (not chosen or Path(chosen).parent in usual + temporary)
    if chosen and not inherited and _writable(Path(chosen)):
        return
    digest = sources_digest()
    places = (place for place in usual + temporary if place in usual or _is_private(place))
    found = next((place / digest for place in places if _writable(place / digest)), None)
    if found is not None:
        _remove_old(found)
    else:
        _keep_nothing()
    os.environ[_VARIABLE] = folder = str(found or "")
    numba = sys.modules.get("numba")
    if numba is not None:
        numba.config.CACHE_DIR = folder
    if not inherited and (chosen or found is None or found.parent in temporary):
        missed = f"{_VARIABLE}={chosen} cannot" if chosen else "no folder of this installation or of this user can"
        instead = f"are kept in {folder}" if folder else "stay in memory, and every process compiles its own"
        notice = f"{missed} be written: compiled kernels {instead}"


def is_kept() -> bool:
    """Whether compiled kernels are kept for other processes; call after `use_versioned_cache`."""
    return bool(os.environ[_VARIABLE])


def cache_folder() -> Path:
    """This process's kernel cache; call after `use_versioned_cache`. Raises `OSError` if there is none."""
    if not is_kept():
        raise FileNotFoundError("no folder for compiled kernels can be written")
    return Path(os.environ[_VARIABLE])


def sources_digest() -> str:
    """A digest of the sources of all kernels."""
    here = Path(__file__).resolve().parent
    digest = hashlib.sha256()
    for package in (here, here.parent / "agent"):
        for path in sorted(package.rglob("*.py")):
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _places() -> tuple[list[Path], list[Path]]:
    """Folders for the cache, best first: beside this package or in the user's cache; among temporary files."""
    usual = [Path(__file__).resolve().parent / "__pycache__" / "kernels"]
    # A user may have no home.
    with contextlib.suppress(RuntimeError):
        cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
        cache = cache if cache.is_absolute() else Path.home() / ".cache"
        if cache.is_absolute():
            usual.append(cache / "ggp-agent" / "kernels")
    temporary = (os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp", "/dev/shm")
    return usual, [Path(folder) / f"ggp-agent-{os.getuid()}" for folder in temporary if os.path.isabs(folder)]


def _writable(folder: Path) -> bool:
    """Whether this user can write in a folder, which is created, and on all that is in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            # On a full disk, only the empty file is possible.
            file.write(b"0")
        return all(os.access(path, os.W_OK) for path in folder.iterdir())
    except OSError:
        return False


def _is_private(folder: Path) -> bool:
    """Whether a folder among everyone's files, which is created, is this user's alone: kernels are programs."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _keep_nothing() -> None:
    """Makes Numba keep no kernels: by itself, it refuses to define one that it cannot keep."""
    from numba.core.ccallback import CFunc
    from numba.core.dispatcher import Dispatcher

    for kind in (CFunc, Dispatcher):
        setattr(kind, "enable_caching", lambda kernel: None)  # noqa: B010


def _remove_old(current: Path) -> None:
    def age(folder: Path) -> float:
        try:
            return -folder.stat().st_mtime
        except OSError:
            return 0.0

    others = sorted((folder for folder in current.parent.iterdir() if folder != current), key=age)
    for folder in others[KEPT_VERSIONS:]:
        shutil.rmtree(folder, ignore_errors=True)
