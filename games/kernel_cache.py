"""The folder of compiled kernels: one per version of their sources.

To tell whether cached code is stale, Numba looks only at the kernel's own file: a kernel whose callee in another file
changed would keep the old code. So the folder's name has a digest of all that kernels are made of.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from pathlib import Path

KEPT_VERSIONS = 3
"""Number of other versions' folders kept, the newest; older ones are removed."""

_VARIABLE = "NUMBA_CACHE_DIR"

_PREFIX = "ggp-agent-"
_NAME = re.compile(_PREFIX + "[0-9a-f]{16}")
"""Name of a version's folder."""

_DECORATORS = (b"import numba", b"from numba", b"from games.bits")
"""One of them is in every module that defines kernels."""

_IMPORT = re.compile(r"\n *(?:from|import) ([\w.]+)(?: import (\([^)]*\)|.*))?")
"""An import: the module, and the text with the names taken from it."""

notice = ""
"""A line for the user of a process that cannot keep kernels in the usual place; empty in its children."""


def use_versioned_cache() -> None:
    """Makes Numba keep its cache in the first of `_places` that this user alone can write; without any, kernels live in
    memory only.

    Must run before the first kernel is defined. A folder set by the user (NUMBA_CACHE_DIR) comes first.
    """
    global notice
    chosen = os.environ.get(_VARIABLE)
    # A version's folder, or the empty text for none, comes from a parent process, perhaps with other sources.
    inherited = chosen is not None and (not chosen or _NAME.fullmatch(Path(chosen).name) is not None)
    usual, temporary = _places()
    if chosen:
        usual.insert(0, Path(chosen).parent if inherited else Path(chosen))
    wanted = usual[:1] if chosen else usual
    name = _PREFIX + kernels_digest()
    # Kernels are programs.
    places = (place for place in usual + temporary if place not in temporary or is_private(place))
    found = next((place / name for place in places if _writable(place / name) and _is_closed(place / name)), None)
    if found is not None:
        _remove_old(found)
    else:
        _keep_nothing()
    os.environ[_VARIABLE] = folder = str(found or "")
    numba = sys.modules.get("numba")
    if numba is not None:
        numba.config.CACHE_DIR = folder
    if not inherited and (found is None or found.parent not in wanted):
        missed = f"{_VARIABLE}={chosen} cannot" if chosen else "no folder of this installation or of this user can"
        instead = f"are kept in {folder}" if folder else "stay in memory, and every process compiles its own"
        notice = f"{missed} be written by this user alone: compiled kernels {instead}"


def is_kept() -> bool:
    """Whether compiled kernels are kept for other processes; call after `use_versioned_cache`."""
    return bool(os.environ[_VARIABLE])


def cache_folder() -> Path:
    """This process's kernel cache; call after `use_versioned_cache`. Raises `OSError` if there is none."""
    if not is_kept():
        raise FileNotFoundError("no folder for compiled kernels can be written")
    return Path(os.environ[_VARIABLE])


def sources_digest() -> str:
    """A digest of all sources."""
    return _digest(_sources())


def kernels_digest() -> str:
    """A digest of the sources of kernels: the modules that define them, and all that these import of ours.

    Nothing else can change a kernel: what Numba freezes into it (other kernels, functions, constants) it finds by names
    of the kernel's module, which are defined there or imported.
    """
    texts = _sources()
    wanted = [name for name, text in texts.items() if any(decorator in text for decorator in _DECORATORS)]
    found: dict[str, bytes] = {}
    while wanted:
        name = wanted.pop()
        if name in texts and name not in found:
            found[name] = texts[name]
            for module, names in _IMPORT.findall(texts[name].decode()):
                wanted += [module, *(f"{module}.{part}" for part in re.findall(r"\w+", names))]
    return _digest(found)


def _sources() -> dict[str, bytes]:
    """The texts of all modules, by their dotted names."""
    root = Path(__file__).resolve().parents[1]
    paths = (path for package in ("agent", "games") for path in (root / package).rglob("*.py"))
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path.read_bytes()
        for path in paths
    }


def _digest(texts: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, text in sorted(texts.items()):
        digest.update(name.encode() + b"\0" + hashlib.sha256(text).digest())
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


def _is_closed(folder: Path) -> bool:
    """Whether others, but for root, can neither write in a folder nor put another in its place."""
    for path, kept in ((folder, 0), (folder.parent, stat.S_ISVTX)):
        status = path.stat()
        # Where a user's own group may write, as is usual on some systems, it has no other members.
        writers = stat.S_IWOTH if status.st_gid == os.getegid() else stat.S_IWOTH | stat.S_IWGRP
        if status.st_uid not in (0, os.geteuid()) or (status.st_mode & writers and not status.st_mode & kept):
            return False
    return True


def is_private(folder: Path) -> bool:
    """Whether a folder among everyone's files, which is created, is this user's alone, and no link."""
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

    others = [path for path in current.parent.iterdir() if _NAME.fullmatch(path.name) and path != current]
    others.sort(key=age)
    for folder in others[KEPT_VERSIONS:]:
        shutil.rmtree(folder, ignore_errors=True)
