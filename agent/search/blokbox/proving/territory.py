"""Proofs without search, by the cells that only one player can still cover.

A move takes free cells from both players and gives the opponent nothing:

- A player makes no more placements than it could if the opponent passed for ever (`most`).
- A *region* is a set of cells with the shapes that one player can still place there.
- A player's *territory* is the cells that only it can ever cover. Placements inside are safe from the opponent, so
  their number is certain (`least`).

The player to move wins if its `least` is greater than the opponent's `most`, and loses if its `most` is not greater
than the opponent's `least`. Where the players share no cell, this decides every position, given long enough solo
searches.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agent.search.blokbox.proving.regions import CELLS, PIECES, PRIVATE, SIZE, narrow, region_ceiling
from agent.search.blokbox.proving.regions import CORNERS as IN_CORNERS
from agent.search.blokbox.proving.solo import solo, witnessed
from games.bits.board16x16 import WORDS
from games.bits.compiling import INNER
from games.native.blokbox.variant import CORNERS, FREE, OWNED, TURN

TO_MOVE_WINS = 1
TO_MOVE_LOSES = -1
"""Verdicts: the player to move wins, or loses."""

PRIVATE_NODES = 20
"""Most placements to try in a solo search of a territory: later ones hardly ever improve it."""
SOLO_NODES = 100
"""Most placements to try in a solo search for a player's `most`."""

_ONE = np.uint64(1)


@njit(inline="always")
def _outlasts(tables, territory, player, lead):
    """Whether `player` certainly makes `lead` more placements than the other one ever can."""
    other = 1 - player
    region = PRIVATE + player
    mine, others, private = territory.regions[player], territory.regions[other], territory.regions[region]
    shapes = territory.shapes
    usable = np.uint64(0)
    for word in range(WORDS):
        private[CELLS + word] = mine[CELLS + word] & ~others[CELLS + word]
        private[IN_CORNERS + word] = mine[IN_CORNERS + word]
        usable |= private[CELLS + word] & private[IN_CORNERS + word]
    if usable == 0:
        return False
    private[PIECES], private[SIZE] = mine[PIECES], mine[SIZE]
    for index in range(np.int64(mine[SIZE])):
        shapes[region, index] = shapes[player, index]
    # Most positions are undecided. Each step costs more than the last, and sorts most of them out.
    at_most = region_ceiling(territory, region)
    if at_most < lead or witnessed(territory, other, at_most - lead + 1):
        return False
    narrow(tables, territory, region)
    at_most = region_ceiling(territory, region)
    if at_most < lead or witnessed(territory, other, at_most - lead + 1):
        return False
    least, _ = solo(tables, territory, region, at_most, np.int64(PRIVATE_NODES))
    if least < lead or witnessed(territory, other, least - lead + 1):
        return False
    _, most = solo(tables, territory, other, least - lead + 1, np.int64(SOLO_NODES))
    return most + lead <= least


@njit(**INNER)
def verdict(tables, position, candidates, n_candidates, expected, territory):
    """`TO_MOVE_WINS` or `TO_MOVE_LOSES` if territories decide the match, else 0.

    Looks only for the `expected` one, which evaluations nearly always know. The first `n_candidates[player]` (int64[2])
    of `candidates[player]` may be live. Writes to `territory` only.
    """
    piece = tables.piece
    for player in range(2):
        own = WORDS * player
        row, shapes = territory.regions[player], territory.shapes[player]
        for word in range(WORDS):
            row[CELLS + word] = position[FREE + own + word]
            row[IN_CORNERS + word] = position[CORNERS + own + word]
        owned = position[OWNED + player]
        n_shapes = 0
        for index in range(n_candidates[player]):
            shape = candidates[player, index]
            if (owned >> np.uint64(piece[shape])) & _ONE:
                shapes[n_shapes] = shape
                n_shapes += 1
        row[SIZE] = np.uint64(n_shapes)
        narrow(tables, territory, player)
    mover = np.int64(position[TURN])
    player, lead = (mover, 1) if expected == TO_MOVE_WINS else (1 - mover, 0)
    return expected if _outlasts(tables, territory, player, lead) else 0
