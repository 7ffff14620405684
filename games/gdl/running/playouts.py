"""Numba kernels that draw random legal moves and play random matches to the end, on all lanes at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.compiling import KERNEL
from games.bits.inner import step
from games.bits.splitmix import random32
from games.bits.words import aligned_words, lowest, popcount, select_bit, transpose
from games.gdl.running.goals import add_goals, evaluate_goals
from games.gdl.running.kernels import ALL, ONE, ZERO, advance, clear_sets, enter_move, evaluate, reset
from games.gdl.running.layout import FIRST_FLUENT, SLOT_TRUE, CircuitPrograms

TOGETHER = np.uint64(4)
"""Moves tested together: mostly all are legal in no lane. In games of many moves 4 takes half the time of 2 (see
docs/experiments.md)."""

UNIFORM = np.int64(1)
"""Draws of a uniformly random move. Not a plain number, for whose value Numba would compile another kernel."""


class MoveWorkspace(NamedTuple):
    """Output of `choose_random`: arrays at least as long as any role's list of moves."""

    move: NDArray[np.int64]
    """Candidates: moves legal in at least one lane."""
    word: NDArray[np.uint64]
    """Per candidate, the lanes where it is legal."""
    chosen: NDArray[np.uint64]
    """Per candidate, the lanes that drew it."""
    block: NDArray[np.uint64]
    """(n, 64) `word` transposed, 64 candidates at a time."""
    worth: NDArray[np.float32]
    """(moves of all roles) worth of each move, not below 0. Read where several are drawn."""


class PlayoutWorkspace(NamedTuple):
    """Working memory of `play_out`, for W words of lanes."""

    slots: NDArray[np.uint64]
    """(n_slots * W)"""
    goal_slots: NDArray[np.uint64]
    """(n_goal_slots * W)"""
    moves: MoveWorkspace
    rng: NDArray[np.uint64]
    """(1) see `games.bits.splitmix`."""
    following: NDArray[np.uint64]
    """(fluents * W) the next state."""
    lanes: NDArray[np.uint64]
    """(3, W) sets of lanes: running matches; finished ones with goals not yet evaluated; those that go on."""


def new_move_workspace(programs: CircuitPrograms) -> MoveWorkspace:
    """A workspace long enough for every role of the game, in whole blocks of 64 moves."""
    longest = (int(np.diff(programs.role_start).max(initial=0)) + 63) // 64 * 64 + 64
    return MoveWorkspace(
        np.zeros(longest, np.int64),
        np.zeros(longest, np.uint64),
        np.zeros(longest, np.uint64),
        np.zeros((longest // 64, 64), np.uint64),
        np.ones(len(programs.legal_slot), np.float32),
    )


def new_playout_workspace(programs: CircuitPrograms, width: int, seed: int) -> PlayoutWorkspace:
    """A workspace for `width` words of lanes."""
    return PlayoutWorkspace(
        slots=aligned_words(programs.n_slots * width),
        goal_slots=aligned_words(programs.n_goal_slots * width),
        moves=new_move_workspace(programs),
        rng=np.array([seed], np.uint64),
        following=np.zeros(len(programs.next_slot) * width, np.uint64),
        lanes=np.zeros((3, width), np.uint64),
    )


@step
def _list_candidates(role_start, legal_slot, slots, width, w, role, lanes, workspace):
    """Lists a role's moves that are legal in any of `lanes`; see `choose_random`.

    Returns their number, the lanes with a move, and the lanes with several. Each move is written without a branch,
    which would often be mispredicted; one legal nowhere is overwritten by the next.
    """
    words = np.uint64(len(width))
    word_index = np.uint64(w)
    n = ZERO
    ones = ZERO
    twos = ZERO
    move = np.uint64(role_start[role])
    end = np.uint64(role_start[role + 1])
    while move < end:
        n_here = min(end - move, TOGETHER)
        if n_here == TOGETHER:
            some = ZERO
            for i in range(TOGETHER):
                some |= slots[np.uint64(legal_slot[move + i]) * words + word_index]
            if some & lanes == ZERO:
                move += TOGETHER
                continue
        for i in range(n_here):
            word = slots[np.uint64(legal_slot[move + i]) * words + word_index] & lanes
            workspace.move[n] = move + i
            workspace.word[n] = word
            n += ONE if word != ZERO else ZERO
            twos |= ones & word
            ones |= word
        move += n_here
    return n, ones, twos


@step
def _draw(block, blocks, lane, total, rng):
    """The index of a random one of a lane's `total` candidates; `block` is as in `MoveWorkspace`."""
    k = (random32(rng) * total) >> np.uint64(32)
    b = ZERO
    count = np.uint64(popcount(block[ZERO, lane]))
    while k >= count:
        k -= count
        b += ONE
        count = np.uint64(popcount(block[b, lane]))
    return (b << np.uint64(6)) + np.uint64(select_bit(block[b, lane], k))


@njit(**KERNEL)
def choose_random(role_start, legal_slot, slots, width, w, role, lanes, rng, workspace, draws):
    """Draws a random legal move for `role` in each of the lanes of word w.

    It is uniformly random if `draws` is 1, else the worthiest of `draws` moves, perhaps with repeats (tournament
    selection).

    `role_start` and `legal_slot` are those of `CircuitPrograms`; `slots` is uint64[n_slots * W] after the legal
    program, `lanes` a word, `rng` uint64[1], `workspace` a `MoveWorkspace`.

    Returns the number n of candidates (`workspace.move[:n]`; `workspace.chosen[:n]` are the lanes that drew each), and
    the lanes in which the role has no legal move.
    """
    n, ones, twos = _list_candidates(role_start, legal_slot, slots, width, w, role, lanes, workspace)
    single = ones & ~twos
    for i in range(n):
        workspace.chosen[i] = workspace.word[i] & single
    if twos != ZERO:
        # Indices are unsigned: Numba tests signed ones for counting from the end.
        block = workspace.block
        blocks = (n + np.uint64(63)) >> np.uint64(6)
        for i in range(n):
            block[i >> np.uint64(6), i & np.uint64(63)] = workspace.word[i]
        for i in range(n, blocks << np.uint64(6)):
            block[i >> np.uint64(6), i & np.uint64(63)] = ZERO
        for b in range(blocks):
            transpose(block[b])
        rest = twos
        while rest != ZERO:
            lane = np.uint64(lowest(rest))
            rest &= rest - ONE
            total = ZERO
            for i in range(blocks):
                total += np.uint64(popcount(block[i, lane]))
            # With one draw, worth is not read: its memory is seldom cached.
            chosen = ZERO
            most = np.float32(-1.0)
            for _ in range(draws):
                drawn = _draw(block, blocks, lane, total, rng)
                worth = workspace.worth[np.uint64(workspace.move[drawn])] if draws > 1 else np.float32(0.0)
                if worth > most:
                    chosen = drawn
                    most = worth
            workspace.chosen[chosen] |= ONE << lane
    return np.int64(n), lanes & ~ones


@step
def _collect_goals(programs, goal_slots, width, held, sums, squares):
    """Evaluates the goals of the lanes of `held` (uint64[W]), adds them up per role, and empties `held`.

    `programs` is a `CircuitPrograms`; the rest is as in `add_goals`.
    """
    first_goal, goal_role = programs.first_goal, programs.goal_role
    evaluate_goals(programs.goal, programs.goal_slot, first_goal, goal_role, goal_slots, width)
    add_goals(first_goal, goal_role, programs.goal_value, goal_slots, width, held, sums, squares)
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
    active, held, keep = workspace.lanes[0], workspace.lanes[1], workspace.lanes[2]
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
            over = slots[programs.terminal_slot * words + w] & active[w]
            for role in range(n_roles):
                playing = active[w] & ~over
                n, dead = choose_random(
                    programs.role_start,
                    programs.legal_slot,
                    slots,
                    width,
                    w,
                    role,
                    playing,
                    workspace.rng,
                    moves,
                    UNIFORM,
                )
                if dead != ZERO:
                    dead_ends += popcount(dead)
                    over |= dead
                for i in range(n):
                    if moves.chosen[i] != ZERO:
                        move, chosen = moves.move[i], moves.chosen[i]
                        enter_move(programs.set_start, programs.set_slot, slots, width, w, move, chosen)
            keep[w] = ~over
            transitions += popcount(active[w] & ~over)
            if over != ZERO:
                any_over = True
                if over & held[w] != ZERO:
                    overflow = True
        if any_over:
            if overflow:
                _collect_goals(programs, goal_slots, width, held, sums, squares)
            base = FIRST_FLUENT * words
            for f in range(n_fluents):
                for w in range(words):
                    at = base + f * words + w
                    over = active[w] & ~keep[w]
                    goal_slots[at] = (goal_slots[at] & ~over) | (slots[at] & over)
            running = False
            for w in range(words):
                over = active[w] & ~keep[w]
                held[w] |= over
                ended = popcount(over)
                finished += ended
                if started + ended <= playouts:
                    started += ended
                else:
                    while over != ZERO and started < playouts:
                        over &= over - ONE
                        started += 1
                    active[w] &= ~over
        evaluate(programs.next, slots, width)
        advance(programs.next_slot, programs.initial, slots, width, keep, workspace.following)
        if any_over:
            for w in range(words):
                if active[w] != ZERO:
                    running = True
    _collect_goals(programs, goal_slots, width, held, sums, squares)
    return finished, transitions, dead_ends
