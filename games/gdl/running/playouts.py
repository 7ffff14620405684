"""Numba kernels that draw random legal moves and play random matches to the end, on all lanes at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.choice import (
    BLOCK,
    BLOCK_PLANES,
    begin_ranks,
    choose_in_block,
    count_block,
    draw_ranks,
    new_generator,
    planes_for,
)
from games.bits.compiling import KERNEL
from games.bits.inner import inner_kernel, step
from games.bits.rows import any_lane, blend_rows, join_row
from games.bits.words import aligned_words, lowest, popcount
from games.gdl.running.goals import add_goals
from games.gdl.running.kernels import ALL, ONE, ZERO, advance, clear_sets, evaluate, reset
from games.gdl.running.layout import FIRST_FLUENT, SLOT_FALSE, SLOT_TRUE, CircuitPrograms

UNIFORM = np.int64(1)
"""Draws of a uniformly random move. Not a plain number, for whose value Numba would compile another kernel."""


class MoveWorkspace(NamedTuple):
    """Memory of `choose_random` for W words of lanes; what its words mean is told in `games.bits.choice`."""

    option: NDArray[np.int32]
    """Slots of the moves' legality, by role in whole blocks."""
    first_block: NDArray[np.int64]
    """(roles + 1) the blocks of role r are `first_block[r]` .. `first_block[r + 1] - 1`."""
    planes: NDArray[np.int64]
    """(roles) planes for the number of legal moves."""
    lanes: NDArray[np.uint64]
    """(W) input: the lanes to draw in."""
    stuck: NDArray[np.uint64]
    """(W) output: those of them in which the role has no legal move."""
    move: NDArray[np.int64]
    """Output: moves that were drawn, numbered over all roles. All are perhaps drawn in no lane."""
    chosen: NDArray[np.uint64]
    """(n * W) output: per such move, the lanes that drew it."""
    worth: NDArray[np.float32]
    """(moves of all roles) worth of each move, not below 0. Read where several are drawn."""
    block: NDArray[np.int64]
    """The blocks with a legal move."""
    counts: NDArray[np.uint64]
    """Their counts."""
    totals: NDArray[np.uint64]
    greatest: NDArray[np.uint64]
    ranks: NDArray[np.uint64]
    waiting: NDArray[np.uint64]
    drawn: NDArray[np.uint64]
    generator: NDArray[np.uint64]
    best_worth: NDArray[np.float32]
    """(64) per lane, the worth of the best move drawn so far."""
    best_move: NDArray[np.int64]
    """(64) that move."""


class PlayoutWorkspace(NamedTuple):
    """Working memory of `play_out`, for W words of lanes."""

    slots: NDArray[np.uint64]
    """(n_slots * W)"""
    goal_slots: NDArray[np.uint64]
    """(n_goal_slots * W)"""
    moves: MoveWorkspace
    following: NDArray[np.uint64]
    """(fluents * W) the next state."""
    active: NDArray[np.uint64]
    """(W) lanes with running matches; also the following sets of lanes."""
    held: NDArray[np.uint64]
    """Finished matches with goals not yet evaluated."""
    keep: NDArray[np.uint64]
    """Matches that go on after this ply."""
    over: NDArray[np.uint64]
    """Matches that end in this ply."""


def new_move_workspace(programs: CircuitPrograms, width: int, seed: int) -> MoveWorkspace:
    """A workspace for `width` words of lanes."""
    sizes = np.diff(programs.role_start)
    n_blocks = (sizes + BLOCK - 1) // BLOCK
    first_block = np.concatenate(([0], np.cumsum(n_blocks)))
    option = np.full(BLOCK * int(first_block[-1]), SLOT_FALSE, np.int32)
    for role, size in enumerate(sizes):
        start = BLOCK * first_block[role]
        option[start : start + size] = programs.legal_slot[programs.role_start[role] : programs.role_start[role + 1]]
    planes = planes_for(sizes)
    longest, most_planes = int(n_blocks.max(initial=1)), int(planes.max(initial=BLOCK_PLANES))

    def rows(n: int) -> NDArray[np.uint64]:
        return aligned_words(n * width)

    generator = rows(2)
    generator[:] = new_generator(seed, width)
    return MoveWorkspace(
        option=option,
        first_block=first_block.astype(np.int64),
        planes=planes,
        lanes=rows(1),
        stuck=rows(1),
        move=np.zeros(max(64, BLOCK * longest), np.int64),
        chosen=rows(max(64, BLOCK * longest)),
        worth=np.ones(len(programs.legal_slot), np.float32),
        block=np.zeros(longest, np.int64),
        counts=rows(BLOCK_PLANES * longest),
        totals=rows(most_planes),
        greatest=rows(most_planes),
        ranks=rows(most_planes),
        waiting=rows(1),
        drawn=rows(most_planes),
        generator=generator,
        best_worth=np.zeros(64, np.float32),
        best_move=np.zeros(64, np.int64),
    )


def new_playout_workspace(programs: CircuitPrograms, width: int, seed: int) -> PlayoutWorkspace:
    """A workspace for `width` words of lanes."""
    return PlayoutWorkspace(
        slots=aligned_words(programs.n_slots * width),
        goal_slots=aligned_words(programs.n_goal_slots * width),
        moves=new_move_workspace(programs, width, seed),
        following=aligned_words(len(programs.next_slot) * width),
        active=aligned_words(width),
        held=aligned_words(width),
        keep=aligned_words(width),
        over=aligned_words(width),
    )


@step
def _count(slots, width, role, work):
    """Counts a role's legal moves in all lanes; returns the number of blocks with any. See `choose_random`."""
    planes = work.planes[role]
    for i in range(planes * len(width)):
        work.totals[i] = ZERO
    n = np.int64(0)
    for block in range(work.first_block[role], work.first_block[role + 1]):
        work.block[n] = block
        some = count_block(slots, work.option, block, work.lanes, work.counts, n, work.totals, planes, width)
        n += 1 if some != ZERO else 0
    return n


@step
def _choose(role_start, slots, width, role, work, n_blocks):
    """Draws a uniformly random move in each lane, after `_count`; returns the number of moves listed."""
    words = len(width)
    planes = work.planes[role]
    left = begin_ranks(work.totals, work.lanes, work.greatest, work.ranks, work.waiting, planes, width)
    for w in range(words):
        work.stuck[w] = work.lanes[w] & ~work.waiting[w]
    while left != ZERO:
        left = draw_ranks(
            work.totals, work.greatest, work.ranks, work.waiting, work.drawn, work.generator, planes, width
        )
    n = np.int64(0)
    first = role_start[role] - BLOCK * work.first_block[role]
    for i in range(n_blocks):
        block = work.block[i]
        some = choose_in_block(slots, work.option, block, work.counts, i, work.ranks, planes, work.chosen, n, width)
        if some == ZERO:
            continue
        move = first + BLOCK * block
        begin = n
        for k in range(min(BLOCK, role_start[role + 1] - move)):
            work.move[n] = move + k
            if words > 1:
                # Nearly all are drawn in some lane.
                n += 1
            else:
                word = work.chosen[begin + k]
                work.chosen[n] = word
                n += 1 if word != ZERO else 0
    return n


@njit(**KERNEL)
def choose_random(role_start, slots, width, role, work, draws):
    """Draws a random legal move for `role` in each of the lanes `work.lanes`.

    It is uniformly random if `draws` is 1, else the worthiest of `draws` moves, perhaps with repeats (tournament
    selection), which is for W = 1 only.

    `role_start` is that of `CircuitPrograms`; `slots` is uint64[n_slots * W] after the legal program; `work` is a
    `MoveWorkspace`. Returns the number n of moves listed: `work.move[:n]` in the lanes of `work.chosen[: n * W]`, rows
    of W words. `work.stuck` are the lanes in which the role has no legal move.
    """
    n_blocks = _count(slots, width, role, work)
    for draw in range(draws):
        n = _choose(role_start, slots, width, role, work, n_blocks)
        if draws == 1:
            return n
        if draw == 0:
            for lane in range(64):
                work.best_worth[lane] = np.float32(-1.0)
        for i in range(n):
            rest = work.chosen[i]
            move = work.move[i]
            worth = work.worth[move]
            while rest != ZERO:
                lane = lowest(rest)
                rest &= rest - ONE
                if worth > work.best_worth[lane]:
                    work.best_worth[lane] = worth
                    work.best_move[lane] = move
    n = np.int64(0)
    rest = work.lanes[0] & ~work.stuck[0]
    while rest != ZERO:
        lane = lowest(rest)
        work.move[n] = work.best_move[lane]
        work.chosen[n] = rest & (~rest + ONE)
        n += 1
        rest &= rest - ONE
    return n


@inner_kernel(forceinline=True)
def enter_chosen(set_start, set_slot, slots, width, work, n):
    """Enters the n moves that `choose_random` listed; see `enter_move`."""
    for i in range(n):
        if any_lane(work.chosen, i, width) == ZERO:
            continue
        move = work.move[i]
        for at in range(set_start[move], set_start[move + 1]):
            join_row(slots, np.int64(set_slot[at]), work.chosen, i, width)


@step
def _collect_goals(programs, goal_slots, width, held, sums, squares):
    """Evaluates the goals of the lanes of `held` (uint64[W]), adds them up per role, and empties `held`.

    `programs` is a `CircuitPrograms`; the rest is as in `add_goals`.
    """
    goal_slot, goal_role, goal_value = programs.goal_slot, programs.goal_role, programs.goal_value
    evaluate(programs.goal, goal_slots, width)
    add_goals(goal_slot, goal_role, goal_value, goal_slots, width, held, sums, squares)
    for w in range(len(width)):
        held[w] = ZERO


@njit(**KERNEL)
def play_out(programs, width, workspace, playouts, sums, squares, stop):
    """Plays random matches from the initial state in all lanes until `playouts` are started and all are finished.

    A match stops where a role has no legal move before the end; its goals count as they stand. Every started match is
    finished: stopping after a number of steps would over-count short ones. Returns playouts, transitions, dead ends.

    `programs` is a `CircuitPrograms`, `workspace` a `PlayoutWorkspace`. `sums` and `squares` (float64[roles]) add up
    goals and their squares, 0 for a role without a goal. Setting `stop` (uint8[1]) ends it early and drops unfinished
    matches.
    """
    words = len(width)
    n_roles = len(programs.role_start) - 1
    slots, goal_slots, moves = workspace.slots, workspace.goal_slots, workspace.moves
    active, held, keep, over = workspace.active, workspace.held, workspace.keep, workspace.over
    reset(programs.initial, slots, width)
    for i in range(len(goal_slots)):
        goal_slots[i] = ZERO
    for w in range(words):
        goal_slots[SLOT_TRUE * words + w] = ALL
        active[w] = ALL
        held[w] = ZERO
    started = 64 * words
    finished = 0
    transitions = 0
    dead_ends = 0
    n_fluents = len(programs.next_slot)
    running = True
    while running and stop[0] == 0:
        evaluate(programs.legal, slots, width)
        clear_sets(programs.first_set, programs.n_sets, slots, width)
        overflow = False
        any_over = False
        for w in range(words):
            moves.lanes[w] = active[w] & ~slots[programs.terminal_slot * words + w]
            keep[w] = moves.lanes[w]
        for role in range(n_roles):
            n = choose_random(programs.role_start, slots, width, role, moves, UNIFORM)
            enter_chosen(programs.set_start, programs.set_slot, slots, width, moves, n)
            for w in range(words):
                if moves.stuck[w] != ZERO:
                    dead_ends += popcount(moves.stuck[w] & keep[w])
                    keep[w] &= ~moves.stuck[w]
        for w in range(words):
            transitions += popcount(keep[w])
            over[w] = active[w] & ~keep[w]
            if over[w] != ZERO:
                any_over = True
                if over[w] & held[w] != ZERO:
                    overflow = True
        if any_over:
            if overflow:
                _collect_goals(programs, goal_slots, width, held, sums, squares)
            blend_rows(goal_slots, slots, over, FIRST_FLUENT, FIRST_FLUENT + n_fluents, width)
            running = False
            for w in range(words):
                held[w] |= over[w]
                ended = popcount(over[w])
                finished += ended
                if started + ended <= playouts:
                    started += ended
                else:
                    idle = over[w]
                    while idle != ZERO and started < playouts:
                        idle &= idle - ONE
                        started += 1
                    active[w] &= ~idle
        evaluate(programs.next, slots, width)
        advance(programs.next_slot, programs.initial, slots, width, keep, workspace.following)
        if any_over:
            for w in range(words):
                if active[w] != ZERO:
                    running = True
    _collect_goals(programs, goal_slots, width, held, sums, squares)
    return finished, transitions, dead_ends
