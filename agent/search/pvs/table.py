"""The transposition table: one NumPy array shared by all threads without locks.

An entry is two words, `(key ^ data, data)`: an entry torn by two threads fails the comparison and is ignored (R. Hyatt,
T. Mann, "A lockless transposition-table implementation for parallel search", 2002). Four entries share a cache line.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.inner import inner_kernel

BUCKET = 4
LOWER, UPPER, EXACT = 1, 2, 3
"""Kinds of values: a lower bound, an upper bound, both."""

_BIAS = 1 << 15
_VALUE, _DEPTH, _KIND, _CHILD, _DATE = (np.uint64(shift) for shift in (0, 16, 24, 32, 48))


def new_table(megabytes: int) -> NDArray[np.uint64]:
    """An empty table (uint64[entries, 2]) of at most that size; the number of entries is a power of two."""
    entries = 1 << max(10, ((megabytes << 20) // 16).bit_length() - 1)
    return np.zeros((entries, 2), np.uint64)


@njit(inline="always")
def value_of(data):
    """The score in an entry's data (uint64), as int64."""
    return np.int64((data >> _VALUE) & np.uint64(0xFFFF)) - _BIAS


@njit(inline="always")
def depth_of(data):
    """The depth in plies of the search that made the entry."""
    return np.int64((data >> _DEPTH) & np.uint64(0xFF))


@njit(inline="always")
def kind_of(data):
    """LOWER, UPPER or EXACT; 0 of no entry."""
    return np.int64((data >> _KIND) & np.uint64(0x3))


@njit(inline="always")
def child_of(data):
    """The index of the best child."""
    return np.int64((data >> _CHILD) & np.uint64(0xFFFF))


@njit(inline="always")
def probe(table, key):
    """The data (uint64) that `table` (uint64[entries, 2]) holds for `key` (uint64), or 0."""
    slot = (key & np.uint64(table.shape[0] - BUCKET)) & ~np.uint64(BUCKET - 1)
    for index in range(BUCKET):
        data = table[slot + np.uint64(index), 1]
        if table[slot + np.uint64(index), 0] ^ data == key and data:
            return data
    return np.uint64(0)


@inner_kernel()
def store(table, key, value, depth, kind, child, date):
    """Keeps a result: in the position's own entry, else in place of the oldest and shallowest of the bucket.

    `table` is uint64[entries, 2], `key` uint64; the others are int64: a score, plies, a kind, the index of the best
    child, and the generation (0..255).
    """
    slot = (key & np.uint64(table.shape[0] - BUCKET)) & ~np.uint64(BUCKET - 1)
    victim = slot
    worst = np.int64(1 << 30)
    for index in range(BUCKET):
        place = slot + np.uint64(index)
        data = table[place, 1]
        if table[place, 0] ^ data == key and data:
            victim = place
            break
        worth = np.int64(0)
        if data:
            current = np.int64((data >> _DATE) & np.uint64(0xFF)) == date
            worth = 1 + depth_of(data) + (1000 if current else 0)
        if worth < worst:
            worst = worth
            victim = place
    data = (
        np.uint64(value + _BIAS) << _VALUE
        | np.uint64(min(depth, 255)) << _DEPTH
        | np.uint64(kind) << _KIND
        | np.uint64(child) << _CHILD
        | np.uint64(date & 0xFF) << _DATE
    )
    table[victim, 0] = key ^ data
    table[victim, 1] = data
