"""A short soak: a few matches, with faults, against a real server."""

from __future__ import annotations

import json

from agent.measuring.soak import SoakOptions, SoakReport, soak


def test_matches_survive_faults() -> None:
    """Every match is hit by a fault; no move is illegal. Clocks are long enough for any machine: turns of this game are
    answered as soon as they are proven."""
    heard: list[int] = []
    options = SoakOptions(
        games=("tic_tac_toe",), turns=30, seconds=400.0, at_once=2, start_clock=60, play_clock=60, faults=1.0, seed=3
    )
    report = soak(options, lambda report: heard.append(report.matches))
    assert report.turns >= 30
    assert report.illegal == 0, report.illegal_moves
    assert report.late == 0
    assert report.faults
    assert heard
    assert json.loads(json.dumps(report.as_json()))["turns"] == report.turns


def test_figures_of_a_report() -> None:
    """Quantiles of how late replies left, and the longest outage."""
    report = SoakReport(turns=4, lateness=[0.3, 0.1, 0.2, 0.4], outages=[0.5, 0.25], memory=[10, 12])
    figures = report.as_json()
    assert figures["lateness"] == {"median": 0.3, "99%": 0.4, "99.9%": 0.4, "max": 0.4}
    assert figures["outages"] == {"count": 2, "longest": 0.5}
    assert figures["memory"] == {"first": 10, "last": 12}
    assert SoakReport().as_json()["memory"] is None
