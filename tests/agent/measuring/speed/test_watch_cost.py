"""What `ggp-agent bench --watch` makes of what it measures, and a run of it."""

from __future__ import annotations

import pytest

from agent.cli import main
from agent.commands.options import WRONG_INPUT
from agent.measuring.speed import watch_cost
from agent.measuring.speed.watch_cost import bench_watch, interval


def test_interval_of_the_median() -> None:
    """Its ranks are those of a table of the binomial distribution (n = 20: the 6th and the 15th value)."""
    assert interval([*range(20, 0, -1)]) == (6, 15)
    assert interval([3.0, 1.0, 2.0]) == (1.0, 3.0)


def test_pages_are_compared_with_none(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Two pairs of a real match, whose pages are drawn."""
    monkeypatch.setattr(watch_cost, "START_CLOCK", 1)
    result = bench_watch(["connect_four"], 0.5, pairs=2)
    (row,) = result["rows"]  # type: ignore[misc]
    assert row["game"] == "connect_four"
    assert row["pairs"] == 2
    assert row["low"] <= row["ratio"] <= row["high"]
    assert "connect_four" in capsys.readouterr().out


def test_it_needs_a_sheet(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--watch"]) == WRONG_INPUT
    assert main(["bench", "--browser", "tic_tac_toe"]) == WRONG_INPUT
    assert main(["bench", "--watch", "--search", "tic_tac_toe"]) == WRONG_INPUT
    assert "--watch" in capsys.readouterr().err
