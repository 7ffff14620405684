"""Iterative-deepening principal-variation search, one iteration per call of a Numba kernel with explicit stacks.

Scores are from the player to move: hundredths of the logit of winning, or `WIN` and `-WIN`, which are always proofs:
they come from ends of the match and from `territory` only, and no move is ever left out. Late moves are searched less
deeply first (LMR), which keeps that true. Positions in which the opponent has no move left are won at once: without
moving nobody gains any.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.blokbox.guiding.evaluation import N_FEATURES, judge, survey
from agent.search.blokbox.guiding.evaluation import room as room_in
from agent.search.blokbox.guiding.priors import N_BOARDS, describe, divide
from agent.search.blokbox.guiding.priors import N_FEATURES as N_PRIORS
from agent.search.blokbox.proving.regions import Territory, new_territory
from agent.search.blokbox.proving.territory import LOST, WON, verdict
from games.bits.board16x16 import WORDS
from games.native.blokbox.rules import PlacementWorkspace, list_moves, new_placement_workspace, play
from games.native.blokbox.variant import KEY, POSITION_WORDS, TURN, Variant

WIN = 30_000
LIMIT = 20_000
"""No evaluation is beyond this."""
MAX_DEPTH = 130
STOP_INTERVAL = 512
"""Nodes between two looks at the stop flag: well below 1 ms."""

VERDICT_MOVES = 30
"""Territories are looked at where one player has at most so many moves: with more they hardly ever decide."""
VERDICT_ROOM = 0.6
"""They are not while more than this share of the first position's room is left: nothing is proven that early."""
LEAF_LOGIT = 3.0
"""At leaves they are, too, where the evaluation is that sure; there they decide every other time."""
SOLO_ENTRIES = 1 << 18
"""Entries of the table of solo results, 10 bytes each."""

LOWER, UPPER, EXACT = 1, 2, 3

FULL, SCOUT, REDUCED = 0, 1, 2
"""How the current move of a ply is being searched."""

BEST_MOVE, SCORE, NODES, FINISHED = 0, 1, 2, 3
"""Indices into the result of `iterate`."""


class Table(NamedTuple):
    """Transposition table: parallel arrays of a power of two entries, newest or deepest entry kept."""

    keys: NDArray[np.uint64]
    scores: NDArray[np.int16]
    moves: NDArray[np.int32]
    depths: NDArray[np.int8]
    bounds: NDArray[np.int8]


class Stacks(NamedTuple):
    """What the search keeps per ply."""

    positions: NDArray[np.uint64]
    scratch: PlacementWorkspace
    live: NDArray[np.int64]
    """[plies + 1, 2]: live shapes of both players; entry `ply` is what ply `ply` starts from."""
    everything: NDArray[np.int64]
    moves: NDArray[np.int64]
    order: NDArray[np.float32]
    history: NDArray[np.float32]
    """[2, moves]: how often a move of each player cut, weighted by depth."""
    killers: NDArray[np.int64]
    territory: Territory


def new_table(entries: int) -> Table:
    """An empty table with a power of two of entries."""
    return Table(
        keys=np.zeros(entries, np.uint64),
        scores=np.zeros(entries, np.int16),
        moves=np.zeros(entries, np.int32),
        depths=np.zeros(entries, np.int8),
        bounds=np.zeros(entries, np.int8),
    )


def new_stacks(variant: Variant) -> Stacks:
    """Stacks for the deepest search of a variant."""
    max_moves = sum(len(shape.anchors) for shape in variant.shapes)
    n_shapes = len(variant.shapes)
    return Stacks(
        positions=np.zeros((MAX_DEPTH + 1, POSITION_WORDS), np.uint64),
        scratch=new_placement_workspace(variant, 2 * MAX_DEPTH + 2),
        live=np.zeros((MAX_DEPTH + 2, 2), np.int64),
        everything=np.tile(np.arange(n_shapes), (2, 1)),
        moves=np.zeros((MAX_DEPTH + 1, max_moves), np.int64),
        order=np.zeros((MAX_DEPTH + 1, max_moves), np.float32),
        history=np.zeros((2, len(variant.tables.effects)), np.float32),
        killers=np.full((MAX_DEPTH + 1, 2), -1, np.int64),
        territory=new_territory(variant, SOLO_ENTRIES),
    )


@njit(cache=True, nogil=True)
def _order_moves(tables, stacks, ply, n, hash_move, prior_weights, boards, features):
    """Scores for the moves of a ply: hash move, killers, then what they cover and how often they cut."""
    position = stacks.positions[ply]
    player = np.int64(position[TURN])
    divide(position, boards)
    for index in range(n):
        move = stacks.moves[ply, index]
        if move == hash_move:
            score = 1e9
        elif move == stacks.killers[ply, 0] or move == stacks.killers[ply, 1]:
            score = 1e6
        else:
            describe(tables, move, boards, features)
            score = np.log1p(stacks.history[player, move])
            for feature in range(N_PRIORS):
                score += prior_weights[feature] * features[feature]
        stacks.order[ply, index] = score


@njit(cache=True, nogil=True)
def _next_move(stacks, ply, index, n):
    """Brings the best of the moves from `index` on to the front and returns it."""
    best = index
    for other in range(index + 1, n):
        if stacks.order[ply, other] > stacks.order[ply, best]:
            best = other
    moves, order = stacks.moves[ply], stacks.order[ply]
    moves[index], moves[best] = moves[best], moves[index]
    order[index], order[best] = order[best], order[index]
    return moves[index]


@njit(cache=True, nogil=True)
def iterate(tables, root, depth, stacks, table, weights, prior_weights, room, lost, stop, result):
    """Search `root` to `depth` >= 1 and write `result` (int64[4]): best move, score, nodes, whether it was finished.

    `room` is that of the first position of the match (see `evaluation`). `lost` (uint8[moves]) becomes 1 for every root
    move that is found to lose. An unfinished search leaves the best move and score of the moves that were finished; the
    best move is -1 if there is none.
    """
    mask = np.uint64(len(table.keys) - 1)
    depths = np.empty(MAX_DEPTH + 1, np.int64)
    alphas = np.empty(MAX_DEPTH + 1, np.int64)
    betas = np.empty(MAX_DEPTH + 1, np.int64)
    lows = np.empty(MAX_DEPTH + 1, np.int64)
    bests = np.empty(MAX_DEPTH + 1, np.int64)
    best_moves = np.empty(MAX_DEPTH + 1, np.int64)
    sizes = np.empty(MAX_DEPTH + 1, np.int64)
    indices = np.empty(MAX_DEPTH + 1, np.int64)
    modes = np.empty(MAX_DEPTH + 1, np.int64)
    features = np.empty((2, N_FEATURES), np.float64)
    move_features = np.empty(N_PRIORS, np.float64)
    boards = np.empty((N_BOARDS, WORDS), np.uint64)
    n_shapes = len(tables.piece)
    verdict_moves = VERDICT_MOVES if room_in(root) <= VERDICT_ROOM * room else 0
    nodes = 0
    ply = 0
    stacks.positions[0] = root
    stacks.live[0, :] = n_shapes
    depths[0] = depth
    alphas[0] = -WIN - 1
    betas[0] = WIN + 1
    entering = True
    value = 0
    result[FINISHED] = 0
    result[BEST_MOVE] = -1
    while True:
        if entering:
            nodes += 1
            if nodes % STOP_INTERVAL == 0 and stop[0]:
                break
            position = stacks.positions[ply]
            alpha = alphas[ply]
            beta = betas[ply]
            key = position[KEY]
            slot = np.int64(key & mask)
            hash_move = -1
            known = False
            # Leaves are not stored, and asking for them costs a cache miss each.
            if depths[ply] > 0 and table.bounds[slot] and table.keys[slot] == key:
                hash_move = np.int64(table.moves[slot])
                score = np.int64(table.scores[slot])
                bound = table.bounds[slot]
                if ply > 0 and (table.depths[slot] >= depths[ply] or abs(score) == WIN):
                    known = bound == EXACT or (bound == LOWER and score >= beta) or (bound == UPPER and score <= alpha)
                    value = score
            if not known:
                before = stacks.everything if ply == 0 else stacks.scratch.shapes[2 * ply - 2 : 2 * ply]
                total0, total1 = survey(
                    tables, position, before, stacks.live[ply], stacks.scratch, 2 * ply, features, stacks.live[ply + 1]
                )
                player = np.int64(position[TURN])
                own, other = (total0, total1) if player == 0 else (total1, total0)
                if own == 0:
                    value = -WIN
                    known = True
                elif other == 0 and ply > 0:
                    value = WIN
                    known = True
                elif ply > 0:
                    leaf = depths[ply] <= 0
                    logit = judge(position, features, weights, room)
                    if min(own, other) <= verdict_moves and (not leaf or abs(logit) >= LEAF_LOGIT):
                        shapes = stacks.scratch.shapes[2 * ply : 2 * ply + 2]
                        expected = WON if logit > 0.0 else LOST
                        proof = verdict(tables, position, shapes, stacks.live[ply + 1], expected, stacks.territory)
                        if proof != 0:
                            value = WIN * proof
                            known = True
                    if leaf and not known:
                        value = max(-LIMIT, min(LIMIT, np.int64(100.0 * logit)))
                        known = True
                if not known:
                    n = list_moves(stacks.scratch, 2 * ply + player, stacks.live[ply + 1, player], stacks.moves[ply])
                    _order_moves(tables, stacks, ply, n, hash_move, prior_weights, boards, move_features)
                    sizes[ply] = n
                    indices[ply] = 0
                    lows[ply] = alpha
                    bests[ply] = -WIN - 1
                    best_moves[ply] = -1
            if known:
                if ply == 0:
                    result[SCORE] = value
                    result[FINISHED] = 1
                    break
                ply -= 1
                entering = False
                continue
        else:
            # A child came back.
            value = -value
            mode = modes[ply]
            if mode == REDUCED and value > alphas[ply]:
                modes[ply] = SCOUT
                depths[ply + 1] = depths[ply] - 1
                alphas[ply + 1] = -alphas[ply] - 1
                betas[ply + 1] = -alphas[ply]
                ply += 1
                entering = True
                continue
            if mode == SCOUT and alphas[ply] < value < betas[ply]:
                modes[ply] = FULL
                depths[ply + 1] = depths[ply] - 1
                alphas[ply + 1] = -betas[ply]
                betas[ply + 1] = -alphas[ply]
                ply += 1
                entering = True
                continue
            move = stacks.moves[ply, indices[ply]]
            indices[ply] += 1
            if value > bests[ply]:
                bests[ply] = value
                best_moves[ply] = move
                if value > alphas[ply]:
                    alphas[ply] = value
                if ply == 0:
                    result[BEST_MOVE] = move
                    result[SCORE] = value
            if ply == 0 and value == -WIN:
                lost[move] = 1
        if bests[ply] >= betas[ply] or bests[ply] == WIN or indices[ply] == sizes[ply]:
            # The ply is done.
            value = bests[ply]
            position = stacks.positions[ply]
            if value >= betas[ply]:
                move = best_moves[ply]
                player = np.int64(position[TURN])
                stacks.history[player, move] += depths[ply] * depths[ply]
                if stacks.killers[ply, 0] != move:
                    stacks.killers[ply, 1] = stacks.killers[ply, 0]
                    stacks.killers[ply, 0] = move
            key = position[KEY]
            slot = np.int64(key & mask)
            table.keys[slot] = key
            table.scores[slot] = value
            table.moves[slot] = best_moves[ply]
            table.depths[slot] = depths[ply]
            table.bounds[slot] = (
                EXACT
                if abs(value) == WIN
                else (LOWER if value >= betas[ply] else (UPPER if value <= lows[ply] else EXACT))
            )
            if ply == 0:
                result[FINISHED] = 1
                break
            ply -= 1
            entering = False
            continue
        move = _next_move(stacks, ply, indices[ply], sizes[ply])
        stacks.positions[ply + 1] = stacks.positions[ply]
        play(tables, stacks.positions[ply + 1], move)
        depths[ply + 1] = depths[ply] - 1
        betas[ply + 1] = -alphas[ply]
        if indices[ply] == 0:
            modes[ply] = FULL
            alphas[ply + 1] = -betas[ply]
        else:
            alphas[ply + 1] = -alphas[ply] - 1
            modes[ply] = SCOUT
            if indices[ply] >= 4 and depths[ply] >= 2:
                modes[ply] = REDUCED
                depths[ply + 1] -= 1 + (indices[ply] >= 16 and depths[ply] >= 4)
        ply += 1
        entering = True
    result[NODES] = nodes
    return result
