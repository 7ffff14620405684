"""The code of docs/library.md does what the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agent.commands import INLINE_TOURNAMENT

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The pieces of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What all pieces together have defined, in the order of the page."""
    found: dict[str, Any] = {}
    for number, code in enumerate(blocks("python")):
        exec(compile(code, f"docs/library.md, piece {number}", "exec"), found)
    return found


def test_stepping(names: dict[str, Any]) -> None:
    """A whole match."""
    assert names["machine"].terminal(names["state"])
    assert sorted(names["goals"]) == [0, 100]


def test_arrays(names: dict[str, Any]) -> None:
    """Shapes and dtypes are as the page says, and both ways to count agree on how good it is to begin."""
    assert names["mean_goals"].dtype == np.float64
    assert names["mean_goals"].shape == (2,)
    assert names["mean_goals"].sum() == pytest.approx(100.0)
    goals = names["goals_at_the_end"]
    assert goals.dtype == np.float64
    assert goals.shape == (1000, 2)
    assert goals.mean(axis=0) == pytest.approx(names["mean_goals"], abs=10.0)
    facts, machine = names["facts"], names["machine"]
    first = {machine.game.fluents[i] for i in np.flatnonzero(facts[0])}
    assert first | set(machine.game.always) == set(machine.facts(machine.initial()))


def test_environment(names: dict[str, Any]) -> None:
    """The match of the page has ended."""
    assert names["environment"].agents == []
    assert names["done"]


@pytest.mark.e2e
def test_engine_of_an_installed_package(tmp_path: Path) -> None:
    """It is found by its entry point, by tournaments as well as by what plays matches."""
    code = next(block for block in blocks("python") if "class Guess" in block)
    (entry,) = blocks("toml")
    (tmp_path / "my_package.py").write_text(code)
    information = tmp_path / "my_package-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    group = re.search(r'entry-points\."(.*)"', entry)
    assert group is not None
    lines = entry.splitlines()[1:]
    (information / "entry_points.txt").write_text(
        "\n".join([f"[{group[1]}]", *(line.replace('"', "") for line in lines)])
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    result = tmp_path / "result.json"
    first = (
        "from agent.sheet import load; from agent.search.registry import engines_for; "
        "print(next(engines_for(load('tic_tac_toe').machine(), 0)).name); sys.exit(status)"
    )
    command = [sys.executable, "-c", INLINE_TOURNAMENT + first, "tic_tac_toe", "--players", "guess@0.2,legal", "--json"]
    done = subprocess.run([*command, str(result)], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {line["player"]: line["errors"] for line in json.loads(result.read_text())["table"]} == {
        "guess@0.2": {},
        "legal": {},
    }
    assert done.stdout.splitlines()[-1] == "guess"


def test_the_first_lines_of_the_readme() -> None:
    """They run, and who begins breakthrough at random wins a little more often."""
    (code,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.DOTALL)
    found: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), found)
    assert len(code.splitlines()) <= 10
    assert 50 < found["playouts"].goal_sums[0] / found["playouts"].playouts < 60
