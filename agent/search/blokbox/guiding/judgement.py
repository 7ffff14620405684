"""What a position and its moves look like before they are searched: by the network where there is one, else by rule."""

from __future__ import annotations

import numpy as np
from numba import njit

from agent.search.blokbox.guiding.evaluation import N_FEATURES, judge, survey
from agent.search.blokbox.guiding.network import expect, look, net_priors
from agent.search.blokbox.guiding.priors import move_priors
from games.native.blokbox.rules import list_moves, play
from games.native.blokbox.variant import POSITION_WORDS, TURN


@njit(cache=True, nogil=True)
def chance(tables, position, tuning, scratch, live, features, desk):
    """The chance of the player to move, 0..1, after `survey` filled slots 0 and 1 of `scratch`, `live`, `features`."""
    if len(tuning.net.rows) > 0:
        look(tuning.net, position, scratch, 0, live, len(tables.piece), desk)
        logit = np.float64(expect(tuning.net, desk.hidden, desk.second))
    else:
        logit = judge(position, features, tuning.evaluation, tuning.room)
    return 1.0 / (1.0 + np.exp(-logit))


@njit(cache=True, nogil=True)
def rate_moves(tables, position, tuning, scratch, live, moves, n, desk, priors):
    """Prior probabilities of the first `n` of `moves`, into `priors` (float32[...]); for the rest see `chance`."""
    if len(tuning.net.rows) > 0:
        look(tuning.net, position, scratch, 0, live, len(tables.piece), desk)
        net_priors(tables, tuning.net, position, scratch, 0, live, moves, n, desk, priors)
    else:
        move_priors(tables, position, moves, n, tuning.prior_weights, priors)


@njit(cache=True, nogil=True)
def hardest_move(tables, root, tuning, stop, scratch, desk):
    """The move after which the opponent is likeliest to err, for a player who is lost if it does not; -1 without moves.

    Where `stop[0]` is not 0, only the first few moves are looked at. The opponent is taken to choose each reply by the
    square root of its prior: more at random than the priors have it.
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
    survey(tables, root, everything, live, scratch, 0, features, live)
    n = list_moves(scratch, player, live[player], moves)
    best = -1
    best_hope = -1.0
    for index in range(n):
        if stop[0] and index > 0:
            break
        child[:] = root
        play(tables, child, moves[index])
        live[:] = n_shapes
        survey(tables, child, everything, live, scratch, 0, features, live)
        n_replies = list_moves(scratch, 1 - player, live[1 - player], replies)
        rate_moves(tables, child, tuning, scratch, live, replies, n_replies, desk, priors)
        hope = 0.0
        total = 0.0
        for reply in range(n_replies):
            grandchild[:] = child
            play(tables, grandchild, replies[reply])
            live[:] = n_shapes
            total0, total1 = survey(tables, grandchild, everything, live, scratch, 0, features, live)
            own, other = (total0, total1) if player == 0 else (total1, total0)
            weight = np.sqrt(np.float64(priors[reply]))
            total += weight
            if own > 0:
                hope += weight * (
                    1.0 if other == 0 else chance(tables, grandchild, tuning, scratch, live, features, desk)
                )
        hope = 1.0 if n_replies == 0 else hope / total
        if hope > best_hope:
            best_hope = hope
            best = moves[index]
    return best
