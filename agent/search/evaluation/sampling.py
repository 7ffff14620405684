"""Random matches from a position, 64 at a time, and states drawn from them, for `fit`.

States stay in lanes, one word per fluent for 64 states: recording them costs a few instructions per fluent, and
counting common fluents is a popcount.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.compiling import KERNEL
from games.bits.inner import step
from games.bits.splitmix import random32
from games.bits.words import aligned_words, lowest, popcount
from games.gdl.running.goals import read_goals
from games.gdl.running.kernels import (
    ALL,
    NARROW,
    ONE,
    ZERO,
    advance,
    clear_sets,
    evaluate,
    load_state,
    reset,
)
from games.gdl.running.layout import FIRST_FLUENT, SLOT_TRUE, CircuitPrograms
from games.gdl.running.playouts import UNIFORM, MoveWorkspace, choose_random, enter_chosen, new_move_workspace

MAX_PLIES = 4096
"""Limit on a match's plies; the goals of cut-off matches count as they stand."""
STATES_PER_MATCH = 4
"""States drawn from each match."""


class SamplingWorkspace(NamedTuple):
    """Memory for a batch of 64 random matches, and the results of the last batch."""

    slots: NDArray[np.uint64]
    """(slots) a word of 64 lanes per signal of the circuit's legal and next programs."""
    goal_slots: NDArray[np.uint64]
    """(goal slots) the same for the goal program."""
    move_workspace: MoveWorkspace
    """Scratch for drawing random moves."""
    rng: NDArray[np.uint64]
    """(1) state of the random generator."""
    drawn: NDArray[np.uint64]
    """(STATES_PER_MATCH, fluents): bit i of `drawn[k, f]` is whether fluent f holds in the k-th state of match i."""
    goals: NDArray[np.float32]
    """(64, roles) 0..1."""
    keep: NDArray[np.uint64]
    """(1) all lanes: none restarts when states advance."""
    following: NDArray[np.uint64]
    """(fluents) the next state of all lanes."""
    points: NDArray[np.float64]
    """(roles) the goals of one match, 0..100."""


def make_sampling_workspace(programs: CircuitPrograms, seed: int) -> SamplingWorkspace:
    """Returns a workspace for a game, with a random generator of its own."""
    return SamplingWorkspace(
        slots=aligned_words(programs.n_slots),
        goal_slots=aligned_words(programs.n_goal_slots),
        move_workspace=new_move_workspace(programs, 1, seed),
        rng=np.array([seed], np.uint64),
        drawn=np.zeros((STATES_PER_MATCH, len(programs.next_slot)), np.uint64),
        goals=np.zeros((64, len(programs.role_start) - 1), np.float32),
        keep=np.full(1, ALL),
        following=np.zeros(len(programs.next_slot), np.uint64),
        points=np.zeros(len(programs.role_start) - 1),
    )


def in_lanes(word: int) -> NDArray[np.bool_]:
    """Returns (64) whether each bit of a word is set."""
    flags: NDArray[np.bool_] = (np.uint64(word) >> np.arange(64, dtype=np.uint64)) & np.uint64(1) != 0
    return flags


def packed_states(drawn: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Returns the 64 states of one row of `SamplingWorkspace.drawn`, packed: (64, words)."""
    bits = (drawn[None, :] >> np.arange(64, dtype=np.uint64)[:, None]) & np.uint64(1)
    padded = np.zeros((64, max(1, -(-len(drawn) // 64)) * 64), np.uint8)
    padded[:, : len(drawn)] = bits
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


@step
def _draw_states(workspace, active, ply, n_fluents):
    """Draws the state of each match in `active` (a word) with chance 1 / `ply`.

    Reservoir sampling (Vitter 1985) of one state, STATES_PER_MATCH times independently: all plies are equally likely.
    `workspace` is a `SamplingWorkspace`.
    """
    for k in range(STATES_PER_MATCH):
        chosen = ZERO
        rest = active
        while rest != ZERO:
            lane = lowest(rest)
            rest &= rest - ONE
            if (random32(workspace.rng) * np.uint64(ply)) >> np.uint64(32) == ZERO:
                chosen |= ONE << np.uint64(lane)
        if chosen != ZERO:
            for f in range(n_fluents):
                word = workspace.slots[FIRST_FLUENT + f]
                workspace.drawn[k, f] ^= (workspace.drawn[k, f] ^ word) & chosen


@njit(**KERNEL)
def play_batch(programs, workspace, starts, stop):
    """Plays 64 random matches to the end, match i from the packed state `starts[i % len(starts)]` (uint64[n, words]).

    Fills `workspace.drawn` with states strictly between start and end of each match, and `workspace.goals`, with 0 for
    a role without a goal. Returns a word of matches that ended after two plies or more, so that a state could be drawn;
    a word of all matches that ended; and the number of plies played. `stop` (uint8[1]) ends it early.
    """
    n_fluents = len(programs.next_slot)
    roles = len(programs.role_start) - 1
    slots, goal_slots = workspace.slots, workspace.goal_slots
    draw = workspace.move_workspace
    reset(programs.initial, slots, NARROW)
    for i in range(len(goal_slots)):
        goal_slots[i] = ZERO
    goal_slots[SLOT_TRUE] = ALL
    for lane in range(64):
        load_state(n_fluents, slots, NARROW, lane, starts[lane % len(starts)])
    active = ALL
    drawn_from = ZERO
    ended = ZERO
    plies = 0
    for ply in range(MAX_PLIES):
        evaluate(programs.legal, slots, NARROW)
        over = slots[programs.terminal_slot] & active
        if over != ZERO:
            for f in range(FIRST_FLUENT, FIRST_FLUENT + n_fluents):
                goal_slots[f] = (goal_slots[f] & ~over) | (slots[f] & over)
            ended |= over
            active &= ~over
        if active == ZERO or stop[0] != 0:
            break
        if ply > 0:
            _draw_states(workspace, active, ply, n_fluents)
            drawn_from |= active
        clear_sets(programs.first_set, programs.n_sets, slots, NARROW)
        for role in range(roles):
            draw.lanes[0] = active
            n = choose_random(programs.role_start, slots, NARROW, role, draw, UNIFORM)
            active &= ~draw.stuck[0]
            enter_chosen(programs.set_start, programs.set_slot, slots, NARROW, draw, n)
        plies += popcount(active)
        evaluate(programs.next, slots, NARROW)
        advance(programs.next_slot, programs.initial, slots, NARROW, workspace.keep, workspace.following)
    goal_slot, goal_role, goal_value = programs.goal_slot, programs.goal_role, programs.goal_value
    evaluate(programs.goal, goal_slots, NARROW)
    rest = ended
    while rest != ZERO:
        lane = lowest(rest)
        rest &= rest - ONE
        read_goals(goal_slot, goal_role, goal_value, goal_slots, lane, workspace.points)
        for role in range(roles):
            workspace.goals[lane, role] = workspace.points[role] / 100.0
    return drawn_from & ended, ended, plies


@njit(**KERNEL)
def add_normal_equations(columns, goals, gram, moments):
    """Adds states to the normal equations of least squares, X'X and X'y, where X is (states, fluents) of 0 and 1.

    `columns` is X', uint64[fluents, words], a bit per state; `goals` is y, float32[64 * words, roles]. Adds to `gram`
    (int64[fluents, fluents], upper triangle only) the number of states in which two fluents hold, and to `moments`
    (float64[fluents, roles]) the goals of the states in which a fluent holds.
    """
    n, words = columns.shape
    for f in range(n):
        for g in range(f, n):
            total = 0
            for word in range(words):
                total += popcount(columns[f, word] & columns[g, word])
            gram[f, g] += total
        for word in range(words):
            rest = columns[f, word]
            while rest != ZERO:
                state = 64 * word + lowest(rest)
                rest &= rest - ONE
                for role in range(goals.shape[1]):
                    moments[f, role] += goals[state, role]
