"""Matches made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agent.lab.appraisal.match import PlayedMatch

WON = PlayedMatch(
    number=1,
    opening=0,
    plies=4,
    outcome="finished",
    goals=(100, 0),
    lowest=(0, 0),
    highest=(100, 100),
    choices=((3, 1), (1, 2), (2, 1), (1, 1)),
    values=((50, 50), (60, 40), (40, 60), (90, 10)),
    covered=0.5,
)
"""The first role wins, after the second one was ahead."""


def match(**changes: Any) -> PlayedMatch:
    """Returns `WON` with changes."""
    return replace(WON, **changes)


DRAWN = match(goals=(50, 50))
LOST = match(goals=(0, 100))
ENDLESS = match(outcome="endless", goals=(), plies=300)
