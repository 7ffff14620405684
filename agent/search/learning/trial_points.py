"""Result of a series of matches, for those who play it and those who store it."""

from __future__ import annotations

from typing import NamedTuple


class Tally(NamedTuple):
    """Points of one side in a number of matches."""

    points: float = 0.0
    """0..1 for each match."""
    matches: int = 0


NO_MATCHES = Tally()
