"""Stable discs, which no sequence of moves can turn.

A disc is stable if none of the four lines through it can turn it: the line is full, or on one side the board ends or a
stable disc of the same colour follows (cf. Edax's `get_stability`, which adds a table of edges). Blocked cells end a
line like the edge of the board.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits.compiling import KERNEL

_NOT_FIRST = np.uint64(0xFEFEFEFEFEFEFEFE)
_NOT_LAST = np.uint64(0x7F7F7F7F7F7F7F7F)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_STEPS = (np.uint64(1), np.uint64(7), np.uint64(8), np.uint64(9))
# Cells that may be shifted up / down by each step without wrapping round the board.
_UP = (_NOT_LAST, _NOT_FIRST, _ALL, _NOT_LAST)
_DOWN = (_NOT_FIRST, _NOT_LAST, _ALL, _NOT_FIRST)


@njit(**KERNEL)
def stable_discs(discs, others, playable):
    """A subset (uint64) of `discs` that `others` can never turn; all arguments are uint64."""
    empty = playable & ~(discs | others)
    ends = ~playable
    # Per direction, cells on lines with an empty cell.
    open_0 = open_1 = open_2 = open_3 = np.uint64(0)
    for direction in range(4):
        step, up_mask, down_mask = _STEPS[direction], _UP[direction], _DOWN[direction]
        up = empty
        down = empty
        for _ in range(7):
            up |= ((up & up_mask) << step) & playable
            down |= ((down & down_mask) >> step) & playable
        seen = up | down
        if direction == 0:
            open_0 = seen
        elif direction == 1:
            open_1 = seen
        elif direction == 2:
            open_2 = seen
        else:
            open_3 = seen
    stable = discs & ~(open_0 | open_1 | open_2 | open_3)
    while True:
        wall = stable | ends
        safe = discs & ~stable
        for direction in range(4):
            step, up_mask, down_mask = _STEPS[direction], _UP[direction], _DOWN[direction]
            seen = open_0 if direction == 0 else open_1 if direction == 1 else open_2 if direction == 2 else open_3
            # Cells with a wall or the edge of the board on one side.
            beside = ((wall & up_mask) << step) | ((wall & down_mask) >> step)
            beside |= ~((up_mask & _ALL) << step) | ~((down_mask & _ALL) >> step)
            safe &= beside | ~seen
        if safe == 0:
            return stable
        stable |= safe
