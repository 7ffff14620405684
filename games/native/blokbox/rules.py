"""The rules of the Blokbox family as Numba kernels: placements, moves, perft and random playouts.

Parameters: `tables` is a `VariantTables`, `position` and `start` are uint64[POSITION_WORDS], `workspace` is a
`PlacementWorkspace`, `seed` the uint64[1] state of a generator (`games.bits.splitmix`). `variant` describes the layout
of positions and moves.

`placements` finds all moves of a player anew instead of updating move lists: with whole boards in vector registers (see
`board16x16`) that takes 0.17 µs for the 21 shapes of a 14x14 board. Only the list of *live* shapes is kept from ply to
ply. The cells that a player may cover only get fewer, so a shape that fits nowhere is out for the rest of the match.

`placements` and `play` run every ply and are inlined by force: a call passes a tuple of arrays word by word, seven
words per array, which takes as long as their work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.board16x16 import SHIFTED_BYTES, WORDS, fit, store_shifted
from games.bits.compiling import INNER, KERNEL, STEP
from games.bits.splitmix import random_below
from games.bits.words import lowest, popcount, select_bit
from games.native.blokbox.variant import (
    BLOCKED,
    BOARD_CELLS,
    CORNERS,
    COVERED,
    FREE,
    KEY,
    OWNED,
    POSITION_WORDS,
    TOUCHED,
    TURN,
    BlokboxVariant,
)


class PlacementWorkspace(NamedTuple):
    """Output of `placements`, for as many positions at once as there are slots."""

    shifted: NDArray[np.uint64]
    """Shifted boards (see `board16x16.store_shifted`); the initial zeros between them stay."""
    shapes: NDArray[np.int64]
    """[slots, shapes]: the live shapes."""
    counts: NDArray[np.int64]
    """[slots, shapes]: number of moves of each live shape."""
    legal: NDArray[np.uint64]
    """[slots, shapes, 4]: anchors of these moves."""


def new_placement_workspace(variant: BlokboxVariant, slots: int) -> PlacementWorkspace:
    """A workspace with every shape live in every slot."""
    n_shapes = len(variant.shapes)
    return PlacementWorkspace(
        shifted=np.zeros(2 * variant.tables.columns * SHIFTED_BYTES // 8 + WORDS, np.uint64),
        shapes=np.tile(np.arange(n_shapes), (slots, 1)),
        counts=np.zeros((slots, n_shapes), np.int64),
        legal=np.zeros((slots, n_shapes, WORDS), np.uint64),
    )


@njit(**STEP)
def placements(tables, position, player, candidates, n_candidates, workspace, slot):
    """All moves of `player` with the first `n_candidates` shapes of `candidates` (int64[...]).

    Fills a slot of `workspace` with the live shapes among them, their moves and counts. `candidates` may be the slot's
    own list. Returns the numbers of live shapes and of moves.
    """
    board = position.ctypes.data
    free = workspace.shifted.ctypes.data
    corners = free + tables.columns * SHIFTED_BYTES
    store_shifted(board + 8 * (FREE + WORDS * player), tables.columns, free)
    store_shifted(board + 8 * (CORNERS + WORDS * player), tables.columns, corners)
    anchors = tables.anchors.ctypes.data
    offsets = tables.offsets.ctypes.data
    legal = workspace.legal[slot].ctypes.data
    shapes = workspace.shapes[slot]
    counts = workspace.counts[slot]
    owned = position[OWNED + player]
    live = 0
    total = 0
    for index in range(n_candidates):
        shape = candidates[index]
        if not (owned >> np.uint64(tables.piece[shape])) & np.uint64(1):
            continue
        first = tables.first[shape]
        size = tables.first[shape + 1] - first
        count = fit(free, corners, offsets + 4 * first, size, anchors + 32 * shape, legal + 32 * live)
        if count < 0:
            continue
        shapes[live] = shape
        counts[live] = count
        live += 1
        total += count
    return live, total


@njit(**STEP)
def play(tables, position, move):
    """Places the piece of the player to move, in place."""
    player = np.int64(position[TURN])
    own = WORDS * player
    other = WORDS - own
    effect = tables.effects[move]
    for word in range(WORDS):
        position[FREE + own + word] &= ~effect[BLOCKED + word]
        position[FREE + other + word] &= ~effect[COVERED + word]
        position[CORNERS + own + word] |= effect[TOUCHED + word]
    position[OWNED + player] &= ~(np.uint64(1) << np.uint64(tables.piece[move // BOARD_CELLS]))
    position[KEY] ^= tables.keys[player, move]
    position[TURN] = np.uint64(1 - player)


@njit(inline="always")
def select(board, rank):
    """The cell of set bit number `rank` (from 0) of a board (uint64[4]); -1 if there are fewer bits."""
    for word in range(WORDS):
        bits = board[word]
        count = popcount(bits)
        if rank < count:
            return 64 * word + select_bit(bits, np.uint64(rank))
        rank -= count
    return -1


@njit(**KERNEL)
def list_moves(workspace, slot, live, moves):
    """Writes a slot's moves, of `live` shapes, to `moves` (int64[...]), by shape and cell. Returns their number."""
    n = 0
    for index in range(live):
        base = BOARD_CELLS * workspace.shapes[slot, index]
        for word in range(WORDS):
            bits = workspace.legal[slot, index, word]
            while bits:
                moves[n] = base + 64 * word + lowest(bits)
                n += 1
                bits &= bits - np.uint64(1)
    return n


@njit(inline="always")
def random_move(workspace, slot, live, total, seed):
    """A random one of the `total` >= 1 moves (int64) of a slot with `live` shapes."""
    rank = random_below(seed, total)
    for index in range(live):
        count = workspace.counts[slot, index]
        if rank < count:
            return BOARD_CELLS * workspace.shapes[slot, index] + select(workspace.legal[slot, index], rank)
        rank -= count
    return -1


@njit(**INNER)
def playout(tables, position, workspace, live, seed):
    """Plays `position` to the end, in place, by random moves. Returns the player who cannot move, and the plies.

    `workspace` has two slots; only the first `live[player]` (int64[2]) shapes of each player's slot can be live. Both
    are overwritten.
    """
    plies = 0
    while True:
        player = np.int64(position[TURN])
        live[player], total = placements(
            tables, position, player, workspace.shapes[player], live[player], workspace, player
        )
        if total == 0:
            return player, plies
        play(tables, position, random_move(workspace, player, live[player], total, seed))
        plies += 1


@njit(cache=True, nogil=True)
def playouts(tables, start, n, workspace, seed):
    """Plays `n` random matches from `start` to the end; `workspace` has two slots.

    Returns the number won by the player to move in `start`, and the total of plies.
    """
    n_shapes = len(tables.piece)
    position = np.empty(POSITION_WORDS, np.uint64)
    live = np.empty(2, np.int64)
    won = 0
    plies = 0
    for _ in range(n):
        position[:] = start
        live[:] = n_shapes
        for player in range(2):
            for shape in range(n_shapes):
                workspace.shapes[player, shape] = shape
        loser, played = playout(tables, position, workspace, live, seed)
        won += loser != np.int64(start[TURN])
        plies += played
    return won, plies


@njit(cache=True, nogil=True)
def perft(tables, start, depth, workspace, moves):
    """The number of sequences of `depth` >= 1 moves from `start`.

    `workspace` has `depth` slots; `moves` (int64[depth, m]) has room for the moves of a position.
    """
    n_shapes = len(tables.piece)
    positions = np.empty((depth, POSITION_WORDS), np.uint64)
    shapes = np.arange(n_shapes)
    left = np.zeros(depth, np.int64)
    positions[0] = start
    ply = 0
    entering = True
    leaves = 0
    while ply >= 0:
        if entering:
            position = positions[ply]
            live, total = placements(tables, position, np.int64(position[TURN]), shapes, n_shapes, workspace, ply)
            if ply == depth - 1:
                leaves += total
                ply -= 1
                entering = False
                continue
            left[ply] = list_moves(workspace, ply, live, moves[ply])
        if left[ply] == 0:
            ply -= 1
            entering = False
            continue
        left[ply] -= 1
        positions[ply + 1] = positions[ply]
        play(tables, positions[ply + 1], moves[ply, left[ply]])
        ply += 1
        entering = True
    return leaves
