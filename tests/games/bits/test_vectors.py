"""Gates and sums of rows against NumPy and Python integers."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from games.bits.vectors import FLOATS, gate, sum_byte_rows, sum_rows
from games.bits.words import aligned_words

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(cache=True)
def run_gates(slots, inputs, out, flip, width):
    """One gate of each arity 1..8, all reading from `inputs[1]` on, at slots from `out` on."""
    gate(slots, inputs, 1, out, flip, 1, width)
    gate(slots, inputs, 1, out + 1, flip, 2, width)
    gate(slots, inputs, 1, out + 2, flip, 3, width)
    gate(slots, inputs, 1, out + 3, flip, 4, width)
    gate(slots, inputs, 1, out + 4, flip, 5, width)
    gate(slots, inputs, 1, out + 5, flip, 6, width)
    gate(slots, inputs, 1, out + 6, flip, 7, width)
    gate(slots, inputs, 1, out + 7, flip, 8, width)


@njit(cache=True)
def run_sum_byte_rows(ones, twos, rows, sums):
    """Rows of 8 words."""
    for i in range(len(ones)):
        sum_byte_rows(ones[i], twos[i], rows, sums[i], 8)


@njit(cache=True)
def run_sum_rows(rows, bias, active, n, target):
    """All arrays contiguous."""
    sum_rows(rows.ctypes.data, bias.ctypes.data, active.ctypes.data, n, target.ctypes.data)


def plain_gate(slots: NDArray[np.uint64], inputs: list[int], flip: int) -> NDArray[np.uint64]:
    """The twin of `gate`: the words (W) of its slot, from `slots` (n, W)."""
    return reduce(np.bitwise_and, slots[inputs]) ^ np.uint64(flip)


def plain_sum_byte_rows(ones: int, twos: int, rows: NDArray[np.uint64]) -> list[int]:
    """The twin of `sum_byte_rows`."""
    total = [0] * rows.shape[1]
    for word, factor in ((ones, 1), (twos, 2)):
        for byte in range(8):
            row = rows[256 * byte + (word >> 8 * byte & 255)]
            total = [(old + factor * int(new)) % (1 << 64) for old, new in zip(total, row, strict=True)]
    return total


def plain_sum_rows(rows: NDArray[np.float32], bias: NDArray[np.float32], active: list[int]) -> NDArray[np.float32]:
    """The twin of `sum_rows`."""
    total = bias.copy()
    for row in active:
        total += rows[row]
    return total


@pytest.mark.parametrize("flip", [0, int(ALL)])
@pytest.mark.parametrize("width", [1, 8])
def test_gates_of_every_arity(width: int, flip: int) -> None:
    """The conjunction of the slots listed, negated or not, one word wide and eight."""
    rng = np.random.default_rng(width)
    slots = aligned_words(40 * width)
    # Mostly ones, or wide conjunctions are all zero.
    slots[:] = rng.integers(0, 1 << 64, (4, 40 * width), np.uint64).max(axis=0) | np.uint64(0xF0F0F0F0F0F0F0F0)
    slots[:width] = ALL
    inputs = np.array([39, 3, 0, 30, 7, 7, 1, 12, 25], np.int32)
    run_gates(slots, inputs, 31, np.uint64(flip), (0,) * width)
    rows = slots.reshape(40, width)
    for arity in range(1, 9):
        assert np.array_equal(rows[30 + arity], plain_gate(rows, inputs[1 : 1 + arity].tolist(), flip))


def test_sums_rows_chosen_by_bytes() -> None:
    """The second word counts twice; words wrap round."""
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 1 << 64, (8 * 256, 8), np.uint64)
    ones, twos = rng.integers(0, 1 << 64, (2, 50), np.uint64)
    ones[:3], twos[:3] = (0, ALL, 0), (0, 0, ALL)
    sums = np.zeros((50, 8), np.uint64)
    run_sum_byte_rows(ones, twos, rows, sums)
    for i in range(50):
        assert sums[i].tolist() == plain_sum_byte_rows(int(ones[i]), int(twos[i]), rows)


@pytest.mark.parametrize("n", [0, 1, 7])
def test_sums_listed_rows(n: int) -> None:
    """The bias and the first n rows listed, also where a row is listed twice."""
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(20, FLOATS)).astype(np.float32)
    bias = rng.normal(size=FLOATS).astype(np.float32)
    active = np.array([3, 19, 0, 3, 8, 9, 11, 1], np.int32)
    target = np.zeros(FLOATS, np.float32)
    run_sum_rows(rows, bias, active, n, target)
    assert np.array_equal(target, plain_sum_rows(rows, bias, active[:n].tolist()))
