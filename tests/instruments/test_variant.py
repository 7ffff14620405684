"""Matches of a variant of this checkout against the checkout: what they tell, and that they are played."""

from __future__ import annotations

import csv
import random
import subprocess
from pathlib import Path

import pytest

from agent.commands.options import OK, WRONG_INPUT
from agent.errors import InputError
from agent.sheet import load
from tests.instruments.__main__ import instrument
from tests.instruments.variant import CERTAINTY, CHECKOUT, BoutResult, SeriesResults, patched, schedule, verdict

BOUNDS = 0.45, 0.5


def played(share: float, openings: int) -> list[BoutResult]:
    """Two matches of each opening, with about that share of the points for the variant."""
    chance = random.Random(1)
    return [
        BoutResult("game", number, role, float(chance.random() < share), 30, 0.1)
        for number in range(openings)
        for role in (0, 1)
    ]


def test_test_decides_between_its_bounds() -> None:
    """It does not for few matches, nor for a share between them."""
    assert verdict(played(0.3, 100), BOUNDS).ratio < -CERTAINTY
    assert verdict(played(0.7, 100), BOUNDS).ratio > CERTAINTY
    assert abs(verdict(played(0.475, 100), BOUNDS).ratio) < CERTAINTY
    assert verdict(played(0.0, 5), BOUNDS).ratio == 0.0


def test_pairs_that_are_always_split_decide_soon() -> None:
    """Where the same role always wins, matches vary, openings do not."""
    split = [BoutResult("game", number, role, float(role), 30, 0.1) for number in range(40) for role in (0, 1)]
    found = verdict(split, (0.3, 0.4))
    assert found.share == 0.5
    assert found.ratio > CERTAINTY


def test_each_opening_is_played_in_every_role() -> None:
    """The variant takes one role at a time, nature's never."""
    sheets = {name: load(name) for name in ("tic_tac_toe", "three_way_line")}
    bouts = [(bout.game, bout.opening, bout.role) for bout in schedule(sheets, 2)]
    assert bouts[:5] == [
        ("tic_tac_toe", 1, 0),
        ("tic_tac_toe", 1, 1),
        *(("three_way_line", 1, role) for role in range(3)),
    ]
    assert len(set(bouts)) == len(bouts) == 10


def test_matches_are_played_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A second run plays what the file of results lacks; a constant that the variant lacks is told."""
    results = tmp_path / "results.csv"
    arguments = ["variant", "tic_tac_toe", "--engine", "agent:50", "--plies", "2", "--jobs", "1", "--csv", str(results)]
    assert instrument([*arguments, "--openings", "1", "--set", "agent.search.montecarlo.STEP=1"]) == WRONG_INPUT
    assert "agent.search.montecarlo has no STEP" in capfd.readouterr().err
    assert not results.exists()
    assert instrument([*arguments, "--openings", "1"]) == OK
    assert [line.partition(":")[0] for line in capfd.readouterr().out.splitlines()[:-2]] == [
        "tic_tac_toe 1.0",
        "tic_tac_toe 1.1",
    ]
    assert instrument([*arguments, "--openings", "2"]) == OK
    assert capfd.readouterr().out.startswith("tic_tac_toe 2.0: ")
    with results.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["opening"], row["role"]) for row in rows] == [("1", "0"), ("1", "1"), ("2", "0"), ("2", "1")]
    assert all(float(row["share"]) in (0.0, 0.5, 1.0) for row in rows)


def test_other_files_are_no_results(tmp_path: Path) -> None:
    """They are refused before a match is played."""
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no results of this instrument"):
        SeriesResults(tmp_path / "other.csv")


def test_a_patch_makes_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept, with its kernels, for the next series; a patch that does not apply is refused."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    patch = tmp_path / "other.patch"
    new = subprocess.run(
        ["git", "diff", "--no-index", "--src-prefix=a/", "--dst-prefix=b/", "README.md", "/dev/null"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    patch.write_text(new.stdout)
    folder = patched(patch)
    assert (folder / "agent" / "sheet.py").read_text() == (CHECKOUT / "agent" / "sheet.py").read_text()
    assert not (folder / "README.md").exists()
    assert patched(patch) == folder
    patch.write_text(new.stdout.replace("README.md", "README.txt"))
    with pytest.raises(InputError, match="No such file"):
        patched(patch)
