"""The folder of compiled kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
