"""The steps of principal variation search on a circuit; `alphabeta.search` walks the tree.

A node's children are all made at once, with their evaluations, which order its moves; where they fit into the lanes,
its grandchildren as well, so that nodes one ply above the leaves cost one pass of the lanes at most.
Scores are from the side to move, in the units of `workspace`. Even and odd plies have opposite sides; where the side of
a ply has nothing to choose because the other one moves again, a ply without a move is put between.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from agent.search.alphabeta.frames import FAMILY, NO_MOVE, select_move, set_window, start_moves
from agent.search.alphabeta.search import DESCEND, RETURN, SELECT
from agent.search.alphabeta.search import search as search_frames
from agent.search.alphabeta.table import probe
from agent.search.evaluation.scale import MOST, WIN, WON
from agent.search.pvs.expansion import expand
from agent.search.pvs.table import EXACT, LOWER, UPPER, child_of, depth_of, kind_of, side_key, store, value_of
from agent.search.pvs.workspace import (
    BOTH,
    CHANGED,
    CHANGES,
    COUNT,
    DATE,
    EXPANSIONS,
    FIRST,
    JUDGED,
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
"""What `search` returns when it was told to stop: no score."""

LMR_DEPTH, LMR_MOVES = 3, 3
"""Late move reductions: from which depth on, and after how many moves. Set by hand; not tuned."""
_MOST_REDUCED = 64
_REDUCTION = np.array(
    [
        [max(1, int(0.5 + math.log(max(1, depth)) * math.log(max(1, move)) / 2)) for move in range(_MOST_REDUCED)]
        for depth in range(_MOST_REDUCED)
    ]
)
"""By how many plies, by depth and by how many moves come before."""
REVERSE_DEPTH, REVERSE_MARGIN = 5, 0.75
"""Reverse futility pruning: up to which depth a node is cut without a search if it stands above beta by so many times
what a move changes on average, for each ply that is left.

Tuned with the reductions above, by matches of 24 in each of seven games, 0.05 s CPU a move, same evaluation, against
neither of both: these 0.655; margins of 1 up to depth 3 0.614, of 0.75 up to depth 8 0.595. Without the reductions:
margins of 0.5, 1, 2 and 4 up to depth 3 0.557, 0.598, 0.527 and 0.503; the reductions alone 0.545. Leaving out late
moves altogether lost all matches in breakthrough."""
LOUD = 5
"""Quiescence: a move that gains more than the mean change of the evaluation / LOUD is searched on. By matches of 120 at
depths 3 and 4, with 6 plies of it against none: mean / 5 got 0.92 and 0.87 in breakthrough, 0.71 and 0.70 in a knights'
race, 0.59 and 0.60 in connect four, for 0.6 to 1.7 times the nodes; twice the mean and more hardly ever came up and
gained nothing."""
MOST_FORCED = 16
"""Beyond the last ply of a search, so many plies in which nobody has a choice are passed before a state is judged.
Bounds time; not tuned."""
MAX_SIBLINGS = 12
"""With more moves there is no trying to make the grandchildren in one pass. Set by hand; not tuned."""
_HASH_MOVE, _KILLER, _SECOND_KILLER = 1 << 24, 2000, 1000
"""Urgency of moves, in units of the evaluation. Set by hand; not tuned."""
_MOST_HISTORY = 1 << 12
"""Scores of the history heuristic stay below it. Set by hand; not tuned."""


@njit(inline="always")
def _judged(game, row, child, sign):
    """The evaluation of a child of a row (int64 each) for the side with `sign` 1 (role 0) or -1."""
    value = np.int64(game.work.evaluation[row, child])
    return sign * max(-MOST, min(MOST, value))


@njit(inline="always")
def _ended(result, ply, sign):
    """A terminal state's score at a ply: what wins sooner is better."""
    value = np.int64(result)
    if value == WIN:
        value -= ply
    elif value == -WIN:
        value += ply
    return sign * value


@njit(inline="always")
def _from_table(value, ply):
    """A stored score as it is at a ply: wins are stored as seen from their own node."""
    if value > WON:
        return value - ply
    if value < -WON:
        return value + ply
    return value


@njit(inline="always")
def _to_table(value, ply):
    """The reverse of `_from_table`."""
    if value > WON:
        return value + ply
    if value < -WON:
        return value - ply
    return value


@njit(inline="always")
def _look_ahead(game, frames, ply, count, static, sign):
    """The last ply of a search, and quiescence beyond: its moves are judged, but for those that change much.

    Those are searched on, with captures, threats and what answers them, until nothing changes much or the plies for it
    are over; below depth 1 the side to move may leave it at `static` (standing pat). Returns RETURN or SELECT.
    """
    frame, work = frames[ply], game.work
    home, base = np.int64(work.home[ply, 0]), np.int64(work.home[ply, 1])
    order, urgency = work.order[ply], work.urgency[ply]
    loud = work.counts[CHANGES] // (LOUD * max(1, work.counts[CHANGED]))
    best = np.int64(-WIN) if frame.depth == 1 else np.int64(static)
    best_child = np.int64(NO_MOVE)
    n = np.int64(0)
    # Only what is guessed counts: a search without guesses has proven its score.
    work.counts[JUDGED] += frame.depth < 1
    for i in range(base, base + count):
        result = work.result[home, i]
        if result != UNKNOWN:
            value = _ended(result, ply + 1, sign)
        else:
            value = _judged(game, home, i, sign)
            mover = work.mover[home, i]
            if (mover == NOBODY and frame.depth == 1) or (value > static + loud and value > best and mover != BOTH):
                order[n] = i
                urgency[n] = value
                n += 1
                continue
            if frame.depth < 1:
                continue
            work.counts[JUDGED] += 1
        if value > best:
            best, best_child = value, i
    if n == 0 or best >= frame.beta:
        frame.value = best
        if frame.depth == 1:
            row, child = work.place[ply, 0], work.place[ply, 1]
            key = side_key(work.key[row, child], game.settings[SIDE] ^ (ply & 1))
            kind = LOWER if n > 0 else EXACT
            store(game.table, key, _to_table(best, ply), 1, kind, max(0, best_child - base), game.settings[DATE])
        return RETURN
    start_moves(frame, n)
    frame.best = best
    frame.best_move = best_child
    return SELECT


@njit(inline="always")
def _enter(game, frames, ply):
    """`alphabeta.search.enter` for a PvsGame, FRAME[PLIES] and int64."""
    frame, work = frames[ply], game.work
    row, child = np.int64(work.place[ply, 0]), np.int64(work.place[ply, 1])
    side = game.settings[SIDE] ^ (ply & 1)
    sign = 1 - 2 * side
    result = work.result[row, child]
    if result != UNKNOWN:
        frame.value = _ended(result, ply, sign)
        return RETURN
    mover = work.mover[row, child]
    static = _judged(game, row, child, sign)
    if (
        ply >= PLIES - 2
        or mover == BOTH
        or (mover == NOBODY and frame.depth <= -MOST_FORCED)
        or (frame.depth <= 0 and mover != NOBODY and (frame.depth <= -game.settings[QUIET] or static >= frame.beta))
    ):
        work.counts[JUDGED] += 1
        frame.value = static
        return RETURN
    if mover == 1 - side:
        # The other role moves again: no move, no depth.
        frame.stage = FAMILY
        work.place[ply + 1, 0] = row
        work.place[ply + 1, 1] = child
        set_window(frames[ply + 1], -frame.beta, -frame.alpha, frame.depth)
        return DESCEND
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
    if 0 < frame.depth <= REVERSE_DEPTH and frame.beta - frame.alpha == 1 and abs(frame.beta) < WON:
        change = work.counts[CHANGES] // max(1, work.counts[CHANGED])
        # Nothing is known of the first nodes.
        if change > 0 and static - frame.depth * change * REVERSE_MARGIN >= frame.beta:
            work.counts[JUDGED] += 1
            frame.value = static
            return RETURN
    batch = work.batch[row]
    if batch[FIRST] <= child < batch[FIRST] + batch[COUNT]:
        work.counts[EXPANSIONS] += 1
        home = row + 1
        base, count = np.int64(work.family[row, child, FIRST]), np.int64(work.family[row, child, COUNT])
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
    if mover == NOBODY:
        # One move for each role costs no depth either, but beyond the last ply it has to come to an end.
        frame.stage = FAMILY
        work.place[ply + 1, 0] = home
        work.place[ply + 1, 1] = base
        set_window(frames[ply + 1], -frame.beta, -frame.alpha, frame.depth - (frame.depth <= 0))
        return DESCEND
    if frame.depth <= 1:
        return _look_ahead(game, frames, ply, count, static, sign)
    for i in range(base, base + count):
        work.counts[CHANGES] += abs(_judged(game, home, i, sign) - static)
    work.counts[CHANGED] += count
    for i in range(base, base + count):
        result = work.result[home, i]
        if result != UNKNOWN and sign * result == WIN:
            frame.value = WIN - ply - 1
            store(game.table, key, WIN - 1, 255, EXACT, i - base, game.settings[DATE])
            return RETURN
    order, urgency = work.order[ply], work.urgency[ply]
    first, second = work.killer[ply, 0], work.killer[ply, 1]
    for index in range(count):
        i = base + index
        move = work.move[home, i]
        result = work.result[home, i]
        value = sign * np.int64(result) if result != UNKNOWN else _judged(game, home, i, sign)
        value += work.history[move]
        if index == hash_child:
            value = _HASH_MOVE
        elif move == first:
            value += _KILLER
        elif move == second:
            value += _SECOND_KILLER
        order[index] = i
        urgency[index] = value
    batch = work.batch[home]
    # They may be there from a search of the same node with another window.
    there = batch[FIRST] == base and batch[COUNT] == count
    if count <= MAX_SIBLINGS and not there and base >> 6 == (base + count - 1) >> 6:
        expand(game, home, base, count, home + 1, evaluated)
    start_moves(frame, count)
    return SELECT


@njit(inline="always")
def _resume(game, frames, ply):
    """`alphabeta.search.resume` for a PvsGame, FRAME[PLIES] and int64: after a ply without a move."""
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
    """`alphabeta.search.scored`: root moves are searched one by one (see `analysis`), so there is nothing to report."""


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
        # What was tried in vain loses what the move that cuts gains; both fade as they grow.
        bonus = min(frame.depth * frame.depth * 8, _MOST_HISTORY // 4)
        work.history[made] += bonus - work.history[made] * bonus // _MOST_HISTORY
        for i in range(frame.tried - 1):
            tried = work.move[home, work.order[ply, i]]
            if tried != made:
                work.history[tried] -= bonus + work.history[tried] * bonus // _MOST_HISTORY


@njit(**KERNEL)
def search(game, row, child, alpha, beta, depth, stop):
    """The fail-soft score of a child of a row (`ROOT_CHILDREN`, or `ROOT` and 0), for the side in `settings`.

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
