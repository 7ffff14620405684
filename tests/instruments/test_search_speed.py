"""Playouts per second of the tree search."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.commands.options import OK
from tests.instruments import search_speed
from tests.instruments.__main__ import instrument
from tests.processes import until


class Clock:
    """Shows 9 s more at each look."""

    now = -9.0

    def monotonic(self) -> float:
        self.now += 9.0
        return self.now


class Slowing:
    """A search without end, of 100 playouts a second until 18 s, and 10 from then on."""

    machine = SimpleNamespace(initial=lambda: b"")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def begin(self, state: object) -> None:
        """Nothing to prepare."""

    def think(self, stop: NDArray[np.uint8], *_: object) -> None:
        until(lambda: bool(stop[0]))

    @property
    def playouts(self) -> float:
        return 100 * min(self._clock.now, 18.0) + 10 * max(self._clock.now - 18.0, 0.0)


def test_late_playouts_are_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Early ones are those since the beginning, late ones those of the last window."""
    clock: Any = Clock()
    monkeypatch.setattr(search_speed, "time", clock)
    engine: Any = Slowing(clock)
    assert search_speed._speeds(engine) == (100.0, 10.0, False)


def test_the_tree_is_measured_until_a_game_is_solved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Raw playouts, and a tree until it is solved, on one core and, if there are two, on two."""
    result = tmp_path / "speed.json"
    assert instrument(["search-speed", "tic_tac_toe", "--seconds", "0.1", "--json", str(result)]) == OK
    (row,) = json.loads(result.read_text())["rows"]
    assert row["game"] == "tic_tac_toe"
    assert row["solved"]
    assert row["raw_playouts_per_s"] > 0
    assert (row["search_playouts_per_s_two_cores"] is not None) == (len(os.sched_getaffinity(0)) > 1)
    assert "solved" in capsys.readouterr().out
