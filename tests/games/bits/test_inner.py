"""Kernels that only kernels call."""

from __future__ import annotations

import pytest
from numba import njit

from games.bits.inner import inner_kernel


@inner_kernel(cache=False)
def _twice(number):  # type: ignore[no-untyped-def]
    """Twice the number (int64)."""
    return 2 * number


@njit
def _four_times(number):  # type: ignore[no-untyped-def]
    """Four times the number (int64)."""
    return _twice(_twice(number))


def test_only_kernels_call_them() -> None:
    """A kernel gets the result, Python an error instead of a crash."""
    assert _four_times(3) == 12
    with pytest.raises(TypeError, match="only kernels can call _twice"):
        _twice(3)
    assert _twice.py_func(3) == 6
