"""Move ordering: the hash moves, then low mobility of the opponent, weighed with a shallow search where that pays.

The features and their weights are those of Edax's `movelist_evaluate` (R. Delorme): mobility (corners count twice),
potential mobility, own corners, parity, and the score of a search of depth 0, 1 or 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from agent.search.reversi.endings import INFINITE, odd_cells
from agent.search.reversi.evaluation import evaluate, evaluate_1, evaluate_2
from games.bits.board8x8 import flips
from games.bits.compiling import INNER
from games.bits.words import lowest, popcount
from games.native.reversi.rules import legal_moves

HASH_MOVE = 1 << 40
"""Above every other score."""
NO_SHALLOW_SEARCH = -1
_CORNERS = np.uint64(0x8100000000000081)
_NOT_FIRST = np.uint64(0xFEFEFEFEFEFEFEFE)
_NOT_LAST = np.uint64(0x7F7F7F7F7F7F7F7F)
# Edax's weights.
_MOBILITY = 1 << 15
_SCORE = 1 << 15
_CORNER = 1 << 11
_POTENTIAL = 1 << 5
_PARITY = 1 << 3
_SLACK = 8
"""Discs by which a shallow search's window reaches below alpha."""
_ONE = np.uint64(1)
_EIGHT = np.uint64(8)


@njit(inline="always")
def _neighbours(discs):
    """`discs` (uint64) and all cells beside them."""
    wide = discs | ((discs & _NOT_LAST) << _ONE) | ((discs & _NOT_FIRST) >> _ONE)
    return wide | wide << _EIGHT | wide >> _EIGHT


class MoveList(NamedTuple):
    """A position's moves, in any order."""

    scores: npt.NDArray[np.int64]
    """int64[moves]: order of the search, highest first."""
    cells: npt.NDArray[np.int64]
    """int64[moves]: cells played on."""
    turned: npt.NDArray[np.uint64]
    """uint64[moves]: discs turned."""


@njit(**INNER)
def order_moves(player, opponent, moves, alpha, shallow, hash_moves, board, tables, numbers, nodes, listed):
    """Fill `listed` (MoveList) with the `moves` (uint64) of a position and return their number.

    `player` and `opponent` are discs (uint64), `alpha` (int64) is the node's, `shallow` the depth of the search that
    scores each move (or NO_SHALLOW_SEARCH); two cells of `hash_moves` (int64) come first. `board`, `tables`, `numbers`
    are those of `evaluation.evaluate`; `nodes` (int64[1]) counts.
    """
    first, second = hash_moves
    count = 0
    empty = board.playable & ~(player | opponent)
    odd = odd_cells(empty)
    while moves:
        cell = lowest(moves)
        bit = moves & (~moves + _ONE)
        moves ^= bit
        turned = flips(cell, player, opponent)
        if cell == first:
            score = HASH_MOVE
        elif cell == second:
            score = HASH_MOVE - 1
        else:
            own, other, rest = player | turned | bit, opponent ^ turned, empty ^ bit
            replies = legal_moves(other, own, rest)
            score = -_MOBILITY * (popcount(replies) + popcount(replies & _CORNERS))
            score -= _POTENTIAL * popcount(_neighbours(own) & rest)
            score += board.sign * _CORNER * popcount(own & _CORNERS)
            if bit & odd:
                score += _PARITY
            nodes[0] += 1
            if shallow == 0:
                score -= _SCORE * evaluate(other, own, board, tables, numbers) >> 2
            elif shallow == 1:
                lower = max(-INFINITE, alpha - _SLACK)
                score -= _SCORE * evaluate_1(other, own, -INFINITE, -lower, board, tables, numbers, nodes) >> 1
            elif shallow >= 2:
                lower = max(-INFINITE, alpha - _SLACK)
                score -= _SCORE * evaluate_2(other, own, -INFINITE, -lower, board, tables, numbers, nodes)
        listed.scores[count] = score
        listed.cells[count] = cell
        listed.turned[count] = turned
        count += 1
    return count
