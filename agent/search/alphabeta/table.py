"""The transposition table: one NumPy array shared by all threads without locks.

An entry is two words, `(key ^ data, data)`: an entry torn by two threads fails the comparison and is ignored (R. Hyatt,
T. Mann, "A lockless transposition-table implementation for parallel search", 2002). Four entries share a cache line.
The family decides the meaning of `data` and the replacement in a bucket; 0 is no entry.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.memory import memory_part

BUCKET = 4

MEMORY_SHARE = 1 / 16
"""Most of the memory that a table takes."""


def new_table(megabytes: int) -> NDArray[np.uint64]:
    """Returns an empty table (uint64[entries, 2]) of at most that size; the number of entries is a power of two."""
    entries = 1 << max(10, (memory_part(megabytes << 20, MEMORY_SHARE) // 16).bit_length() - 1)
    return np.zeros((entries, 2), np.uint64)


@njit(inline="always")
def first_of_bucket(table, key):
    """Returns the first (uint64) of the BUCKET entries of `table` (uint64[entries, 2]) that may hold `key` (uint64)."""
    return (key & np.uint64(table.shape[0] - BUCKET)) & ~np.uint64(BUCKET - 1)


@njit(inline="always")
def probe(table, key):
    """Returns the data (uint64) of `key` (uint64) in `table` (uint64[entries, 2]), or 0."""
    slot = first_of_bucket(table, key)
    for index in range(BUCKET):
        data = table[slot + np.uint64(index), 1]
        if table[slot + np.uint64(index), 0] ^ data == key and data:
            return data
    return np.uint64(0)


def read_entries(table: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Returns the data of keys (n) in a table (uint64[entries, 2]), 0 for none. Other threads may write meanwhile."""
    found = table[places_of(table, keys)]
    fits = ((found[..., 0] ^ found[..., 1]) == keys[:, None]) & (found[..., 1] != 0)
    data = np.take_along_axis(found[..., 1], fits.argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.where(fits.any(axis=1), data, np.uint64(0))


def look_up(table: NDArray[np.uint64], key: int) -> int:
    """Returns the data of a key in `table` (uint64[entries, 2]), or 0: `probe` outside of kernels."""
    return int(read_entries(table, np.array([key], np.uint64))[0])


def places_of(table: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Returns the places (n, BUCKET) of a table that may hold keys (n); see `first_of_bucket`."""
    first = (keys & np.uint64(table.shape[0] - BUCKET)) & ~np.uint64(BUCKET - 1)
    return first.astype(np.int64)[:, None] + np.arange(BUCKET)


@njit(inline="always")
def put(table, place, key, data):
    """Replaces entry `place` (uint64) of `table` (uint64[entries, 2]) by `data` for `key` (uint64 each)."""
    table[place, 0] = key ^ data
    table[place, 1] = data
