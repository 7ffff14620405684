"""The data of a transposition table's entry; see `alphabeta.table`."""

from __future__ import annotations

import numpy as np
from numba import njit

from agent.search.alphabeta.table import BUCKET, first_of_bucket, put
from games.bits.inner import inner_kernel

LOWER, UPPER, EXACT = 1, 2, 3
"""Kinds of values: a lower bound, an upper bound, both."""

SIDE_KEY = np.uint64(0x9E3779B97F4A7C15)
"""Distinguishes the keys of a state seen by role 1 from those seen by role 0."""

_BIAS = 1 << 15
VALUE_AT, DEPTH_AT, KIND_AT, CHILD_AT, DATE_AT = (np.uint64(shift) for shift in (0, 16, 24, 32, 48))
"""First bits of the parts of an entry's data."""


@njit(inline="always")
def value_of(data):
    """Returns the score in an entry's data (uint64), as int64."""
    return np.int64((data >> VALUE_AT) & np.uint64(0xFFFF)) - _BIAS


@njit(inline="always")
def depth_of(data):
    """Returns the depth in plies of the search that made the entry."""
    return np.int64((data >> DEPTH_AT) & np.uint64(0xFF))


@njit(inline="always")
def kind_of(data):
    """Returns LOWER, UPPER or EXACT; 0 for no entry."""
    return np.int64((data >> KIND_AT) & np.uint64(0x3))


@njit(inline="always")
def child_of(data):
    """Returns the index of the best child."""
    return np.int64((data >> CHILD_AT) & np.uint64(0xFFFF))


@njit(inline="always")
def side_key(key, side):
    """Returns the key (uint64) of a side's (0 or 1) scores of the state with this Zobrist key (uint64)."""
    return key ^ (SIDE_KEY if side == 1 else np.uint64(0))


@inner_kernel()
def store(table, key, value, depth, kind, child, date):
    """Stores a result in the position's own entry, or else replaces the oldest and shallowest entry of the bucket.

    `table` is uint64[entries, 2], `key` uint64; the others are int64: a score, plies, a kind, the index of the best
    child, and the generation (0..255). Returns the entry's data (uint64).
    """
    slot = first_of_bucket(table, key)
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
            current = np.int64((data >> DATE_AT) & np.uint64(0xFF)) == date
            worth = 1 + depth_of(data) + (1000 if current else 0)
        if worth < worst:
            worst = worth
            victim = place
    data = (
        np.uint64(value + _BIAS) << VALUE_AT
        | np.uint64(min(depth, 255)) << DEPTH_AT
        | np.uint64(kind) << KIND_AT
        | np.uint64(child) << CHILD_AT
        | np.uint64(date & 0xFF) << DATE_AT
    )
    put(table, victim, key, data)
    return data
