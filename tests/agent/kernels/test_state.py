"""Progress files of kernel groups, and their locks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.kernels import state
from agent.kernels.state import BuildProgress
from games.kernel_cache import cache_folder

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty kernel cache."""
    folder = tmp_path / cache_folder().name
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    return folder


def test_nothing_is_known_of_a_new_cache() -> None:
    assert state.read("tree") == BuildProgress()


def test_what_was_written_is_read() -> None:
    progress = BuildProgress(state.toolchain(), (("games.kernel", "0a", 9), ("numba.other", "0b", 8)), True)
    state.write("tree", progress)
    assert state.read("tree") == progress
    assert state.read("tree").latest == "games.kernel"
    assert state.read("circuit") == BuildProgress()


def test_another_compiler_or_processor_begins_anew() -> None:
    state.write("tree", BuildProgress("numba 0.1", (("games.kernel", "0a", 9),), True))
    assert not state.read("tree").complete


@pytest.mark.parametrize("text", ["", "{", "[]", '{"other": 1}', "\0\xff"])
def test_a_damaged_file_says_nothing(cache: Path, text: str) -> None:
    cache.mkdir()
    (cache / "tree.json").write_text(text, encoding="latin-1")
    assert state.read("tree") == BuildProgress()


def test_a_group_is_claimed_once_and_free_when_its_process_is_gone() -> None:
    code = "from agent.kernels import state\nwith state.claim('tree') as mine: print(mine, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        assert state.claimed("tree")
        assert not state.claimed("circuit")
        process.kill()
    assert not state.claimed("tree")
