"""The value of a position and the priors of its moves, by the network or else by `evaluation` and `priors`."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.blokbox.guiding.evaluation import N_FEATURES, take_features, value_logit
from agent.search.blokbox.guiding.network import NetworkWorkspace, hidden_layer, network_priors, value_head
from agent.search.blokbox.guiding.priors import move_priors
from agent.search.blokbox.guiding.tuning import Tuning
from games.bits.compiling import INNER, KERNEL
from games.native.blokbox.rules import PlacementWorkspace, list_moves, play
from games.native.blokbox.variant import POSITION_WORDS, TURN, VariantTables


@njit(**INNER)
def win_probability(tables, position, tuning, scratch, live, features, workspace):
    """The probability (float64, 0..1) that the player to move wins.

    `evaluation.take_features` must have filled slots 0 and 1 of `scratch`, `live` (int64[2]) and `features`
    (float64[2, N_FEATURES]). `tables` are the variant's, `position` is uint64[POSITION_WORDS], `tuning` a Tuning,
    `workspace` a NetworkWorkspace.
    """
    if len(tuning.network.rows) > 0:
        hidden_layer(tuning.network, position, scratch, np.int64(0), live, len(tables.piece), workspace)
        logit = np.float64(value_head(tuning.network, workspace.hidden, workspace.second))
    else:
        logit = value_logit(position, features, tuning.evaluation, tuning.room)
    return 1.0 / (1.0 + np.exp(-logit))


@njit(**INNER)
def priors_of_moves(tables, position, tuning, scratch, live, moves, n, workspace, priors):
    """Write the prior probabilities of the first `n` of `moves` (int64[...]) to `priors` (float32[...]).

    For the other arguments see `win_probability`.
    """
    if len(tuning.network.rows) > 0:
        hidden_layer(tuning.network, position, scratch, np.int64(0), live, len(tables.piece), workspace)
        network_priors(tables, tuning.network, position, scratch, np.int64(0), live, moves, n, workspace, priors)
    else:
        move_priors(tables, position, moves, n, tuning.prior_weights, workspace.boards, workspace.move_features, priors)


def hardest_move(
    tables: VariantTables,
    root: NDArray[np.uint64],
    tuning: Tuning,
    stop: NDArray[np.uint8],
    scratch: PlacementWorkspace,
    workspace: NetworkWorkspace,
) -> int:
    """The move of a lost player after which the opponent is likeliest to err; -1 without moves.

    The opponent is taken to choose each reply by the square root of its prior. Stops early if `stop[0]` (uint8[1]) is
    set. `tables` are the variant's, `root` is uint64[POSITION_WORDS], `tuning` a Tuning, `workspace` a
    NetworkWorkspace; `scratch` has four slots.
    """
    n_moves, n_shapes = len(tables.effects), len(tables.piece)
    positions = np.stack([root, root, root])
    lists, priors = np.zeros((2, n_moves), np.int64), np.zeros(n_moves, np.float32)
    live, features = np.full(2, n_shapes), np.zeros((2, N_FEATURES))
    scratch.shapes[2:4] = np.arange(n_shapes)
    take_features(tables, root, scratch.shapes[2:4], live, scratch, 0, features, live)
    player = int(root[TURN])
    n = list_moves(scratch, player, int(live[player]), lists[0])
    return int(_hardest_move(tables, positions, tuning, stop, scratch, workspace, lists, n, priors, live, features))


@njit(inline="always")
def _examine(tables, position, scratch, live, features):
    """`take_features` of `position` in slots 0 and 1, with all shapes of slots 2 and 3 as candidates."""
    for player in range(2):
        live[player] = len(tables.piece)
    return take_features(tables, position, scratch.shapes[2:4], live, scratch, np.int64(0), features, live)


@njit(inline="always")
def _play_on(tables, position, move, child):
    """Make `child` the position after a move (both uint64[POSITION_WORDS])."""
    for word in range(POSITION_WORDS):
        child[word] = position[word]
    play(tables, child, move)


@njit(**KERNEL)
def _hardest_move(tables, positions, tuning, stop, scratch, workspace, lists, n, priors, live, features):
    """`hardest_move` from `positions[0]` (uint64[3, POSITION_WORDS]) with the first `n` moves of `lists[0]`.

    `lists` is int64[2, moves]; slots 2 and 3 of `scratch` list all shapes. Overwrites the other two positions, the
    second list, `priors` (float32[moves]), `live` (int64[2]) and `features` (float64[2, N_FEATURES]).
    """
    root, child, grandchild = positions[0], positions[1], positions[2]
    moves, replies = lists[0], lists[1]
    player = np.int64(root[TURN])
    best = -1
    best_hope = -1.0
    for index in range(n):
        if stop[0] and index > 0:
            break
        _play_on(tables, root, moves[index], child)
        _examine(tables, child, scratch, live, features)
        n_replies = list_moves(scratch, 1 - player, live[1 - player], replies)
        priors_of_moves(tables, child, tuning, scratch, live, replies, n_replies, workspace, priors)
        hope = 0.0
        total = 0.0
        for reply in range(n_replies):
            _play_on(tables, child, replies[reply], grandchild)
            total0, total1 = _examine(tables, grandchild, scratch, live, features)
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
