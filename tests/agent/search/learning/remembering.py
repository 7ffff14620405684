"""An entry of the memory of earlier matches, for tests."""

from __future__ import annotations

import numpy as np

from agent.search.evaluation.network import MOVERS
from agent.search.learning.memory import MemoryEntry, Positions
from agent.search.learning.trial_points import TrialPoints

DIGESTS = [f"{number:040x}" for number in range(1, 9)]


def entry(weight: float = 0.25, weights: int = 3) -> MemoryEntry:
    """An entry with that many weights."""
    positions = Positions((5 << 40, 1, 2 << 60), b"\x07\x02", b"\x01\x02", b"\xff\xff\x00\x10", 3)
    return MemoryEntry(
        {key << 40: np.float32(weight).tobytes() for key in range(weights)},
        bytes(4),
        np.full(MOVERS, -0.5, np.float32).tobytes(),
        4,
        700,
        TrialPoints(2.5, 4),
        positions,
    )
