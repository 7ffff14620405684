"""A static evaluation of who will run out of moves first, by the placements of both players.

The evaluation is the logit of winning: a weighted sum of the differences of both players' features, with weights by
stage of the match, fitted by `tests.instruments.training.blokbox.regression`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits.board16x16 import WORDS
from games.bits.compiling import KERNEL
from games.bits.words import popcount
from games.native.blokbox.rules import placements
from games.native.blokbox.variant import CORNERS, FREE, TURN

N_FEATURES = 8
"""Features per player: log of one more than the moves, placeable shapes, shapes that fit somewhere, free cells, usable
corners, placeable shapes with a single move, usable corners that the opponent may cover too, placeable shapes of at
most three cells."""
N_STAGES = 12
"""Stages, by the used share of the initial room (see `room`)."""


@njit(**KERNEL)
def take_features(tables, position, shapes, n_shapes, scratch, slot, features, n_live):
    """Write the features of both players to `features` (float64[2, N_FEATURES]); return their numbers of moves.

    The slots `slot` + player of `scratch` take the moves. The first `n_shapes[player]` of `shapes[player]` may be live;
    `n_live[player]` becomes the number of those that are. `shapes` is int64[2, shapes], both counts are int64[2];
    `position` is uint64[POSITION_WORDS].
    """
    totals0 = 0
    totals1 = 0
    for player in range(2):
        own = WORDS * player
        other = WORDS - own
        live, total = placements(tables, position, player, shapes[player], n_shapes[player], scratch, slot + player)
        n_live[player] = live
        placeable = 0
        small = 0
        single = 0
        for index in range(live):
            if scratch.counts[slot + player, index] > 0:
                placeable += 1
                single += scratch.counts[slot + player, index] == 1
                shape = scratch.shapes[slot + player, index]
                if tables.first[shape + 1] - tables.first[shape] <= 3:
                    small += 1
        free = 0
        corners = 0
        shared = 0
        for word in range(WORDS):
            mine = position[FREE + own + word]
            usable = position[CORNERS + own + word] & mine
            free += popcount(mine)
            corners += popcount(usable)
            shared += popcount(usable & position[FREE + other + word])
        features[player, 0] = np.log(1.0 + total)
        features[player, 1] = placeable
        features[player, 2] = live
        features[player, 3] = free
        features[player, 4] = corners
        features[player, 5] = single
        features[player, 6] = shared
        features[player, 7] = small
        if player == 0:
            totals0 = total
        else:
            totals1 = total
    return totals0, totals1


@njit(**KERNEL)
def room(position):
    """The room left: cells that a player may still cover, those of both players counted twice.

    `position` is uint64[POSITION_WORDS].
    """
    cells = 0
    for word in range(2 * WORDS):
        cells += popcount(position[FREE + word])
    return cells


@njit(**KERNEL)
def stage_of(features, room_at_start):
    """The stage (0..N_STAGES - 1) of a position with `features` (float64[2, N_FEATURES]).

    `room_at_start` (int64) is the room of the first position.
    """
    spent = room_at_start - features[0, 3] - features[1, 3]
    return max(0, min(N_STAGES - 1, np.int64(N_STAGES * spent) // room_at_start))


@njit(**KERNEL)
def value_logit(position, features, weights, room_at_start):
    """The logit (float64) of the player to move winning; `weights` is float64[N_STAGES, N_FEATURES + 1], a bias last.

    `position` is uint64[POSITION_WORDS], `features` float64[2, N_FEATURES]; for `room_at_start` see `stage_of`.
    """
    player = np.int64(position[TURN])
    stage = stage_of(features, room_at_start)
    total = weights[stage, N_FEATURES]
    for feature in range(N_FEATURES):
        total += weights[stage, feature] * (features[player, feature] - features[1 - player, feature])
    return total
