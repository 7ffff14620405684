"""The folder of compiled kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from games import kernel_cache

ROOT = Path(__file__).resolve().parents[2]
SHOW = "import games, os; print(os.environ['NUMBA_CACHE_DIR'])"


def cache_folder(root: Path, environment: dict[str, str]) -> str:
    """The folder that a fresh interpreter uses for the packages below `root`."""
    result = subprocess.run([sys.executable, "-c", SHOW], cwd=root, env=environment, capture_output=True, check=True)
    return result.stdout.decode().strip()


def test_other_sources_have_another_folder(tmp_path: Path) -> None:
    """A change in any module changes the folder, also for a process whose parent ran the old sources."""
    (tmp_path / "games").mkdir()
    for name in ("__init__.py", "kernel_cache.py"):
        (tmp_path / "games" / name).write_bytes((ROOT / "games" / name).read_bytes())
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    before = cache_folder(tmp_path, environment)
    assert before == cache_folder(tmp_path, environment)
    (tmp_path / "games" / "more.py").write_text("CHANGED = True\n")
    after = cache_folder(tmp_path, {**environment, "NUMBA_CACHE_DIR": before})
    assert after != before
    assert Path(after).parent == Path(before).parent == tmp_path / "games" / "__pycache__" / "kernels"


def test_a_folder_of_the_users_is_left_alone(tmp_path: Path) -> None:
    """A folder set in NUMBA_CACHE_DIR is used."""
    assert cache_folder(ROOT, {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}) == str(tmp_path)


def test_folder_that_cannot_be_written_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are kept in the next place, and a line says so in the process whose user chose the folder."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "chosen" / "kernels"))
    monkeypatch.setattr(kernel_cache, "_places", lambda: ([tmp_path / "file", tmp_path / "own"], []))
    monkeypatch.setattr(kernel_cache, "notice", "")
    monkeypatch.setattr(numba.config, "CACHE_DIR", numba.config.CACHE_DIR)
    kernel_cache.use_versioned_cache()
    assert kernel_cache.cache_folder() == tmp_path / "own" / kernel_cache.sources_digest()
    assert "chosen/kernels cannot be written: compiled kernels are kept in" in kernel_cache.notice
    monkeypatch.setattr(kernel_cache, "notice", "")
    kernel_cache.use_versioned_cache()
    assert kernel_cache.cache_folder() == tmp_path / "own" / kernel_cache.sources_digest()
    assert kernel_cache.notice == ""


def test_folder_with_files_of_another_user_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be written, as one left by root, makes the whole folder useless."""
    (tmp_path / "lock").touch()
    assert kernel_cache._writable(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: path.name != "lock")
    assert not kernel_cache._writable(tmp_path)


def test_kernels_are_not_taken_from_everybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among everyone's files, a folder must be the user's own and closed to others: kernels are programs."""
    assert kernel_cache._is_private(tmp_path / "new")
    (tmp_path / "link").symlink_to(tmp_path / "new")
    assert not kernel_cache._is_private(tmp_path / "link")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o770)
    assert not kernel_cache._is_private(tmp_path / "open")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert not kernel_cache._is_private(tmp_path / "new")


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
