"""Discs that no sequence of moves can turn.

A disc is stable if it cannot be turned along any of the four lines through it: the line is full, or on one side the
board ends or a stable disc of the same colour follows (cf. Edax's `get_stability`, which adds a table of edges).
Blocked cells end a line like the edge of the board.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits.compiling import KERNEL

_NOT_FIRST = np.uint64(0xFEFEFEFEFEFEFEFE)
_NOT_LAST = np.uint64(0x7F7F7F7F7F7F7F7F)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_STEPS = (np.uint64(1), np.uint64(7), np.uint64(8), np.uint64(9))
# What may be shifted up / down by each step without wrapping round the board.
_UP = (_NOT_LAST, _NOT_FIRST, _ALL, _NOT_LAST)
_DOWN = (_NOT_FIRST, _NOT_LAST, _ALL, _NOT_FIRST)


@njit(**KERNEL)
def stable_discs(discs, others, playable):
    """A subset (uint64) of `discs` that `others` can never turn; all arguments are uint64."""
    empty = playable & ~(discs | others)
    ends = ~playable
    # Per line direction: cells beyond which the line ends, and cells that an empty cell of the line can see.
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
            # Cells whose neighbour on one side is a wall or off the board.
            beside = ((wall & up_mask) << step) | ((wall & down_mask) >> step)
            beside |= ~((up_mask & _ALL) << step) | ~((down_mask & _ALL) >> step)
            safe &= beside | ~seen
        if safe == 0:
            return stable
        stable |= safe
