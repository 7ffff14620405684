"""The value of a position and the priors of its moves before any search.

They come from the network where there is one, else from `evaluation` and `priors`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agent.search.blokbox.guiding.evaluation import N_FEATURES, take_features, value_logit
from agent.search.blokbox.guiding.network import hidden_layer, network_priors, value_head
from agent.search.blokbox.guiding.priors import move_priors
from games.native.blokbox.rules import list_moves, play
from games.native.blokbox.variant import POSITION_WORDS, TURN


@njit(cache=True, nogil=True)
def win_probability(tables, position, tuning, scratch, live, features, workspace):
    """The probability (float64, 0..1) that the player to move wins.

    `evaluation.take_features` must have filled slots 0 and 1 of `scratch`, `live` (int64[2]) and `features`
    (float64[2, N_FEATURES]). `tables` are the variant's, `position` is uint64[POSITION_WORDS], `tuning` a Tuning,
    `workspace` a NetworkWorkspace.
    """
    if len(tuning.network.rows) > 0:
        hidden_layer(tuning.network, position, scratch, 0, live, len(tables.piece), workspace)
        logit = np.float64(value_head(tuning.network, workspace.hidden, workspace.second))
    else:
        logit = value_logit(position, features, tuning.evaluation, tuning.room)
    return 1.0 / (1.0 + np.exp(-logit))


@njit(cache=True, nogil=True)
def priors_of_moves(tables, position, tuning, scratch, live, moves, n, workspace, priors):
    """Write the prior probabilities of the first `n` of `moves` (int64[...]) to `priors` (float32[...]).

    For the other arguments see `win_probability`.
    """
    if len(tuning.network.rows) > 0:
        hidden_layer(tuning.network, position, scratch, 0, live, len(tables.piece), workspace)
        network_priors(tables, tuning.network, position, scratch, 0, live, moves, n, workspace, priors)
    else:
        move_priors(tables, position, moves, n, tuning.prior_weights, priors)


@njit(cache=True, nogil=True)
def hardest_move(tables, root, tuning, stop, scratch, workspace):
    """The move after which the opponent is likeliest to err, for a player who is lost if it does not; -1 without moves.

    If `stop[0]` (uint8[1]) is not 0, only the first few moves are examined. The opponent is taken to choose each reply
    by the square root of its prior: more at random than the priors have it. `tables` are the variant's, `root` is
    uint64[POSITION_WORDS], `tuning` a Tuning, `workspace` a NetworkWorkspace; `scratch` has four slots.
    """
    n_shapes = len(tables.piece)
    everything = scratch.shapes[2:4]
    for player in range(2):
        for shape in range(n_shapes):
            everything[player, shape] = shape
    live = np.empty(2, np.int64)
    features = np.empty((2, N_FEATURES), np.float64)
    moves = np.empty(len(tables.effects), np.int64)
    replies = np.empty(len(tables.effects), np.int64)
    priors = np.empty(len(tables.effects), np.float32)
    child = np.empty(POSITION_WORDS, np.uint64)
    grandchild = np.empty(POSITION_WORDS, np.uint64)
    player = np.int64(root[TURN])
    live[:] = n_shapes
    take_features(tables, root, everything, live, scratch, 0, features, live)
    n = list_moves(scratch, player, live[player], moves)
    best = -1
    best_hope = -1.0
    for index in range(n):
        if stop[0] and index > 0:
            break
        child[:] = root
        play(tables, child, moves[index])
        live[:] = n_shapes
        take_features(tables, child, everything, live, scratch, 0, features, live)
        n_replies = list_moves(scratch, 1 - player, live[1 - player], replies)
        priors_of_moves(tables, child, tuning, scratch, live, replies, n_replies, workspace, priors)
        hope = 0.0
        total = 0.0
        for reply in range(n_replies):
            grandchild[:] = child
            play(tables, grandchild, replies[reply])
            live[:] = n_shapes
            total0, total1 = take_features(tables, grandchild, everything, live, scratch, 0, features, live)
            own, other = (total0, total1) if player == 0 else (total1, total0)
            weight = np.sqrt(np.float64(priors[reply]))
            total += weight
            if own > 0:
                hope += weight * (
                    1.0
                    if other == 0
                    else win_probability(tables, grandchild, tuning, scratch, live, features, workspace)
                )
        hope = 1.0 if n_replies == 0 else hope / total
        if hope > best_hope:
            best_hope = hope
            best = moves[index]
    return best
