"""Iterative-deepening principal-variation search of Blokbox positions that proves who wins.

The family's steps of `agent.search.alphabeta.search`. Scores are from the player to move: hundredths of the logit of
winning, or `WIN` and `-WIN`, which are always proofs: they come from ends of the match only, and no move is left out
for good. Late moves are searched less deeply first (LMR). A position in which the opponent has no move left is won:
nobody gains moves but by moving.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.alphabeta.frames import FRAME, NO_MOVE, select_move, set_window, start_moves
from agent.search.alphabeta.search import RETURN, SELECT
from agent.search.alphabeta.search import search as search_frames
from agent.search.blokbox.guiding.evaluation import N_FEATURES, take_features, value_logit
from agent.search.blokbox.guiding.priors import N_BOARDS, N_COUNTS, describe, divide
from games.bits.arrays import allocate, array
from games.bits.board16x16 import WORDS
from games.bits.compiling import KERNEL
from games.native.blokbox.rules import PlacementWorkspace, list_moves, new_placement_workspace, play
from games.native.blokbox.variant import KEY, POSITION_WORDS, TURN, BlokboxVariant, VariantTables

WIN = 30_000
LIMIT = 20_000
"""Largest evaluation."""
MAX_DEPTH = 130

LATE_MOVES = (4, 16)
"""First moves, counted from 0, to be searched one and two plies less deeply."""
LATE_DEPTHS = (2, 4)
"""Shallowest searches with these reductions."""

LOWER, UPPER, EXACT = 1, 2, 3

ENTRY = np.dtype(
    [
        ("key", np.uint64),
        ("move", np.int32),
        ("score", np.int16),
        ("depth", np.int8),
        # LOWER, UPPER, EXACT; 0 where nothing is stored.
        ("bound", np.int8),
    ],
    align=True,
)
"""Entry of the transposition table, whose size is a power of two; the newest one is kept."""


class ProverWorkspace(NamedTuple):
    """One thread's memory."""

    scratch: PlacementWorkspace
    """Two slots per ply, one for each player's moves, after two with all shapes."""
    frames: NDArray[Any] = array(FRAME, MAX_DEPTH + 1)
    positions: NDArray[np.uint64] = array(np.uint64, MAX_DEPTH + 1, POSITION_WORDS)
    live: NDArray[np.int64] = array(np.int64, MAX_DEPTH + 2, 2)
    """Live shapes of both players before each ply."""
    moves: NDArray[np.int64] = array(np.int64, MAX_DEPTH + 1, "most_moves")
    order: NDArray[np.float32] = array(np.float32, MAX_DEPTH + 1, "most_moves")
    """Order of the search, highest first."""
    history: NDArray[np.float32] = array(np.float32, 2, "moves")
    """Cuts by each player's moves, weighted by depth."""
    killers: NDArray[np.int64] = array(np.int64, MAX_DEPTH + 1, 2, fill=-1)
    """Last moves that cut at each ply, or -1."""
    features: NDArray[np.float64] = array(np.float64, 2, N_FEATURES)
    """See `evaluation.take_features`."""
    move_features: NDArray[np.float32] = array(np.float32, N_COUNTS)
    """See `priors.describe`."""
    boards: NDArray[np.uint64] = array(np.uint64, N_BOARDS, WORDS)
    """See `priors.divide`."""
    nodes: NDArray[np.int64] = array(np.int64, 1)
    """Number of positions visited, never reset by the search."""


class BlokboxGame(NamedTuple):
    """Everything that the searches of one thread read and write."""

    tables: VariantTables
    weights: NDArray[np.float64]
    """[stages, features + 1]: see `evaluation.value_logit`."""
    prior_weights: NDArray[np.float64]
    """[N_COUNTS]: see `priors`."""
    room: int
    """Room of the first position of the match (see `evaluation.room`)."""
    table: NDArray[Any]
    """ENTRY[entries]"""
    work: ProverWorkspace
    lost: NDArray[np.uint8]
    """[moves]: becomes 1 for root moves that are found to lose."""


def new_table(entries: int) -> NDArray[Any]:
    """An empty table with a power of two of entries."""
    return np.zeros(entries, ENTRY)


def new_workspace(variant: BlokboxVariant) -> ProverWorkspace:
    """Memory for the deepest search of a variant."""
    scratch = new_placement_workspace(variant, 2 * MAX_DEPTH + 4)
    most_moves = sum(len(shape.anchors) for shape in variant.shapes)
    return allocate(ProverWorkspace, {"scratch": scratch}, most_moves=most_moves, moves=len(variant.tables.effects))


@njit(inline="always")
def _enter(game, frames, ply):
    """`alphabeta.search.enter` for a BlokboxGame, FRAME[plies] and int64."""
    frame, work, tables = frames[ply], game.work, game.tables
    position, scratch, features, moves = work.positions[ply], work.scratch, work.features, work.moves[ply]
    before, live = work.live[ply], work.live[ply + 1]
    player, slot = np.int64(position[TURN]), 2 * ply + 2
    work.nodes[0] += 1
    # Step 1. The transposition table knows enough.
    hash_move, known = _look_up(game.table, position[KEY], frame, ply == 0)
    if known:
        return RETURN
    shapes = scratch.shapes[slot - 2 : slot]
    total0, total1 = take_features(tables, position, shapes, before, scratch, slot, features, live)
    own, other = (total0, total1) if player == 0 else (total1, total0)
    # Step 2. A player has no move left: who moves last wins. The root needs a move even if its result is proven.
    if own == 0:
        frame.value = -WIN
        return RETURN
    if ply > 0 and other == 0:
        frame.value = WIN
        return RETURN
    # Step 3. Leaf.
    if ply > 0 and frame.depth <= 0:
        logit = value_logit(position, features, game.weights, game.room)
        frame.value = max(-LIMIT, min(LIMIT, np.int64(100.0 * logit)))
        return RETURN
    n = list_moves(scratch, slot + player, live[player], moves)
    _order_moves(game, position, ply, n, hash_move)
    start_moves(frame, n)
    return SELECT


@njit(inline="always")
def _look_up(table, key, frame, at_root):
    """The hash move (or NO_MOVE), and whether the table's score decides the window; `value` is then set.

    Sound: proofs hold at any depth, other scores are used only from searches at least as deep. `table` is
    ENTRY[entries], `key` uint64, `frame` a FRAME record.
    """
    entry = table[np.int64(key & np.uint64(len(table) - 1))]
    # Leaves are not stored: looking them up would only cost a cache miss.
    if frame.depth <= 0 or entry.bound == 0 or entry.key != key:
        return NO_MOVE, False
    hash_move = np.int64(entry.move)
    score = np.int64(entry.score)
    bound = entry.bound
    if at_root or (entry.depth < frame.depth and abs(score) != WIN):
        return hash_move, False
    frame.value = score
    decided = bound == EXACT or (bound == LOWER and score >= frame.beta) or (bound == UPPER and score <= frame.alpha)
    return hash_move, decided


@njit(inline="always")
def _order_moves(game, position, ply, n, hash_move):
    """Score the `n` moves of a ply: hash move, killers, then by priors and history.

    `game` is a BlokboxGame, `position` uint64[POSITION_WORDS]; the others are int64.
    """
    work, tables, weights = game.work, game.tables, game.prior_weights
    moves, order, killers = work.moves[ply], work.order[ply], work.killers[ply]
    boards, features, history = work.boards, work.move_features, work.history[np.int64(position[TURN])]
    divide(position, boards)
    for index in range(n):
        move = moves[index]
        if move == hash_move:
            score = 1e9
        elif move == killers[0] or move == killers[1]:
            score = 1e6
        else:
            describe(tables, move, boards, features)
            score = np.log1p(history[move])
            for feature in range(N_COUNTS):
                score += weights[feature] * features[feature]
        order[index] = score


@njit(inline="always")
def _resume(game, frames, ply):
    """`alphabeta.search.resume`: unused, as the family has no searches of its own."""
    return RETURN


@njit(inline="always")
def _make_move(game, frames, ply):
    """`alphabeta.search.make_move` for a BlokboxGame, FRAME[plies] and int64: the highest score first.

    The reductions are sound: a reduced search that says "better" is repeated at full depth.
    """
    frame, work, tables = frames[ply], game.work, game.tables
    position, child = work.positions[ply], work.positions[ply + 1]
    index = frame.tried
    select_move(frame, work.moves[ply], work.order[ply])
    for word in range(POSITION_WORDS):
        child[word] = position[word]
    play(tables, child, frame.move)
    if index < LATE_MOVES[0] or frame.depth < LATE_DEPTHS[0]:
        return 0
    return 1 if index < LATE_MOVES[1] or frame.depth < LATE_DEPTHS[1] else 2


@njit(inline="always")
def _scored(game, frames, ply):
    """`alphabeta.search.scored` for a BlokboxGame, FRAME[plies] and int64: report root moves that lose."""
    if ply == 0 and frames[1].value == WIN:
        game.lost[frames[0].move] = 1


@njit(inline="always")
def _finish(game, frames, ply):
    """`alphabeta.search.finish` for a BlokboxGame, FRAME[plies] and int64: history, killers, table."""
    frame, work = frames[ply], game.work
    table, position, killers, history = game.table, work.positions[ply], work.killers[ply], work.history
    move, value = frame.best_move, frame.value
    cut = value >= frame.beta
    if cut:
        history[np.int64(position[TURN]), move] += frame.depth * frame.depth
        if killers[0] != move:
            killers[1] = killers[0]
            killers[0] = move
    entry = table[np.int64(position[KEY] & np.uint64(len(table) - 1))]
    entry.key = position[KEY]
    entry.score = value
    entry.move = move
    entry.depth = frame.depth
    entry.bound = EXACT if abs(value) == WIN else (LOWER if cut else (UPPER if value <= frame.alpha else EXACT))


@njit(**KERNEL)
def search(game, root, depth, stop):
    """Search the position `root` (uint64[POSITION_WORDS]) to `depth` >= 1; returns whether it was finished.

    `game` is a BlokboxGame, `stop` uint8[1]. The first frame holds the result: `value` is the score, `best_move` a move
    that has it (NO_MOVE where there is none). After an unfinished search `best` and `best_move` stand for the moves
    that were finished.
    """
    work = game.work
    for word in range(POSITION_WORDS):
        work.positions[0, word] = root[word]
    for player in range(2):
        work.live[0, player] = len(game.tables.piece)
    set_window(work.frames[0], -WIN - 1, WIN + 1, depth)
    start_moves(work.frames[0], 0)
    # A winning move ends the search even at the root, whose window is wider.
    return search_frames(_enter, _resume, _make_move, _scored, _finish, game, work.frames, WIN, stop)
