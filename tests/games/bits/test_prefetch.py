"""Memory prefetch."""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits.prefetch import prefetch


@njit
def sum_ahead(values):
    """The sum of float64[rows, columns]; each number is prefetched three places ahead, also beyond the end."""
    total = 0.0
    for i in range(values.size):
        prefetch(values, np.int64(i + 3))
        total += values[i // values.shape[1], i % values.shape[1]]
    return total


def test_prefetching_is_compiled_and_changes_nothing() -> None:
    """An instruction that reads ahead; beyond the end it does no harm."""
    assert sum_ahead(np.arange(12.0).reshape(3, 4)) == 66.0
    (code,) = sum_ahead.inspect_llvm().values()
    assert "call void @llvm.prefetch" in code
