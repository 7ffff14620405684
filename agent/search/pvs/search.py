"""The steps of principal variation search on a circuit; `alphabeta.search` walks the tree.

A node's children are made all at once, with the evaluations that order its moves; its grandchildren too, if they fit
into the lanes, so that a node one ply above the leaves costs one pass of the lanes at most. Scores are from the side to
move. Even and odd plies belong to opposite sides; a role that moves again does so after a ply without a move.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from agent.search.alphabeta.frames import FAMILY, NO_MOVE, select_move, set_window, start_moves
from agent.search.alphabeta.search import DESCEND, RETURN, SELECT
from agent.search.alphabeta.search import search as search_frames
from agent.search.alphabeta.table import probe
from agent.search.evaluation.network import MOST, WIN, WON
from agent.search.pvs.expansion import expand
from agent.search.pvs.table import EXACT, LOWER, UPPER, child_of, depth_of, kind_of, side_key, store, value_of
from agent.search.pvs.workspace import (
    BOTH,
    CHANGED,
    CHANGES,
    COUNT,
    DATE,
    EVALUATED,
    EXPANSIONS,
    FIRST,
    NOBODY,
    PLIES,
    QUIET,
    RECENT,
    SHARED_DEPTH,
    SIDE,
    STORED,
    UNKNOWN,
)
from games.bits.compiling import KERNEL

STOPPED = 1 << 20
"""Returned by `search` when stopped: no score."""

LMR_DEPTH, LMR_MOVES = 3, 3
"""Late move reductions: least depth, and number of moves searched in full first."""
_MOST_REDUCED = 64
_REDUCTION = np.array(
    [
        [max(1, int(0.5 + math.log(max(1, depth)) * math.log(max(1, move)) / 2)) for move in range(_MOST_REDUCED)]
        for depth in range(_MOST_REDUCED)
    ]
)
"""Reduction in plies, by depth and number of earlier moves."""
REVERSE_DEPTH, REVERSE_MARGIN = 5, 0.75
"""Reverse futility pruning: highest depth, and margin above beta for each ply left, in multiples of a move's mean
change of the evaluation. Tuned with the reductions: 66 % of the points against neither (see docs/experiments.md)."""
LOUD = 5
"""Quiescence searches moves that gain more than the mean change of the evaluation / LOUD. Tuned: 59 to 92 % of the
points against no quiescence (see docs/experiments.md)."""
MOST_FORCED = 16
"""Limit on forced plies passed beyond the last ply of a search; bounds time."""
MAX_SIBLINGS = 12
"""Limit on moves of a node whose grandchildren are made in one pass."""
_HASH_MOVE, _KILLER, _SECOND_KILLER = 1 << 24, 2000, 1000
"""Urgency of moves, in units of the evaluation."""
_MOST_HISTORY = 1 << 12
"""Bound on scores of the history heuristic."""


@njit(inline="always")
def _evaluation_of(game, row, child, sign):
    """Returns the evaluation of a child of a row (int64 each) for the side with `sign` 1 (role 0) or -1."""
    value = np.int64(game.work.evaluation[row, child])
    return sign * max(-MOST, min(MOST, value))


@njit(inline="always")
def _ended(result, ply, sign):
    """Returns a terminal state's score at a ply: sooner wins score higher."""
    value = np.int64(result)
    if value == WIN:
        value -= ply
    elif value == -WIN:
        value += ply
    return sign * value


@njit(inline="always")
def _from_table(value, ply):
    """Returns a stored score as it is at a ply: wins are stored as seen from their own node."""
    if value > WON:
        return value - ply
    if value < -WON:
        return value + ply
    return value


@njit(inline="always")
def _to_table(value, ply):
    """Reverses `_from_table`."""
    if value > WON:
        return value + ply
    if value < -WON:
        return value - ply
    return value


@njit(inline="always")
def _look_ahead(game, frames, ply, count, static, sign):
    """Searches the last ply, and quiescence beyond: quiet moves get their evaluation, the others a node.

    Moves that change much (captures, threats, answers to them) are searched until none is left or the limit of plies is
    reached; below depth 1 the side to move may stand pat at `static`. Returns RETURN or SELECT.
    """
    frame, work = frames[ply], game.work
    home, base = np.int64(work.home[ply, 0]), np.int64(work.home[ply, 1])
    order, urgency = work.order[ply], work.urgency[ply]
    loud = work.counts[CHANGES] // (LOUD * max(1, work.counts[CHANGED]))
    best = np.int64(-WIN) if frame.depth == 1 else np.int64(static)
    best_child = np.int64(NO_MOVE)
    n = np.int64(0)
    # Only guesses count: a search without guesses has proven its score.
    work.counts[EVALUATED] += frame.depth < 1
    for i in range(base, base + count):
        result = work.result[home, i]
        if result != UNKNOWN:
            value = _ended(result, ply + 1, sign)
        else:
            value = _evaluation_of(game, home, i, sign)
            mover = work.mover[home, i]
            if (mover == NOBODY and frame.depth == 1) or (value > static + loud and value > best and mover != BOTH):
                order[n] = i
                urgency[n] = value
                n += 1
                continue
            if frame.depth < 1:
                continue
            work.counts[EVALUATED] += 1
        if value > best:
            best, best_child = value, i
    if n == 0 or best >= frame.beta:
        frame.value = best
        if frame.depth == 1:
            row, child = work.place[ply, 0], work.place[ply, 1]
            key = side_key(work.key[row, child], game.settings[SIDE] ^ (ply & 1))
            kind = LOWER if n > 0 else EXACT
            store(
                game.table, key, _to_table(best, ply), np.int64(1), kind, max(0, best_child - base), game.settings[DATE]
            )
        return RETURN
    start_moves(frame, n)
    frame.best = best
    frame.best_move = best_child
    return SELECT


@njit(inline="always")
def _order_moves(game, frames, ply, home, base, count, hash_child, sign):
    """Lists the moves of a node with their urgency: by result or evaluation, history, and as hash move or killer."""
    work = game.work
    order, urgency = work.order[ply], work.urgency[ply]
    first, second = work.killer[ply, 0], work.killer[ply, 1]
    for index in range(count):
        i = base + index
        move = work.move[home, i]
        result = work.result[home, i]
        value = sign * np.int64(result) if result != UNKNOWN else _evaluation_of(game, home, i, sign)
        value += work.history[move]
        if index == hash_child:
            value = _HASH_MOVE
        elif move == first:
            value += _KILLER
        elif move == second:
            value += _SECOND_KILLER
        order[index] = i
        urgency[index] = value
    start_moves(frames[ply], count)


@njit(inline="always")
def _enter(game, frames, ply):
    """`alphabeta.search.enter` for a PvsGame, FRAME[PLIES] and int64."""
    frame, work = frames[ply], game.work
    row, child = np.int64(work.place[ply, 0]), np.int64(work.place[ply, 1])
    side = game.settings[SIDE] ^ (ply & 1)
    sign = 1 - 2 * side
    # Step 1. Terminal state: its result came with the pass that made it.
    result = work.result[row, child]
    if result != UNKNOWN:
        frame.value = _ended(result, ply, sign)
        return RETURN
    # Step 2. Leaf: the stack is full, the state cannot be searched, forced moves or quiescence have used up their
    # plies, or the side to move stands pat.
    mover = work.mover[row, child]
    static = _evaluation_of(game, row, child, sign)
    if (
        ply >= PLIES - 2
        or mover == BOTH
        or (mover == NOBODY and frame.depth <= -MOST_FORCED)
        or (frame.depth <= 0 and mover != NOBODY and (frame.depth <= -game.settings[QUIET] or static >= frame.beta))
    ):
        work.counts[EVALUATED] += 1
        frame.value = static
        return RETURN
    # Step 3. The other role moves again: a ply without a move keeps sides alternating, at no depth.
    if mover == 1 - side:
        frame.stage = FAMILY
        work.place[ply + 1, 0] = row
        work.place[ply + 1, 1] = child
        set_window(frames[ply + 1], -frame.beta, -frame.alpha, frame.depth)
        return DESCEND
    # Step 4. Transposition table: a score that is deep enough, or proven, ends the node; else its best move goes first.
    key = side_key(work.key[row, child], side)
    data = probe(game.table, key)
    hash_child = np.int64(-1)
    if data and frame.depth > 0:
        value, kind = _from_table(value_of(data), ply), kind_of(data)
        decides = kind == EXACT or (kind == LOWER and value >= frame.beta) or (kind == UPPER and value <= frame.alpha)
        if decides and (depth_of(data) >= frame.depth or abs(value) > WON):
            frame.value = value
            return RETURN
        hash_child = child_of(data)
    # Step 5. Reverse futility pruning: in the plies left, moves hardly ever lose so much. Before the first moves were
    # seen there is no measure of it.
    if 0 < frame.depth <= REVERSE_DEPTH and frame.beta - frame.alpha == 1 and abs(frame.beta) < WON:
        change = work.counts[CHANGES] // max(1, work.counts[CHANGED])
        if change > 0 and static - frame.depth * change * REVERSE_MARGIN >= frame.beta:
            work.counts[EVALUATED] += 1
            frame.value = static
            return RETURN
    # Step 6. Children: made already with those of the siblings, or now. Without any the state cannot be searched.
    batch = work.batch[row]
    if batch[FIRST] <= child < batch[FIRST] + batch[COUNT]:
        work.counts[EXPANSIONS] += 1
        home = row + 1
        base, count = np.int64(work.children[row, child, FIRST]), np.int64(work.children[row, child, COUNT])
        evaluated = np.int64(0)
    else:
        home, base = np.int64(ply), np.int64(0)
        count = expand(game, row, child, np.int64(0), home, np.int64(0))
        evaluated = np.int64(count <= 64)
    work.home[ply, 0] = home
    work.home[ply, 1] = base
    if count == 0:
        frame.value = static
        return RETURN
    # Step 7. Forced moves of both roles cost no depth, except beyond the last ply, where they must come to an end.
    if mover == NOBODY:
        frame.stage = FAMILY
        work.place[ply + 1, 0] = home
        work.place[ply + 1, 1] = base
        set_window(frames[ply + 1], -frame.beta, -frame.alpha, frame.depth - (frame.depth <= 0))
        return DESCEND
    # Step 8. Last ply and quiescence: the children's evaluations are there already, most need no node.
    if frame.depth <= 1:
        return _look_ahead(game, frames, ply, count, static, sign)
    # Step 9. Mean change of the evaluation by a move: the scale for step 5 and for quiescence.
    for i in range(base, base + count):
        work.counts[CHANGES] += abs(_evaluation_of(game, home, i, sign) - static)
    work.counts[CHANGED] += count
    # Step 10. A move that wins at once makes all others needless.
    for i in range(base, base + count):
        result = work.result[home, i]
        if result != UNKNOWN and sign * result == WIN:
            frame.value = WIN - ply - 1
            store(game.table, key, WIN - 1, np.int64(255), np.int64(EXACT), i - base, game.settings[DATE])
            return RETURN
    # Step 11. Move ordering: the sooner a cut-off, the smaller the tree.
    _order_moves(game, frames, ply, home, base, count, hash_child, sign)
    # Step 12. Grandchildren, all in one pass of the lanes, unless an earlier search of this node has made them.
    batch = work.batch[home]
    there = batch[FIRST] == base and batch[COUNT] == count
    if count <= MAX_SIBLINGS and not there and base >> 6 == (base + count - 1) >> 6:
        expand(game, home, base, count, home + 1, evaluated)
    return SELECT


@njit(inline="always")
def _resume(game, frames, ply):
    """`alphabeta.search.resume` for a PvsGame, FRAME[PLIES] and int64, after a ply without a move."""
    frames[ply].value = -frames[ply + 1].value
    return RETURN


@njit(inline="always")
def _make_move(game, frames, ply):
    """`alphabeta.search.make_move` for a PvsGame, FRAME[PLIES] and int64: the most urgent move first."""
    frame, work = frames[ply], game.work
    index = frame.tried
    select_move(frame, work.order[ply], work.urgency[ply])
    work.place[ply + 1, 0] = work.home[ply, 0]
    work.place[ply + 1, 1] = frame.move
    if frame.depth < LMR_DEPTH or index < LMR_MOVES or frame.best < -WON:
        return 0
    return _REDUCTION[min(frame.depth, _MOST_REDUCED - 1), min(index, _MOST_REDUCED - 1)]


@njit(inline="always")
def _scored(game, frames, ply):
    """`alphabeta.search.scored`: does nothing, as root moves are searched one by one (see `analysis`)."""


@njit(inline="always")
def _finish(game, frames, ply):
    """`alphabeta.search.finish` for a PvsGame, FRAME[PLIES] and int64: table, killers, history."""
    frame, work = frames[ply], game.work
    best, move = frame.best, frame.best_move
    if frame.depth <= 0:
        return
    kind = EXACT
    if best >= frame.beta:
        kind = LOWER
    elif best <= frame.alpha:
        kind = UPPER
    row, child = work.place[ply, 0], work.place[ply, 1]
    key = side_key(work.key[row, child], game.settings[SIDE] ^ (ply & 1))
    home, base = work.home[ply, 0], work.home[ply, 1]
    data = store(game.table, key, _to_table(best, ply), frame.depth, kind, max(0, move - base), game.settings[DATE])
    if frame.depth >= SHARED_DEPTH:
        at = work.counts[STORED] & (RECENT - 1)
        work.recent[at, 0] = key ^ data
        work.recent[at, 1] = data
        work.counts[STORED] += 1
    if best >= frame.beta and move != NO_MOVE and frame.depth > 1:
        made = work.move[home, move]
        if work.killer[ply, 0] != made:
            work.killer[ply, 1] = work.killer[ply, 0]
            work.killer[ply, 0] = made
        # Moves tried in vain lose what the move that cuts gains; both fade as they grow.
        bonus = min(frame.depth * frame.depth * 8, _MOST_HISTORY // 4)
        work.history[made] += bonus - work.history[made] * bonus // _MOST_HISTORY
        for i in range(frame.tried - 1):
            tried = work.move[home, work.order[ply, i]]
            if tried != made:
                work.history[tried] -= bonus + work.history[tried] * bonus // _MOST_HISTORY


@njit(**KERNEL)
def search(game, row, child, alpha, beta, depth, stop):
    """Returns the fail-soft score of a child of a row (`ROOT_CHILDREN`, or `ROOT` and 0), for the side in `settings`.

    `game` is a `PvsGame` after `expansion.place_root`, `depth` is in plies. Returns STOPPED soon after `stop[0]`
    (uint8[1]) becomes non-zero.
    """
    work = game.work
    work.place[0, 0] = row
    work.place[0, 1] = child
    frames = work.frames
    set_window(frames[0], alpha, beta, depth)
    if not search_frames(_enter, _resume, _make_move, _scored, _finish, game, frames, np.int64(WON), stop):
        return STOPPED
    return frames[0].value
