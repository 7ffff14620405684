"""How promising a move looks before it is searched: a softmax over a few counts of cells, after Pentobi's priors.

See `PriorKnowledge` in M. Enzenberger's Pentobi (libpentobi_mcts), which weighs points in the same spirit.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits import popcount
from games.native.blokbox.bits import WORDS
from games.native.blokbox.variant import BLOCKED, CORNERS, COVERED, FREE, TOUCHED, TURN

N_FEATURES = 6
"""Cells covered, corners won, own cells spent, own corners spent, opponent's free cells taken, its corners taken."""


@njit(cache=True, nogil=True)
def describe(tables, position, move, features):
    """Write the `N_FEATURES` counts of a move of the player to move to `features` (float64[...])."""
    player = np.int64(position[TURN])
    own = WORDS * player
    other = WORDS - own
    covered = 0
    won = 0
    spent = 0
    corners_spent = 0
    taken = 0
    corners_taken = 0
    effect = tables.effects[move]
    for word in range(WORDS):
        cover = effect[COVERED + word]
        block = effect[BLOCKED + word]
        free = position[FREE + own + word]
        corners = position[CORNERS + own + word]
        other_free = cover & position[FREE + other + word]
        covered += popcount(cover)
        won += popcount(effect[TOUCHED + word] & free & ~block & ~corners)
        spent += popcount(block & free)
        corners_spent += popcount(block & free & corners)
        taken += popcount(other_free)
        corners_taken += popcount(other_free & position[CORNERS + other + word])
    features[0] = covered
    features[1] = won
    features[2] = spent
    features[3] = corners_spent
    features[4] = taken
    features[5] = corners_taken


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def move_priors(tables, position, moves, n, weights, priors):
    """Write the prior probabilities of the first `n` of `moves` to `priors` (float32[...])."""
    features = np.empty(N_FEATURES, np.float64)
    for index in range(n):
        describe(tables, position, moves[index], features)
        score = 0.0
        for feature in range(N_FEATURES):
            score += weights[feature] * features[feature]
        priors[index] = score
    softmax(priors, n)
