"""Priors of moves: a softmax over a few counts of cells, after Pentobi's.

See `PriorKnowledge` in M. Enzenberger's Pentobi (libpentobi_mcts).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits.board16x16 import WORDS, overlap, overlap_beyond
from games.bits.compiling import INNER, KERNEL, STEP
from games.native.blokbox.variant import BLOCKED, BOARD_CELLS, CORNERS, COVERED, EFFECT_WORDS, FREE, TOUCHED, TURN

N_COUNTS = 6
"""Cells covered, corners won, own cells spent, own corners spent, opponent's free cells taken, its corners taken."""
N_BOARDS = 5
"""Boards of `divide`."""

_BYTES = 8 * WORDS


@njit(**KERNEL)
def divide(position, boards):
    """Write the boards of `describe` to `boards` (uint64[N_BOARDS, 4]).

    Own free cells, those that are no corners, those that are; the other player's free cells, and its corners.
    """
    own = WORDS * np.int64(position[TURN])
    other = WORDS - own
    for word in range(WORDS):
        free = position[FREE + own + word]
        corners = position[CORNERS + own + word]
        other_free = position[FREE + other + word]
        boards[0, word] = free
        boards[1, word] = free & ~corners
        boards[2, word] = free & corners
        boards[3, word] = other_free
        boards[4, word] = other_free & position[CORNERS + other + word]


@njit(**STEP)
def describe(tables, move, boards, features):
    """Write the `N_COUNTS` counts of a move (int64) of the player to move to `features` (float32[...]).

    `boards` (uint64[N_BOARDS, 4]) are those of `divide`.
    """
    shape = move // BOARD_CELLS
    effect = tables.effects.ctypes.data + 8 * EFFECT_WORDS * move
    cover, block = effect + 8 * COVERED, effect + 8 * BLOCKED
    board = boards.ctypes.data
    features[0] = tables.first[shape + 1] - tables.first[shape]
    features[1] = overlap_beyond(effect + 8 * TOUCHED, board + _BYTES, block)
    features[2] = overlap(block, board)
    features[3] = overlap(block, board + 2 * _BYTES)
    features[4] = overlap(cover, board + 3 * _BYTES)
    features[5] = overlap(cover, board + 4 * _BYTES)


@njit(**INNER)
def softmax(logits, n):
    """Turn the first `n` of `logits` (float32[...]) into probabilities."""
    greatest = np.float32(-np.inf)
    for index in range(n):
        greatest = max(greatest, logits[index])
    total = np.float32(0.0)
    for index in range(n):
        logits[index] = np.exp(logits[index] - greatest)
        total += logits[index]
    for index in range(n):
        logits[index] /= total


@njit(inline="always")
def move_priors(tables, position, moves, n, weights, boards, features, priors):
    """Write the prior probabilities of the first `n` of `moves` to `priors` (float32[...]).

    `boards` (uint64[N_BOARDS, 4]) and `features` (float32[N_COUNTS]) are overwritten.
    """
    divide(position, boards)
    for index in range(n):
        describe(tables, moves[index], boards, features)
        score = np.float64(0.0)
        for feature in range(N_COUNTS):
            score += weights[feature] * features[feature]
        priors[index] = score
    softmax(priors, n)
