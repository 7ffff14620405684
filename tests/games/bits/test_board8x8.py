"""Captured lines on 8x8 boards against a walk, cell by cell."""

from __future__ import annotations

import random

import numpy as np
from numba import njit

from games.bits.board8x8 import FULL, capture_targets, flips, ray

STEPS = [(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1) if row or column]


@njit(cache=True)
def compute(players, opponents, targets, captured):
    """Both intrinsics on each board; captures of all 64 cells."""
    for i in range(len(players)):
        targets[i] = capture_targets(players[i], opponents[i])
        for cell in range(64):
            captured[i, cell] = flips(cell, players[i], opponents[i])


def lines(cell: int, board: int) -> list[tuple[int, int]]:
    """From `cell` in each direction: the cells of `board` without a gap, and the cell behind them (0 off the board)."""
    found = []
    for row_step, column_step in STEPS:
        row, column = divmod(cell, 8)
        line = 0
        while True:
            row, column = row + row_step, column + column_step
            bit = 1 << (8 * row + column) if 0 <= row < 8 and 0 <= column < 8 else 0
            if not bit & board:
                break
            line |= bit
        found.append((line, bit))
    return found


def plain_capture_targets(player: int, opponent: int) -> int:
    """The twin of `capture_targets`, on empty cells."""
    targets = 0
    for cell in range(64):
        if player >> cell & 1:
            for line, end in lines(cell, opponent):
                targets |= end if line else 0
    return targets & ~(player | opponent)


def plain_flips(cell: int, player: int, opponent: int) -> int:
    """The twin of `flips`."""
    return sum(line for line, end in lines(cell, opponent) if end & player)


def boards() -> list[tuple[int, int]]:
    """Empty, full, one-coloured and random boards."""
    rng = random.Random(5)
    found = [
        (0, 0),
        (FULL, 0),
        (0, FULL),
        (1, FULL ^ 1),
        (1 << 63, FULL >> 1),
        (0x8100000000000081, 0x7E8181818181817E),
    ]
    for _ in range(200):
        taken = rng.getrandbits(64) | (rng.getrandbits(64) if rng.random() < 0.5 else 0)
        player = taken & rng.getrandbits(64)
        found.append((player, taken ^ player))
    return found


def test_agrees_with_a_walk_over_cells() -> None:
    """Capture targets of the board, and the captures of every empty cell."""
    cases = boards()
    players, opponents = (np.array(side, np.uint64) for side in zip(*cases, strict=True))
    targets, captured = np.zeros(len(cases), np.uint64), np.zeros((len(cases), 64), np.uint64)
    compute(players, opponents, targets, captured)
    for i, (player, opponent) in enumerate(cases):
        assert int(targets[i]) & ~(player | opponent) == plain_capture_targets(player, opponent)
        for cell in range(64):
            if not (player | opponent) >> cell & 1:
                assert int(captured[i, cell]) == plain_flips(cell, player, opponent)


def test_rays_end_at_the_edge() -> None:
    """A ray leaves out its first cell and stops at the edge."""
    assert ray(0, 0, 1) == 0xFE
    assert ray(9, 1, 1) == sum(1 << (9 * k) for k in range(2, 8))
    assert ray(7, 0, 1) == 0
