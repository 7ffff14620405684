"""The folder of compiled kernels."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest
from numba.core.dispatcher import Dispatcher

import agent.search
import games
from games import kernel_cache

ROOT = Path(__file__).resolve().parents[2]
SHOW = "import games, os; print(os.environ['NUMBA_CACHE_DIR'])"


def cache_folder(root: Path, environment: dict[str, str]) -> str:
    """The folder that a fresh interpreter uses for the packages below `root`."""
    result = subprocess.run([sys.executable, "-c", SHOW], cwd=root, env=environment, capture_output=True, check=True)
    return result.stdout.decode().strip()


@pytest.mark.parametrize("chosen", [None, "chosen"])
def test_other_kernels_have_another_folder(chosen: str | None, tmp_path: Path) -> None:
    """A change in what kernels are made of changes the folder, and no other change does.

    So it is for a folder that the user has chosen, where other files stay, and for a process whose parent ran the old
    sources. Nothing is made in the installation where the folder is elsewhere.
    """
    (tmp_path / "games" / "parts").mkdir(parents=True)
    for name in ("__init__.py", "kernel_cache.py"):
        (tmp_path / "games" / name).write_bytes((ROOT / "games" / name).read_bytes())

    def write(name: str, text: str) -> None:
        (tmp_path / "games" / name).write_text(f'"""Some module."""\n{text}\n')

    write("kernel.py", "from numba import njit\nfrom games.parts import (\n    # Why.\n    callee,\n)")
    write("parts/__init__.py", "")
    write("parts/callee.py", "if True:\n    from games.constant import LIMIT")
    write("constant.py", "LIMIT = 1")
    write("other.py", "import games.kernel")
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    place = tmp_path / "games" / "__pycache__" / "kernels"
    if chosen is not None:
        place = tmp_path / chosen
        (place / "others").mkdir(parents=True)
        environment["NUMBA_CACHE_DIR"] = str(place)
    folders = [cache_folder(tmp_path, environment)]
    write("other.py", "import games.kernel, games.parts")
    assert folders == [cache_folder(tmp_path, environment)]
    for value in range(2, 4 + kernel_cache.KEPT_VERSIONS):
        write("constant.py", f"LIMIT = {value}")
        folders.append(cache_folder(tmp_path, {**environment, "NUMBA_CACHE_DIR": folders[-1]}))
    assert len(set(folders)) == len(folders)
    assert {Path(folder).parent for folder in folders} == {place}
    assert len(list(place.glob("ggp-agent-*"))) == 1 + kernel_cache.KEPT_VERSIONS
    if chosen is not None:
        assert (place / "others").exists()
        assert not (tmp_path / "games" / "__pycache__" / "kernels").exists()


def test_every_kernel_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest covers every module with kernels, and the modules of the functions that these kernels name."""
    covered: set[str] = set()
    monkeypatch.setattr(kernel_cache, "_digest", lambda texts: covered.update(texts) or "")
    kernel_cache.kernels_digest()
    kernels = 0
    for package in (agent.search, games):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for kernel in vars(importlib.import_module(module.name)).values():
                if isinstance(kernel, Dispatcher) and kernel.py_func.__module__.startswith(("agent.", "games.")):
                    kernels += 1
                    named = (kernel.py_func.__globals__.get(name) for name in kernel.py_func.__code__.co_names)
                    modules = {getattr(value, "__module__", None) or "" for value in (kernel.py_func, *named)}
                    assert {name for name in modules if name.startswith(("agent.", "games."))} <= covered
    assert kernels > 100


def test_folder_that_cannot_be_written_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are kept in the next place, and a line says so in the process whose user chose the folder."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "chosen" / "kernels"))
    monkeypatch.setattr(kernel_cache, "_places", lambda: ([tmp_path / "file", tmp_path / "own"], []))
    monkeypatch.setattr(kernel_cache, "notice", "")
    monkeypatch.setattr(numba.config, "CACHE_DIR", numba.config.CACHE_DIR)
    kernel_cache.use_versioned_cache()
    folder = kernel_cache.cache_folder()
    assert folder == tmp_path / "own" / f"ggp-agent-{kernel_cache.kernels_digest()}"
    assert "chosen/kernels cannot be written by this user alone: compiled kernels are kept in" in kernel_cache.notice
    monkeypatch.setattr(kernel_cache, "notice", "")
    kernel_cache.use_versioned_cache()
    assert kernel_cache.cache_folder() == folder
    assert kernel_cache.notice == ""


def test_folder_with_files_of_another_user_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be written, as one left by root, makes the whole folder useless."""
    (tmp_path / "lock").touch()
    assert kernel_cache._writable(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: path.name != "lock")
    assert not kernel_cache._writable(tmp_path)


def test_kernels_are_not_taken_from_everybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among everyone's files, a folder must be the user's own and closed to others: kernels are programs."""
    assert kernel_cache.is_private(tmp_path / "new")
    (tmp_path / "link").symlink_to(tmp_path / "new")
    assert not kernel_cache.is_private(tmp_path / "link")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o770)
    assert not kernel_cache.is_private(tmp_path / "open")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert not kernel_cache.is_private(tmp_path / "new")


def test_chosen_folder_that_others_can_write_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither are kernels in it that others have put there; where only a file's owner can replace it, all may write."""
    name = f"ggp-agent-{kernel_cache.kernels_digest()}"
    monkeypatch.setattr(kernel_cache, "_places", lambda: ([tmp_path / "own"], []))
    monkeypatch.setattr(numba.config, "CACHE_DIR", numba.config.CACHE_DIR)
    chosen = tmp_path / "chosen"
    (chosen / name).mkdir(parents=True)

    def used(mode: int, version_mode: int) -> bool:
        chosen.chmod(mode)
        (chosen / name).chmod(version_mode)
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(chosen))
        monkeypatch.setattr(kernel_cache, "notice", "")
        kernel_cache.use_versioned_cache()
        own = kernel_cache.cache_folder().parent == tmp_path / "own"
        assert own == ("cannot be written by this user alone" in kernel_cache.notice)
        return not own

    assert used(0o755, 0o755)
    assert used(0o775, 0o775)
    assert used(0o1777, 0o755)
    assert not used(0o777, 0o755)
    assert not used(0o1777, 0o777)
    group = os.getegid()
    monkeypatch.setattr(os, "getegid", lambda: group + 1)
    assert not used(0o755, 0o775)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    # But for root's.
    assert used(0o755, 0o755) == (os.getuid() == 0)
    monkeypatch.setattr(Path, "stat", lambda path: SimpleNamespace(st_uid=4711, st_gid=group, st_mode=0o700))
    assert not kernel_cache._is_closed(chosen / name)


NOWHERE = """
import os
from pathlib import Path
from games import kernel_cache
del os.environ["NUMBA_CACHE_DIR"]
kernel_cache._places = lambda: ([Path("/proc/usual")], [Path("/proc/temporary")])
kernel_cache.use_versioned_cache()
print(kernel_cache.notice)
import numpy
from games.bits.splitmix import random64
print(random64(numpy.ones(1, numpy.uint64)), random64.stats.cache_path)
"""


def test_kernels_live_in_memory_where_nothing_can_be_written() -> None:
    """Without any writable folder, kernels are compiled and used all the same."""
    result = subprocess.run([sys.executable, "-c", NOWHERE], cwd=ROOT, capture_output=True, text=True, check=True)
    notice, value = result.stdout.splitlines()
    assert "stay in memory" in notice
    assert value == "10451216379200822465 None"
