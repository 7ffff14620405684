"""Where compiled kernels are kept: one folder per version of the sources.

Numba looks only at the file a kernel stands in to tell whether its cached code is out of date; a kernel whose callee
in another file has changed would go on with the old code. So the folder's name is a digest of all sources.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

KEPT_VERSIONS = 3
"""Folders of other versions that are kept, the newest; older ones are removed. Set by hand; not tuned."""

_VARIABLE = "NUMBA_CACHE_DIR"


def use_versioned_cache() -> None:
    """Makes Numba keep its cache beside this package, or where that cannot be written, in the user's cache folder.

    Has to run before the first kernel is defined. A folder that the user has set (NUMBA_CACHE_DIR) is left alone.
    """
    base = _base_folder()
    chosen = os.environ.get(_VARIABLE)
    # A folder below ours comes from a parent process, whose sources may have been others.
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
    """Where this process keeps its kernels; `use_versioned_cache` has run."""
    return Path(os.environ[_VARIABLE])


def sources_digest() -> str:
    """What tells one version of the sources of all kernels from another."""
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
