"""An entry of the memory of earlier matches, for tests."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from agent.search.evaluation.network import MOVERS
from agent.search.learning.memory import MemoryEntry

DIGESTS = [f"{number:040x}" for number in range(1, 9)]


def entry(weight: float = 0.25, weights: int = 3) -> MemoryEntry:
    """An entry with that many weights."""
    return MemoryEntry(
        np.arange(weights, dtype=np.uint64) << np.uint64(40),
        np.full((weights, 1), weight, np.float32),
        np.zeros(1, np.float32),
        np.full((MOVERS, 1), -0.5, np.float32),
        np.array([4, 700, 4, 3]),
        np.array(2.5),
        np.array([5 << 40, 1, 2 << 60], np.uint64),
        np.array([[7], [2]], np.uint8),
        np.array([1, 2], np.uint8),
        np.array([65535, 4096], np.uint16),
    )


def same(one: MemoryEntry | None, other: MemoryEntry | None) -> bool:
    """Whether two entries are equal."""
    if one is None or other is None:
        return one is other
    pairs = zip(asdict(one).values(), asdict(other).values(), strict=True)
    return all(np.array_equal(array, another) for array, another in pairs)
