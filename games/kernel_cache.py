"""The folder of compiled kernels: one per version of the sources.

To tell whether cached code is stale, Numba looks only at the kernel's own file: a kernel whose callee in another file
changed would keep the old code. So the folder's name is a digest of all sources.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

KEPT_VERSIONS = 3
"""Number of other versions' folders kept, the newest; older ones are removed."""

_VARIABLE = "NUMBA_CACHE_DIR"


def use_versioned_cache() -> None:
    """Makes Numba keep its cache beside this package or, if that is not writable, in the user's cache folder.

    Must run before the first kernel is defined. A folder set by the user (NUMBA_CACHE_DIR) is left alone.
    """
    base = _base_folder()
    chosen = os.environ.get(_VARIABLE)
    # A folder below ours comes from a parent process, perhaps with other sources.
    if chosen and Path(chosen).parent != base:
        return
    folder = base / sources_digest()
    folder.mkdir(parents=True, exist_ok=True)
    _remove_old(folder)
    os.environ[_VARIABLE] = str(folder)
    numba = sys.modules.get("numba")
    if numba is not None:
        numba.config.CACHE_DIR = str(folder)


def cache_folder() -> Path:
    """This process's kernel cache; call after `use_versioned_cache`."""
    return Path(os.environ[_VARIABLE])


def sources_digest() -> str:
    """A digest of the sources of all kernels."""
    here = Path(__file__).resolve().parent
    digest = hashlib.sha256()
    for package in (here, here.parent / "agent"):
        for path in sorted(package.rglob("*.py")):
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _base_folder() -> Path:
    beside = Path(__file__).resolve().parent / "__pycache__" / "kernels"
    try:
        beside.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=beside):
            return beside
    except OSError:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(cache) / "ggp-agent" / "kernels"


def _remove_old(current: Path) -> None:
    def age(folder: Path) -> float:
        try:
            return -folder.stat().st_mtime
        except OSError:
            return 0.0

    others = sorted((folder for folder in current.parent.iterdir() if folder != current), key=age)
    for folder in others[KEPT_VERSIONS:]:
        shutil.rmtree(folder, ignore_errors=True)
