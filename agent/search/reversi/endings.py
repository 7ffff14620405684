"""Exact play of the last few empty cells, where speed counts more than pruning.

One kernel per number of empty cells up to four, and above them an alpha-beta with an explicit stack. Moves into
quadrants with an odd number of empty cells come first (parity), as in Edax's `endgame.c` (R. Delorme). All searches are
fail-soft and return scores in discs for the side to move; `sign` is -1 where fewer discs win, `cells` the number of
playable cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from agent.search.reversi.stability import stable_discs
from games.bits.board8x8 import flips
from games.bits.compiling import INNER, KERNEL
from games.bits.words import lowest, popcount
from games.native.reversi.rules import final_score, legal_moves

INFINITE = 127
"""More than any score."""
SMALL = 7
"""Most empty cells for `solve_small`."""
_STABLE_MIN = 5
"""Fewest empty cells to count stable discs at."""
_ONE = np.uint64(1)
QUADRANTS = (
    np.uint64(0x000000000F0F0F0F),
    np.uint64(0x00000000F0F0F0F0),
    np.uint64(0x0F0F0F0F00000000),
    np.uint64(0xF0F0F0F000000000),
)


@njit(inline="always")
def odd_cells(empty):
    """The `empty` cells (uint64) in quadrants with an odd number of them."""
    odd = np.uint64(0)
    for quadrant in QUADRANTS:
        if popcount(empty & quadrant) & 1:
            odd |= quadrant
    return odd & empty


@njit(**INNER)
def _last_1(player, opponent, cell, cells, sign):
    """The score (int64) of a position (two uint64) with one empty `cell` (int64), which either side may play on."""
    difference = 2 * popcount(player) - cells + 1
    turned = popcount(flips(cell, player, opponent))
    if turned:
        return sign * (difference + 2 * turned + 1)
    turned = popcount(flips(cell, opponent, player))
    if turned:
        return sign * (difference - 2 * turned - 1)
    return sign * (difference + (difference > 0) - (difference < 0))


@njit(**INNER)
def _last_2(player, opponent, alpha, beta, first, second, cells, sign, nodes):
    """The score (int64) of a position (two uint64) with two empty cells (int64); `nodes` (int64[1]) counts."""
    nodes[0] += 1
    for side in range(2):
        best = -INFINITE
        turned = flips(first, player, opponent)
        if turned:
            nodes[0] += 1
            best = -_last_1(opponent & ~turned, player | turned | _ONE << np.uint64(first), second, cells, sign)
        if best < beta:
            turned = flips(second, player, opponent)
            if turned:
                nodes[0] += 1
                value = -_last_1(opponent & ~turned, player | turned | _ONE << np.uint64(second), first, cells, sign)
                best = max(best, value)
        if best > -INFINITE:
            return -best if side else best
        player, opponent, alpha, beta = opponent, player, -beta, -alpha
    return final_score(player, opponent, cells, sign)


@njit(**INNER)
def _last_3(player, opponent, alpha, beta, first, second, third, cells, sign, nodes):
    """The score (int64) of a position (two uint64) with three empty cells (int64); `nodes` (int64[1]) counts."""
    nodes[0] += 1
    for side in range(2):
        best = -INFINITE
        turned = flips(first, player, opponent)
        if turned:
            own = player | turned | _ONE << np.uint64(first)
            best = -_last_2(opponent & ~turned, own, -beta, -alpha, second, third, cells, sign, nodes)
        if best < beta:
            turned = flips(second, player, opponent)
            if turned:
                own = player | turned | _ONE << np.uint64(second)
                lower = max(alpha, best)
                best = max(best, -_last_2(opponent & ~turned, own, -beta, -lower, first, third, cells, sign, nodes))
        if best < beta:
            turned = flips(third, player, opponent)
            if turned:
                own = player | turned | _ONE << np.uint64(third)
                lower = max(alpha, best)
                best = max(best, -_last_2(opponent & ~turned, own, -beta, -lower, first, second, cells, sign, nodes))
        if best > -INFINITE:
            return -best if side else best
        player, opponent, alpha, beta = opponent, player, -beta, -alpha
    return final_score(player, opponent, cells, sign)


@njit(**INNER)
def _last_4(player, opponent, alpha, beta, empty, cells, sign, nodes):
    """The score (int64) of a position (two uint64) with four empty cells (uint64); `nodes` (int64[1]) counts."""
    nodes[0] += 1
    odd = odd_cells(empty)
    for side in range(2):
        best = -INFINITE
        legal = legal_moves(player, opponent, empty)
        for group in range(2):
            moves = legal & (odd if group == 0 else ~odd)
            while moves:
                cell = lowest(moves)
                bit = moves & (~moves + _ONE)
                moves ^= bit
                turned = flips(cell, player, opponent)
                own, other, rest = player | turned | bit, opponent & ~turned, empty ^ bit
                # Of three cells in two quadrants the single one comes first.
                ordered = odd_cells(rest)
                even = rest & ~ordered
                if ordered == 0 or even == 0:
                    ordered = rest
                    even = np.uint64(0)
                first = lowest(ordered)
                ordered &= ordered - _ONE
                if ordered == 0:
                    ordered = even
                second = lowest(ordered)
                ordered &= ordered - _ONE
                if ordered == 0:
                    ordered = even
                lower = max(alpha, best)
                value = -_last_3(other, own, -beta, -lower, first, second, lowest(ordered), cells, sign, nodes)
                if value > best:
                    best = value
                    if best >= beta:
                        return -best if side else best
        if best > -INFINITE:
            return -best if side else best
        player, opponent, alpha, beta = opponent, player, -beta, -alpha
    return final_score(player, opponent, cells, sign)


@njit(inline="always")
def _few_empties(player, opponent, alpha, beta, empty, cells, sign, nodes):
    """The score (int64) of a position (two uint64) with at most four `empty` cells; `nodes` (int64[1]) counts."""
    count = popcount(empty)
    if count == 4:
        return _last_4(player, opponent, alpha, beta, empty, cells, sign, nodes)
    first = lowest(empty)
    rest = empty & (empty - _ONE)
    if count == 3:
        last = lowest(rest & (rest - _ONE))
        return _last_3(player, opponent, alpha, beta, first, lowest(rest), last, cells, sign, nodes)
    if count == 2:
        return _last_2(player, opponent, alpha, beta, first, lowest(rest), cells, sign, nodes)
    nodes[0] += 1
    if count == 1:
        return _last_1(player, opponent, first, cells, sign)
    return final_score(player, opponent, cells, sign)


@njit(**KERNEL)
def solve_small(player, opponent, alpha, beta, playable, cells, sign, words, ints, nodes):
    """The exact score of a position with few empty cells, within the window (`alpha`, `beta`), fail-soft.

    `words` (uint64[>= 2 * SMALL + 2, 4]) and `ints` (int64[same, 3]) are the stack; `nodes` (int64[1]) counts.
    """
    ply = 0
    entering = True
    value = 0
    while True:
        if entering:
            empty = playable & ~(player | opponent)
            count = popcount(empty)
            if count <= 4:
                value = _few_empties(player, opponent, alpha, beta, empty, cells, sign, nodes)
                entering = False
                ply -= 1
                if ply < 0:
                    return value
                continue
            nodes[0] += 1
            known = False
            if count >= _STABLE_MIN and cells - 2 * count - 4 < abs(alpha):
                # Stable discs bound the other side's score.
                if sign > 0 and alpha > 0:
                    value = cells - 2 * popcount(stable_discs(opponent, player, playable))
                    known = value <= alpha
                elif sign < 0 and beta < 0:
                    value = 2 * popcount(stable_discs(opponent, player, playable)) - cells
                    known = value >= beta
            if not known:
                moves = legal_moves(player, opponent, empty)
                if moves == 0 and legal_moves(opponent, player, empty) == 0:
                    value = final_score(player, opponent, cells, sign)
                    known = True
            if known:
                entering = False
                ply -= 1
                if ply < 0:
                    return value
                continue
            odd = odd_cells(empty)
            words[ply, 0], words[ply, 1], words[ply, 2], words[ply, 3] = player, opponent, moves & odd, moves & ~odd
            ints[ply, 0], ints[ply, 1], ints[ply, 2] = alpha, beta, -INFINITE
            if moves == 0:
                player, opponent, alpha, beta = opponent, player, -beta, -alpha
                ply += 1
                continue
        else:
            value = -value
            if value > ints[ply, 2]:
                ints[ply, 2] = value
        player, opponent, beta = words[ply, 0], words[ply, 1], ints[ply, 1]
        group = 2 if words[ply, 2] else 3
        moves = words[ply, group]
        best = ints[ply, 2]
        if moves == 0 or best >= beta:
            value = best
            entering = False
            ply -= 1
            if ply < 0:
                return value
            continue
        cell = lowest(moves)
        bit = moves & (~moves + _ONE)
        words[ply, group] = moves ^ bit
        turned = flips(cell, player, opponent)
        player, opponent = opponent & ~turned, player | turned | bit
        alpha, beta = -beta, -max(ints[ply, 0], best)
        ply += 1
        entering = True


def small_stack() -> tuple[Any, Any]:
    """The stack arrays of `solve_small`."""
    return np.zeros((2 * SMALL + 4, 4), np.uint64), np.zeros((2 * SMALL + 4, 3), np.int64)
