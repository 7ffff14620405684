"""Data of a position in the transposition table (see `alphabeta.table`)."""

from __future__ import annotations

import numpy as np
from numba import njit

from agent.search.alphabeta.table import BUCKET, first_of_bucket, put
from games.bits.compiling import INNER

NO_MOVE = 64
"""No move known, beside the cells 0..63."""
_MASK = np.uint64(0xFF)
_BIAS = 128
_LOWER, _UPPER, _DEPTH, _LEVEL, _FIRST, _SECOND, _DATE = (np.uint64(8 * index) for index in range(7))


@njit(inline="always")
def position_key(player, opponent):
    """A 64-bit hash of the position: two rounds of multiply and xor-shift (after Murmur's finaliser)."""
    first = player * np.uint64(0x9E3779B97F4A7C15)
    first ^= first >> np.uint64(32)
    second = (opponent ^ np.uint64(0x5851F42D4C957F2D)) * np.uint64(0xBF58476D1CE4E5B9)
    second ^= second >> np.uint64(29)
    key = (first + (second << np.uint64(1))) * np.uint64(0x94D049BB133111EB)
    key ^= key >> np.uint64(31)
    key *= np.uint64(0xD6E8FEB86659FD93)
    return key ^ (key >> np.uint64(32))


@njit(inline="always")
def field(data, shift):
    """One byte of an entry's data, as int64."""
    return np.int64((data >> shift) & _MASK)


@njit(inline="always")
def lower_bound(data):
    """The entry's lower bound in discs."""
    return field(data, _LOWER) - _BIAS


@njit(inline="always")
def upper_bound(data):
    """The entry's upper bound in discs."""
    return field(data, _UPPER) - _BIAS


@njit(inline="always")
def depth_of(data):
    """The depth in plies of the entry's search."""
    return field(data, _DEPTH)


@njit(inline="always")
def level_of(data):
    """The selectivity level of the entry's search."""
    return field(data, _LEVEL)


@njit(inline="always")
def first_move(data):
    """The best move's cell, or NO_MOVE."""
    return field(data, _FIRST)


@njit(inline="always")
def second_move(data):
    """The cell of an earlier search's best move, or NO_MOVE."""
    return field(data, _SECOND)


@njit(**INNER)
def store(table, key, lower, upper, depth, level, move, date):
    """Store a result in the position's own entry, else in place of the bucket's oldest and shallowest one.

    `table` is uint64[entries, 2], `key` uint64; the others are int64: bounds in discs, depth in plies, selectivity
    level, the best move's cell or NO_MOVE, and the generation (0..255).
    """
    slot = first_of_bucket(table, key)
    victim = slot
    worst = np.int64(1 << 30)
    second = np.int64(NO_MOVE)
    for index in range(BUCKET):
        place = slot + np.uint64(index)
        data = table[place, 1]
        if table[place, 0] ^ data == key and data:
            victim = place
            if depth_of(data) == depth and level_of(data) == level:
                lower = max(lower, lower_bound(data))
                upper = min(upper, upper_bound(data))
                if lower > upper:  # selective searches may contradict each other
                    lower = min(lower, upper_bound(data))
                    upper = max(upper, lower)
            previous = first_move(data)
            if move == NO_MOVE:
                move = previous
                second = second_move(data)
            else:
                second = previous if previous != move else second_move(data)
            break
        worth = 0
        if data:
            age = (date - field(data, _DATE)) & 0xFF
            worth = 1 + 4 * depth_of(data) + level_of(data) + (0 if age else 1000)
        if worth < worst:
            worst = worth
            victim = place
    data = (
        np.uint64(lower + _BIAS) << _LOWER
        | np.uint64(upper + _BIAS) << _UPPER
        | np.uint64(depth) << _DEPTH
        | np.uint64(level) << _LEVEL
        | np.uint64(move) << _FIRST
        | np.uint64(second) << _SECOND
        | np.uint64(date & 0xFF) << _DATE
    )
    put(table, victim, key, data)
