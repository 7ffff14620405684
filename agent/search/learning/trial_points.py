"""How a series of matches went, for those who play it and for those who keep it."""

from __future__ import annotations

from typing import NamedTuple


class Tally(NamedTuple):
    """What one side got in matches, as it is kept for later ones."""

    points: float = 0.0
    """0..1 for each match."""
    matches: int = 0


NO_MATCHES = Tally()
