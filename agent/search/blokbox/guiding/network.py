"""A small neural network for one variant: the value of a position and the priors of its moves.

The inputs are sparse: each player's state of each cell, shapes that still fit somewhere, and all placements. An active
input adds its row to a hidden layer, as in an efficiently updatable network (Nasu 2018), but summed anew for each
position, as placements are found anew, too. The hidden layer feeds a second one that ends in the logit of winning and,
with a vector per move, the logits of the moves (the two heads of AlphaZero, Silver et al. 2018).

A network fits only its own pieces and board.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.blokbox.guiding.priors import N_BOARDS, N_COUNTS, describe, divide, softmax
from games.bits.arrays import allocate, array
from games.bits.board16x16 import WORDS
from games.bits.compiling import INNER
from games.bits.vectors import FLOATS, sum_rows
from games.bits.words import lowest
from games.native.blokbox.variant import BLOCKED, BOARD_CELLS, CORNERS, FREE, TURN

HIDDEN = FLOATS
"""Width of the first layer. 64 units had no lower loss after two epochs."""
SECOND = 16
"""Width of the second layer."""
CELL_STATES = 9
"""States of a cell: closed, free, or a free corner, for each player; state 0 is no input."""
N_MOVE_FEATURES = N_COUNTS + 2
"""Inputs of the move head that depend on the position: see `move_features`."""
_SCALES = np.array([0.2, 0.2, 0.1, 0.3, 0.2, 0.3], np.float32)
"""Factors that bring the counts of `priors.describe` to the size of the other move features."""


class Network(NamedTuple):
    """The weights, float32."""

    rows: NDArray[np.float32]
    """[inputs, HIDDEN]: cells x states, then fitting shapes per player, then all placements per player."""
    bias: NDArray[np.float32]
    """[HIDDEN]"""
    second: NDArray[np.float32]
    """[SECOND, HIDDEN]"""
    second_bias: NDArray[np.float32]
    """[SECOND]"""
    output: NDArray[np.float32]
    """[SECOND + 1]: bias last."""
    moves: NDArray[np.float32]
    """[moves, HIDDEN]"""
    move_bias: NDArray[np.float32]
    """[moves]"""
    move_features: NDArray[np.float32]
    """[N_MOVE_FEATURES, HIDDEN + 1]: each move feature's weight as a linear function of the hidden layer, its constant
    last."""


class NetworkWorkspace(NamedTuple):
    """Memory of one thread's forward passes."""

    active: NDArray[np.int32] = array(np.int32, "inputs")
    """Active inputs first."""
    hidden: NDArray[np.float32] = array(np.float32, HIDDEN)
    """The first layer."""
    second: NDArray[np.float32] = array(np.float32, SECOND)
    """The second layer."""
    densities: NDArray[np.float32] = array(np.float32, 2, BOARD_CELLS)
    """See `placement_density`."""
    boards: NDArray[np.uint64] = array(np.uint64, N_BOARDS, WORDS)
    """See `priors.divide`."""
    move_features: NDArray[np.float32] = array(np.float32, N_MOVE_FEATURES)
    """Features of one move."""
    feature_weights: NDArray[np.float32] = array(np.float32, N_MOVE_FEATURES)
    """Their weights in the position."""


def new_network_workspace(n_shapes: int) -> NetworkWorkspace:
    """Memory for one thread."""
    return allocate(NetworkWorkspace, inputs=weight_shapes(n_shapes)["rows"][0])


def weight_shapes(n_shapes: int) -> dict[str, tuple[int, ...]]:
    """The shapes of a network's arrays, by field, for `n_shapes` shapes of pieces."""
    n_moves = n_shapes * BOARD_CELLS
    return {
        "rows": (BOARD_CELLS * CELL_STATES + 2 * n_shapes + 2 * n_moves, HIDDEN),
        "bias": (HIDDEN,),
        "second": (SECOND, HIDDEN),
        "second_bias": (SECOND,),
        "output": (SECOND + 1,),
        "moves": (n_moves, HIDDEN),
        "move_bias": (n_moves,),
        "move_features": (N_MOVE_FEATURES, HIDDEN + 1),
    }


def no_network() -> Network:
    """A network without rows, which stands for none."""
    return Network(*(np.zeros((0,) * len(shape), np.float32) for shape in weight_shapes(0).values()))


@njit(inline="always")
def list_inputs(position, scratch, slot, live, n_shapes, active):
    """List the active inputs of a position in `active` (int32[...]); return their number.

    `evaluation.take_features` must have filled the slots `slot` and `slot + 1` of `scratch`, with `live` (int64[2])
    shapes per player. `position` is uint64[POSITION_WORDS].
    """
    player = np.int64(position[TURN])
    n = 0
    mine = FREE + WORDS * player
    theirs = FREE + WORDS * (1 - player)
    to_corners = CORNERS - FREE
    for word in range(WORDS):
        own = position[mine + word]
        other = position[theirs + word]
        own_corners = position[mine + to_corners + word]
        other_corners = position[theirs + to_corners + word]
        bits = own | other
        while bits:
            cell = lowest(bits)
            bits &= bits - np.uint64(1)
            shift = np.uint64(cell)
            one = np.uint64(1)
            own_state = np.int64((own >> shift) & one) * (1 + np.int64((own_corners >> shift) & one))
            other_state = np.int64((other >> shift) & one) * (1 + np.int64((other_corners >> shift) & one))
            active[n] = CELL_STATES * (64 * word + cell) + 3 * own_state + other_state
            n += 1
    fitting = BOARD_CELLS * CELL_STATES
    placing = fitting + 2 * n_shapes
    for side in range(2):
        owner = player if side == 0 else 1 - player
        for index in range(live[owner]):
            shape = scratch.shapes[slot + owner, index]
            active[n] = fitting + side * n_shapes + shape
            n += 1
            base = placing + (side * n_shapes + shape) * BOARD_CELLS
            if scratch.counts[slot + owner, index] == 0:
                continue
            for word in range(WORDS):
                bits = scratch.legal[slot + owner, index, word]
                while bits:
                    active[n] = base + 64 * word + lowest(bits)
                    n += 1
                    bits &= bits - np.uint64(1)
    return n


@njit(**INNER)
def hidden_layer(network, position, scratch, slot, live, n_shapes, workspace):
    """The forward pass up to `workspace.hidden` (NetworkWorkspace); for the other arguments see `list_inputs`."""
    n = list_inputs(position, scratch, slot, live, n_shapes, workspace.active)
    hidden = workspace.hidden
    sum_rows(network.rows.ctypes.data, network.bias.ctypes.data, workspace.active.ctypes.data, n, hidden.ctypes.data)
    for unit in range(HIDDEN):
        hidden[unit] = max(hidden[unit], np.float32(0.0))


@njit(**INNER, fastmath=True)
def value_head(network, hidden, second):
    """The logit of the player to move winning, from `hidden` (float32[HIDDEN]).

    `second` (float32[SECOND]) becomes the second layer.
    """
    logit = network.output[SECOND]
    for unit in range(SECOND):
        total = network.second_bias[unit]
        for index in range(HIDDEN):
            total += network.second[unit, index] * hidden[index]
        second[unit] = max(total, np.float32(0.0))
        logit += network.output[unit] * second[unit]
    return logit


@njit(inline="always")
def step_of(offset):
    """The step from an anchor to a cell of a shape, by the cell's byte offset 64 * dx + 2 * dy (see `bits.fit`)."""
    return (np.int64(offset) >> 6) + 8 * (np.int64(offset) & 63)


@njit(**INNER)
def placement_density(tables, scratch, slot, live, density):
    """Write the share of a slot's placements that cover each cell to `density` (float32[256])."""
    for cell in range(BOARD_CELLS):
        density[cell] = np.float32(0.0)
    total = 0
    for index in range(live):
        total += scratch.counts[slot, index]
        if scratch.counts[slot, index] == 0:
            continue
        shape = scratch.shapes[slot, index]
        for word in range(WORDS):
            bits = scratch.legal[slot, index, word]
            while bits:
                anchor = 64 * word + lowest(bits)
                bits &= bits - np.uint64(1)
                for cell in range(tables.first[shape], tables.first[shape + 1]):
                    density[anchor + step_of(tables.offsets[cell])] += np.float32(1.0)
    if total:
        for cell in range(BOARD_CELLS):
            density[cell] /= np.float32(total)


@njit(inline="always")
def move_features(tables, move, player, boards, densities, features):
    """Write the features of a move of the player to move to `features` (float32[N_MOVE_FEATURES]).

    These are the scaled counts of `priors.describe`, with its `boards`, and sums of `densities` (float32[2, 256], by
    player): the opponent's over covered cells, own ones over blocked cells.
    """
    describe(tables, move, boards, features)
    for index in range(N_COUNTS):
        features[index] *= _SCALES[index]
    shape = move // BOARD_CELLS
    anchor = move - shape * BOARD_CELLS
    hindered = np.float32(0.0)
    for cell in range(tables.first[shape], tables.first[shape + 1]):
        hindered += densities[1 - player, anchor + step_of(tables.offsets[cell])]
    given_up = np.float32(0.0)
    for word in range(WORDS):
        blocked = tables.effects[move, BLOCKED + word]
        while blocked:
            given_up += densities[player, 64 * word + lowest(blocked)]
            blocked &= blocked - np.uint64(1)
    features[N_COUNTS] = hindered
    features[N_COUNTS + 1] = given_up


@njit(**INNER, fastmath=True)
def move_feature_weights(network, hidden, weights):
    """Write the move features' weights in a position with that hidden layer to `weights` (float32[N_MOVE_FEATURES])."""
    for index in range(N_MOVE_FEATURES):
        total = network.move_features[index, HIDDEN]
        for unit in range(HIDDEN):
            total += network.move_features[index, unit] * hidden[unit]
        weights[index] = total


@njit(**INNER, fastmath=True)
def policy_logit(network, hidden, weights, features, move):
    """The logit of a move (int64).

    `hidden` is float32[HIDDEN], `features` and their `weights` are float32[N_MOVE_FEATURES].
    """
    logit = network.move_bias[move]
    for unit in range(HIDDEN):
        logit += network.moves[move, unit] * hidden[unit]
    for index in range(N_MOVE_FEATURES):
        logit += weights[index] * features[index]
    return logit


@njit(inline="always")
def network_priors(tables, network, position, scratch, slot, live, moves, n, workspace, priors):
    """Write the prior probabilities of the first `n` of `moves` to `priors` (float32[...]), after `hidden_layer`."""
    for player in range(2):
        placement_density(tables, scratch, slot + player, live[player], workspace.densities[player])
    divide(position, workspace.boards)
    move_feature_weights(network, workspace.hidden, workspace.feature_weights)
    player = np.int64(position[TURN])
    for index in range(n):
        move_features(tables, moves[index], player, workspace.boards, workspace.densities, workspace.move_features)
        priors[index] = policy_logit(
            network, workspace.hidden, workspace.feature_weights, workspace.move_features, moves[index]
        )
    softmax(priors, n)
