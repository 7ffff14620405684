"""Depth-first proof-number search: proves who wins by looking first where the fewest positions remain to be proven.

df-pn (Nagai 2002), in the form for two-valued games in which the players take turns: `phi` of a position estimates what
it takes to prove that the player to move wins, `delta` what it takes to prove that it loses. `phi` is the least `delta`
of the children, `delta` is the sum of their `phi`; 0 is a proof. New positions start with estimates from the evaluation
and the numbers of moves (df-pn+, Nagai and Imai 1999). A child is searched on until it is worse than the second best
one by a quarter (the 1 + epsilon trick, Pawlewicz and Lew 2007).

No position can come about twice in one match, so that the table needs no care for cycles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.blokbox.evaluation import N_FEATURES, judge, survey
from agent.search.blokbox.regions import Territory, new_territory
from agent.search.blokbox.territory import LOST, WON, verdict
from games.native.blokbox.rules import Scratch, list_moves, new_scratch, play
from games.native.blokbox.variant import KEY, POSITION_WORDS, TURN, Variant

INFINITE = 1e9
"""The proof number of what was disproven."""
MAX_PLIES = 130
BUCKET = 4
"""Entries of the table among which a position has its place."""
SOLO_ENTRIES = 1 << 18
"""Entries of the table of solo results, 10 bytes each."""

VERDICT_MOVES = 30
"""Territories are looked at where one player has at most so many moves: with more they hardly ever decide."""
SURE_LOGIT = 2.0
"""New positions are looked at for territories where the evaluation is that sure, others when they are searched."""

LOGIT_WEIGHT = 1.5
LOGIT_LIMIT = 6.0
"""Of the weighted logit in estimates."""
PATIENCE = 1.25
"""By how much a child may get worse than the second best one before that one is searched."""

RESULT, BEST_MOVE, NODES = 0, 1, 2
"""Indices into the result of `prove`."""


class ProofTable(NamedTuple):
    """Transposition table: in each bucket, the positions with the most work below them."""

    keys: NDArray[np.uint64]
    numbers: NDArray[np.float32]
    """[entries, 2]: phi and delta."""
    work: NDArray[np.int32]
    """Positions that were looked at below, 0 in unused entries."""


class Frames(NamedTuple):
    """What the search keeps per ply."""

    positions: NDArray[np.uint64]
    scratch: Scratch
    live: NDArray[np.int64]
    """[plies + 1, 2]: live shapes of both players; entry `ply` is what ply `ply` starts from."""
    everything: NDArray[np.int64]
    moves: NDArray[np.int64]
    numbers: NDArray[np.float64]
    """[plies, moves, 2]: phi and delta of the children."""
    territory: Territory


def new_proof_table(entries: int) -> ProofTable:
    """An empty table with a power of two of entries, at least `BUCKET`."""
    return ProofTable(
        keys=np.zeros(entries, np.uint64),
        numbers=np.zeros((entries, 2), np.float32),
        work=np.zeros(entries, np.int32),
    )


def new_frames(variant: Variant) -> Frames:
    """Frames for the longest match of a variant."""
    max_moves = sum(len(shape.anchors) for shape in variant.shapes)
    return Frames(
        positions=np.zeros((MAX_PLIES + 1, POSITION_WORDS), np.uint64),
        scratch=new_scratch(variant, 2 * MAX_PLIES + 2),
        live=np.zeros((MAX_PLIES + 2, 2), np.int64),
        everything=np.tile(np.arange(len(variant.shapes)), (2, 1)),
        moves=np.zeros((MAX_PLIES + 1, max_moves), np.int64),
        numbers=np.zeros((MAX_PLIES + 1, max_moves, 2), np.float64),
        territory=new_territory(variant, SOLO_ENTRIES),
    )


@njit(cache=True, nogil=True)
def _first_slot(table, key):
    return np.int64(key & np.uint64(len(table.keys) - BUCKET))


@njit(cache=True, nogil=True)
def _find(table, key):
    """The slot of a position, or -1."""
    first = _first_slot(table, key)
    for slot in range(first, first + BUCKET):
        if table.keys[slot] == key and table.work[slot] > 0:
            return slot
    return -1


@njit(cache=True, nogil=True)
def _store(table, key, phi, delta, work):
    """Write a position over its own entry, or over that with the least work in its bucket."""
    first = _first_slot(table, key)
    target = first
    for slot in range(first, first + BUCKET):
        if table.keys[slot] == key:
            target = slot
            work += table.work[slot]
            break
        if table.work[slot] < table.work[target]:
            target = slot
    table.keys[target] = key
    table.numbers[target, 0] = phi
    table.numbers[target, 1] = delta
    table.work[target] = min(work, 1 << 30)


@njit(cache=True, nogil=True)
def _survey(tables, frames, ply, features, weights, room):
    """List both players' moves. Returns how many the player to move and the other one have, and the logit."""
    position = frames.positions[ply]
    before = frames.everything if ply == 0 else frames.scratch.shapes[2 * ply - 2 : 2 * ply]
    totals = survey(tables, position, before, frames.live[ply], frames.scratch, 2 * ply, features, frames.live[ply + 1])
    player = np.int64(position[TURN])
    return totals[player], totals[1 - player], judge(position, features, weights, room)


@njit(cache=True, nogil=True)
def _verdict(tables, frames, ply, logit):
    """That of `territory`, on a position that was surveyed."""
    shapes = frames.scratch.shapes[2 * ply : 2 * ply + 2]
    expected = WON if logit > 0.0 else LOST
    return verdict(tables, frames.positions[ply], shapes, frames.live[ply + 1], expected, frames.territory)


@njit(cache=True, nogil=True)
def _estimate(tables, frames, ply, features, weights, room):
    """Phi and delta of a new position."""
    own, other, logit = _survey(tables, frames, ply, features, weights, room)
    result = 0
    if own == 0:
        result = LOST
    elif other == 0:
        result = WON
    elif min(own, other) <= VERDICT_MOVES and abs(logit) >= SURE_LOGIT:
        result = _verdict(tables, frames, ply, logit)
    if result != 0:
        return (0.0, INFINITE) if result == WON else (INFINITE, 0.0)
    logit = max(-LOGIT_LIMIT, min(LOGIT_LIMIT, LOGIT_WEIGHT * logit))
    return np.sqrt(np.float64(other)) * np.exp(-logit), np.sqrt(np.float64(own)) * np.exp(logit)


@njit(cache=True, nogil=True)
def _open(tables, frames, ply, key, table, features, weights, room):
    """List a ply's moves and their numbers. Returns how many moves there are, and how many new positions.

    If the position is decided at once, or by the move listed last, it has that one move only.
    """
    position = frames.positions[ply]
    player = np.int64(position[TURN])
    own, other, logit = _survey(tables, frames, ply, features, weights, room)
    moves = frames.moves[ply]
    n = list_moves(frames.scratch, 2 * ply + player, frames.live[ply + 1, player], moves)
    # The root needs numbers for all of its moves.
    if ply > 0 and min(own, other) <= VERDICT_MOVES and abs(logit) < SURE_LOGIT:
        result = _verdict(tables, frames, ply, logit)
        if result != 0:
            frames.numbers[ply, 0, 0] = INFINITE if result == WON else 0.0
            frames.numbers[ply, 0, 1] = 0.0 if result == WON else INFINITE
            return 1, 0
    new = 0
    child = frames.positions[ply + 1]
    for index in range(n):
        child_key = key ^ tables.keys[player, moves[index]]
        slot = _find(table, child_key)
        if slot >= 0:
            phi, delta = np.float64(table.numbers[slot, 0]), np.float64(table.numbers[slot, 1])
        else:
            child[:] = position
            play(tables, child, moves[index])
            phi, delta = _estimate(tables, frames, ply + 1, features, weights, room)
            _store(table, child_key, phi, delta, 1)
            new += 1
        frames.numbers[ply, index, 0] = phi
        frames.numbers[ply, index, 1] = delta
        if delta == 0.0 and ply > 0:
            moves[0] = moves[index]
            frames.numbers[ply, 0, 0] = phi
            frames.numbers[ply, 0, 1] = delta
            return 1, new
    return n, new


@njit(cache=True, nogil=True)
def prove(tables, root, frames, table, weights, room_at_start, lost, stop, result):
    """Search `root` until it is proven or `stop[0]` is not 0, and write `result` (int64[3]).

    That is `WON`, `LOST` or 0, the winning move or -1, and how many new positions were looked at. `weights` and
    `room_at_start` are those of `evaluation.judge`. `lost` (uint8[moves]) becomes 1 for every root move that is found
    to lose.
    """
    keys = np.empty(MAX_PLIES + 1, np.uint64)
    sizes = np.empty(MAX_PLIES + 1, np.int64)
    chosen = np.empty(MAX_PLIES + 1, np.int64)
    phi_limits = np.empty(MAX_PLIES + 1, np.float64)
    delta_limits = np.empty(MAX_PLIES + 1, np.float64)
    nodes_before = np.empty(MAX_PLIES + 1, np.int64)
    features = np.empty((2, N_FEATURES), np.float64)
    nodes = 0
    ply = 0
    frames.positions[0] = root
    frames.live[0, :] = len(tables.piece)
    keys[0] = root[KEY]
    phi_limits[0] = INFINITE
    delta_limits[0] = INFINITE
    entering = True
    phi = 0.0
    delta = 0.0
    result[RESULT] = 0
    result[BEST_MOVE] = -1
    while True:
        position = frames.positions[ply]
        moves = frames.moves[ply]
        numbers = frames.numbers[ply]
        if entering:
            if stop[0]:
                break
            nodes_before[ply] = nodes
            sizes[ply], new = _open(tables, frames, ply, keys[ply], table, features, weights, room_at_start)
            nodes += new
            entering = False
        else:
            numbers[chosen[ply], 0] = phi
            numbers[chosen[ply], 1] = delta
        best = -1
        least = 2.0 * INFINITE
        second = 2.0 * INFINITE
        total = 0.0
        won_child = False
        for index in range(sizes[ply]):
            total += numbers[index, 0]
            won_child |= numbers[index, 1] >= INFINITE
            if numbers[index, 1] < least:
                second = least
                least = numbers[index, 1]
                best = index
            elif numbers[index, 1] < second:
                second = numbers[index, 1]
        if ply == 0 and won_child:
            for index in range(sizes[0]):
                if numbers[index, 0] == 0.0:
                    lost[moves[index]] = 1
        phi = min(least, INFINITE)
        # A sum of estimates is no disproof, however great it is.
        delta = INFINITE if phi == 0.0 else min(total, 0.5 * INFINITE)
        if phi >= phi_limits[ply] or delta >= delta_limits[ply]:
            _store(table, keys[ply], phi, delta, nodes - nodes_before[ply] + 1)
            if ply == 0:
                result[RESULT] = WON if phi == 0.0 else LOST
                result[BEST_MOVE] = moves[best] if phi == 0.0 else -1
                break
            ply -= 1
            continue
        chosen[ply] = best
        child = frames.positions[ply + 1]
        child[:] = position
        play(tables, child, moves[best])
        keys[ply + 1] = child[KEY]
        phi_limits[ply + 1] = delta_limits[ply] - (total - numbers[best, 0])
        delta_limits[ply + 1] = min(phi_limits[ply], PATIENCE * second + 0.01)
        ply += 1
        entering = True
    result[NODES] = nodes
    return result
