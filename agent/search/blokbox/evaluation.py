"""A static evaluation for *last mover wins*: who will run out of moves first, from what both can place now and later.

The features of a position are taken for both players in the same way; the evaluation is the logistic function of a
weighted sum of their differences, with weights by stage of the match (`train`).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits import popcount
from games.native.blokbox.bits import WORDS
from games.native.blokbox.rules import placements
from games.native.blokbox.variant import CORNERS, FREE, OWNED, TURN

N_FEATURES = 8
"""Per player: log of moves, shapes that can be placed, shapes that fit in somewhere, free cells, usable corners, cells
that only this player may cover, corners that the other player may cover, placeable shapes of at most three cells."""
N_STAGES = 12
STAGE_PLIES = 2
"""Plies in a stage; the last stage has no end."""


@njit(cache=True, nogil=True)
def survey(tables, position, candidates, n_candidates, scratch, slot, features):
    """Features of both players (float64[2, N_FEATURES]) and how many moves each has.

    Uses the slots `slot` + player of `scratch` for the moves; `candidates[player]` lists the shapes that may be live.
    """
    totals0 = 0
    totals1 = 0
    for player in range(2):
        own = WORDS * player
        other = WORDS - own
        live, total = placements(
            tables, position, player, candidates[player], n_candidates[player], scratch, slot + player
        )
        placeable = 0
        small = 0
        for index in range(live):
            if scratch.counts[slot + player, index] > 0:
                placeable += 1
                shape = scratch.shapes[slot + player, index]
                if tables.first[shape + 1] - tables.first[shape] <= 3:
                    small += 1
        free = 0
        corners = 0
        private = 0
        shared = 0
        for word in range(WORDS):
            mine = position[FREE + own + word]
            usable = position[CORNERS + own + word] & mine
            free += popcount(mine)
            corners += popcount(usable)
            private += popcount(mine & ~position[FREE + other + word])
            shared += popcount(usable & position[FREE + other + word])
        features[player, 0] = np.log(1.0 + total)
        features[player, 1] = placeable
        features[player, 2] = live
        features[player, 3] = free
        features[player, 4] = corners
        features[player, 5] = private
        features[player, 6] = shared
        features[player, 7] = small
        if player == 0:
            totals0 = total
        else:
            totals1 = total
    return totals0, totals1


@njit(cache=True, nogil=True)
def stage_of(position, pieces):
    """The stage of a position, by how many of the `pieces` of both players at the start were placed."""
    placed = pieces - popcount(position[OWNED]) - popcount(position[OWNED + 1])
    return min(N_STAGES - 1, placed // STAGE_PLIES)


@njit(cache=True, nogil=True)
def judge(position, features, weights, pieces):
    """The logit of the player to move winning; `weights` is float64[N_STAGES, N_FEATURES + 1], a bias last."""
    player = np.int64(position[TURN])
    stage = stage_of(position, pieces)
    total = weights[stage, N_FEATURES]
    for feature in range(N_FEATURES):
        total += weights[stage, feature] * (features[player, feature] - features[1 - player, feature])
    return total
