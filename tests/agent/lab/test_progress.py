"""The progress of long commands: counts and the time left."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from agent.lab import progress
from agent.lab.progress import Pace, Progress, shown_progress


def test_what_was_known_before_counts_but_took_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 3 of 12 known, one more that took 10 s leaves 80 s for the other eight, not 27."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    pace = Pace(12, 3)
    assert pace.seconds_left is None
    now[0] += 10
    pace.reaches(4)
    assert pace.seconds_left == 80


def test_a_resumed_series_counts_from_what_it_knows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lines and the bar on a terminal begin with 3 of 12."""
    lines = Progress()
    lines.begins("matches", 12, 3)
    lines.advances("a match")
    assert capsys.readouterr().out.startswith("4/12  a match  (")
    screen = io.StringIO()
    monkeypatch.setattr(progress, "shows_progress", lambda: True)
    monkeypatch.setattr(progress, "console", lambda stderr: Console(file=screen, force_terminal=True, width=100))
    with shown_progress() as shown:
        shown.begins("matches", 12, 3)
        shown._bar.refresh()  # type: ignore[union-attr]
        assert " 3/12" in screen.getvalue()
        shown.advances("a match")
        shown._bar.refresh()  # type: ignore[union-attr]
    assert " 4/12" in screen.getvalue()
    assert " left" in screen.getvalue()
