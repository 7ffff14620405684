"""A small neural network for one variant: who wins a position, and which of its moves deserve to be searched.

Its inputs are sparse: what the player to move and the other one may do with each cell, which shapes still fit in
somewhere, and every placement that both have. Each active input adds its row to a hidden layer, as in an efficiently
updatable network (Nasu 2018), only that the rows are summed anew for each position: all placements are found anew as
well. The hidden layer feeds a second one that ends in the logit of winning, and, with a vector per move, the logits of
the moves (the two heads of AlphaZero, Silver et al. 2018).

A network knows nothing about other piece sets or boards than its own: see `tuning` for when it is used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.blokbox.guiding.priors import N_BOARDS, describe, divide, softmax
from agent.search.blokbox.guiding.priors import N_FEATURES as N_COUNTS
from games.bits.board16x16 import WORDS
from games.bits.vectors import FLOATS, sum_rows
from games.bits.words import lowest
from games.native.blokbox.variant import BLOCKED, BOARD_CELLS, CORNERS, FREE, TURN

HIDDEN = FLOATS
"""Width of the first layer."""
SECOND = 16
"""Width of the second layer."""
CELL_STATES = 9
"""A cell is closed, free, or free and a corner to a player; to both 3 x 3 states, of which 0 is no input."""
N_HINTS = N_COUNTS + 2
"""Inputs of the move head that depend on the position: see `hint`."""
_SCALES = np.array([0.2, 0.2, 0.1, 0.3, 0.2, 0.3], np.float32)
"""They bring the counts of `priors.describe` to the size of the other hints."""


class Net(NamedTuple):
    """The weights, float32."""

    rows: NDArray[np.float32]
    """[inputs, HIDDEN]: cells x states, then per player shapes that fit in, then per player all placements."""
    bias: NDArray[np.float32]
    """[HIDDEN]"""
    second: NDArray[np.float32]
    """[SECOND, HIDDEN]"""
    second_bias: NDArray[np.float32]
    """[SECOND]"""
    output: NDArray[np.float32]
    """[SECOND + 1]: the last one is the bias."""
    moves: NDArray[np.float32]
    """[moves, HIDDEN]"""
    move_bias: NDArray[np.float32]
    """[moves]"""
    hints: NDArray[np.float32]
    """[N_HINTS, HIDDEN + 1]: each hint's weight is linear in the hidden layer; the last column is its constant."""


class Desk(NamedTuple):
    """Where the kernels put down what they work with."""

    active: NDArray[np.int32]
    hidden: NDArray[np.float32]
    second: NDArray[np.float32]
    densities: NDArray[np.float32]
    """[2, 256]: see `crowd`."""
    boards: NDArray[np.uint64]
    """[N_BOARDS, 4]: see `priors.divide`."""
    hints: NDArray[np.float32]
    weights: NDArray[np.float32]
    """[N_HINTS]: those of the hints."""


def new_desk(n_shapes: int) -> Desk:
    """Memory for one thread."""
    return Desk(
        active=np.zeros(net_shapes(n_shapes)["rows"][0], np.int32),
        hidden=np.zeros(HIDDEN, np.float32),
        second=np.zeros(SECOND, np.float32),
        densities=np.zeros((2, BOARD_CELLS), np.float32),
        boards=np.zeros((N_BOARDS, WORDS), np.uint64),
        hints=np.zeros(N_HINTS, np.float32),
        weights=np.zeros(N_HINTS, np.float32),
    )


def net_shapes(n_shapes: int) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays of a network for so many shapes of pieces."""
    n_moves = n_shapes * BOARD_CELLS
    return {
        "rows": (BOARD_CELLS * CELL_STATES + 2 * n_shapes + 2 * n_moves, HIDDEN),
        "bias": (HIDDEN,),
        "second": (SECOND, HIDDEN),
        "second_bias": (SECOND,),
        "output": (SECOND + 1,),
        "moves": (n_moves, HIDDEN),
        "move_bias": (n_moves,),
        "hints": (N_HINTS, HIDDEN + 1),
    }


@njit(cache=True, nogil=True, forceinline=True)
def observe(position, scratch, slot, live, n_shapes, active):
    """List the active inputs of a position in `active` (int32[...]); returns how many they are.

    `evaluation.survey` must have filled the slots `slot` and `slot + 1` of `scratch`, with `live` shapes per player.
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
        seat = player if side == 0 else 1 - player
        for index in range(live[seat]):
            shape = scratch.shapes[slot + seat, index]
            active[n] = fitting + side * n_shapes + shape
            n += 1
            base = placing + (side * n_shapes + shape) * BOARD_CELLS
            if scratch.counts[slot + seat, index] == 0:
                continue
            for word in range(WORDS):
                bits = scratch.legal[slot + seat, index, word]
                while bits:
                    active[n] = base + 64 * word + lowest(bits)
                    n += 1
                    bits &= bits - np.uint64(1)
    return n


@njit(cache=True, nogil=True, forceinline=True)
def look(net, position, scratch, slot, live, n_shapes, desk):
    """Fill `desk.hidden` for a position; for the arguments in between see `observe`."""
    n = observe(position, scratch, slot, live, n_shapes, desk.active)
    hidden = desk.hidden
    sum_rows(net.rows.ctypes.data, net.bias.ctypes.data, desk.active.ctypes.data, n, hidden.ctypes.data)
    for unit in range(HIDDEN):
        hidden[unit] = max(hidden[unit], np.float32(0.0))


@njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def expect(net, hidden, second):
    """The logit of the player to move winning; `second` (float32[SECOND]) becomes the second layer."""
    logit = net.output[SECOND]
    for unit in range(SECOND):
        total = net.second_bias[unit]
        for index in range(HIDDEN):
            total += net.second[unit, index] * hidden[index]
        second[unit] = max(total, np.float32(0.0))
        logit += net.output[unit] * second[unit]
    return logit


@njit(cache=True, nogil=True)
def step_of(offset):
    """From an anchor to a cell of a shape, by the cell's byte offset 64 * dx + 2 * dy (see `bits.fit`)."""
    return (np.int64(offset) >> 6) + 8 * (np.int64(offset) & 63)


@njit(cache=True, nogil=True)
def crowd(tables, scratch, slot, live, density):
    """Count for each cell how many of a slot's placements cover it: `density` (float32[256]), as shares of all."""
    density[:] = 0.0
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
        density /= np.float32(total)


@njit(cache=True, nogil=True, forceinline=True)
def hint(tables, move, player, boards, densities, hints):
    """Write what is easily seen of a move of the player to move to `hints` (float32[N_HINTS]).

    The counts of `priors.describe`, scaled, with its `boards`; then how crowded with the opponent's placements the
    covered cells are and with own ones the blocked ones: `densities` (float32[2, 256]) by player.
    """
    describe(tables, move, boards, hints)
    for index in range(N_COUNTS):
        hints[index] *= _SCALES[index]
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
    hints[N_COUNTS] = hindered
    hints[N_COUNTS + 1] = given_up


@njit(cache=True, nogil=True, fastmath=True)
def hint_weights(net, hidden, weights):
    """What each hint weighs in a position with that hidden layer: `weights` (float32[N_HINTS])."""
    for index in range(N_HINTS):
        total = net.hints[index, HIDDEN]
        for unit in range(HIDDEN):
            total += net.hints[index, unit] * hidden[unit]
        weights[index] = total


@njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def prefer(net, hidden, weights, hints, move):
    """The logit of a move, from the hidden layer, the hints and their weights."""
    logit = net.move_bias[move]
    for unit in range(HIDDEN):
        logit += net.moves[move, unit] * hidden[unit]
    for index in range(N_HINTS):
        logit += weights[index] * hints[index]
    return logit


@njit(cache=True, nogil=True)
def net_priors(tables, net, position, scratch, slot, live, moves, n, desk, priors):
    """Write the prior probabilities of the first `n` of `moves` to `priors` (float32[...]), after `look`."""
    for player in range(2):
        crowd(tables, scratch, slot + player, live[player], desk.densities[player])
    divide(position, desk.boards)
    hint_weights(net, desk.hidden, desk.weights)
    player = np.int64(position[TURN])
    for index in range(n):
        hint(tables, moves[index], player, desk.boards, desk.densities, desk.hints)
        priors[index] = prefer(net, desk.hidden, desk.weights, desk.hints, moves[index])
    softmax(priors, n)
