"""Memory prefetch."""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits.prefetch import prefetch


@njit(cache=True)
def sum_ahead(values):
    """The sum of float64[rows, columns]; each number is prefetched three places ahead, also beyond the end."""
    total = 0.0
    for i in range(values.size):
        prefetch(values, np.int64(i + 3))
        total += values[i // values.shape[1], i % values.shape[1]]
    return total


def test_prefetching_changes_nothing() -> None:
    """Neither the array nor its sum changes, and prefetching beyond the end does no harm."""
    values = np.arange(12.0).reshape(3, 4)
    assert sum_ahead(values) == 66.0
    assert values.ravel().tolist() == list(range(12))
