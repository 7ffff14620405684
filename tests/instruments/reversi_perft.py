"""Perft: the number of legal sequences of exactly `depth` plies, the test of a move generator.

A forced pass is a ply. Published tables differ on sequences that end before `depth`, so their count is a parameter.
The last ply is counted in bulk, without making its moves.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits.board8x8 import flips
from games.bits.compiling import INNER
from games.bits.words import lowest, popcount
from games.native.reversi.rules import ReversiVariant, legal_moves

_ONE = np.uint64(1)


@njit(**INNER)
def _two_plies(player, opponent, empty, finished):
    """Perft of depth 2, the second ply in bulk. Boards are uint64; `finished` is the count of a finished game."""
    moves = legal_moves(player, opponent, empty)
    if moves == 0:
        replies = popcount(legal_moves(opponent, player, empty))
        return replies if replies else finished
    total = 0
    while moves:
        cell = lowest(moves)
        bit = moves & (~moves + _ONE)
        moves ^= bit
        turned = flips(cell, player, opponent)
        own, other = player | turned | bit, opponent & ~turned
        rest = empty ^ bit
        replies = popcount(legal_moves(other, own, rest))
        if replies == 0:
            replies = 1 if legal_moves(own, other, rest) else finished
        total += replies
    return total


@njit(cache=True, nogil=True)
def _perft(player, opponent, playable, depth, finished):
    """Perft by an explicit stack of (player, opponent, moves still to make).

    Boards are uint64; `finished` (int64) is the count of a finished game.
    """
    total = 0
    stack = np.zeros((depth + 1, 3), np.uint64)
    ply = 0
    entering = True
    while ply >= 0:
        if entering:
            empty = playable & ~(player | opponent)
            if depth - ply == 2:
                total += _two_plies(player, opponent, empty, finished)
                ply -= 1
                entering = False
                continue
            moves = legal_moves(player, opponent, empty)
            if moves == 0:
                if legal_moves(opponent, player, empty) == 0:
                    total += finished
                    ply -= 1
                    entering = False
                    continue
                stack[ply, 2] = moves
                ply += 1
                player, opponent = opponent, player
                continue
            stack[ply, 0], stack[ply, 1], stack[ply, 2] = player, opponent, moves
        moves = stack[ply, 2]
        if moves == 0:
            ply -= 1
            entering = False
            continue
        player, opponent = stack[ply, 0], stack[ply, 1]
        cell = lowest(moves)
        bit = moves & (~moves + _ONE)
        stack[ply, 2] = moves ^ bit
        turned = flips(cell, player, opponent)
        player, opponent = opponent & ~turned, player | turned | bit
        ply += 1
        entering = True
    return total


def perft(variant: ReversiVariant, depth: int, *, count_finished: bool = True) -> int:
    """The number of leaves at `depth` plies from the variant's first position.

    `count_finished`: whether a game that ends earlier counts as one leaf, or as none.
    """
    position = variant.initial()
    if depth == 0:
        return 1
    moves = variant.moves(position)
    if depth == 1:
        return moves.bit_count() or int(count_finished or not variant.terminal(position))
    player, opponent = np.uint64(position.player), np.uint64(position.opponent)
    return int(_perft(player, opponent, np.uint64(variant.playable), depth, int(count_finished)))
