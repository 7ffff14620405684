"""Result of a series of trial matches."""

from __future__ import annotations

from typing import NamedTuple


class TrialPoints(NamedTuple):
    """Points of one side in a number of matches."""

    points: float = 0.0
    """0..1 for each match."""
    matches: int = 0


NO_MATCHES = TrialPoints()
