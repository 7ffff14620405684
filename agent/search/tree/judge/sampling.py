"""Random matches from a position, 64 at a time, and states drawn from them: what `judge` learns from.

States stay as the lanes have them, one word per fluent for 64 states, so that recording costs a few instructions per
fluent, and counting which fluents hold together is a matter of popcounts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.tree.lanes import MAX_PLIES, WIDTH
from games.bits.splitmix import random32
from games.bits.words import aligned_words, lowest, popcount
from games.gdl.running.goals import evaluate_goals, read_goals
from games.gdl.running.kernels import (
    ALL,
    ONE,
    ZERO,
    advance,
    clear_sets,
    enter_move,
    evaluate,
    load_state,
    reset,
)
from games.gdl.running.layout import FIRST_FLUENT, SLOT_TRUE, CircuitPrograms
from games.gdl.running.playouts import MoveWorkspace, choose_random, new_move_workspace

PER_MATCH = 4
"""States drawn from each match."""


class Sampler(NamedTuple):
    """What a batch of 64 matches needs, and what it leaves behind."""

    slots: NDArray[np.uint64]
    goal_slots: NDArray[np.uint64]
    workspace: MoveWorkspace
    rng: NDArray[np.uint64]
    drawn: NDArray[np.uint64]
    """(PER_MATCH, fluents): bit i of `drawn[k, f]` says whether fluent f holds in the k-th state of match i."""
    goals: NDArray[np.float32]
    """(64, roles): 0..1."""


def new_sampler(programs: CircuitPrograms, seed: int) -> Sampler:
    """Memory for batches of matches."""
    return Sampler(
        slots=aligned_words(programs.n_slots),
        goal_slots=aligned_words(programs.n_goal_slots),
        workspace=new_move_workspace(programs),
        rng=np.array([seed], np.uint64),
        drawn=np.zeros((PER_MATCH, len(programs.next_slot)), np.uint64),
        goals=np.zeros((64, len(programs.role_start) - 1), np.float32),
    )


def in_lanes(word: int) -> NDArray[np.bool_]:
    """(64): which bits of a word are set."""
    return (np.uint64(word) >> np.arange(64, dtype=np.uint64)) & np.uint64(1) != 0


def packed_states(drawn: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The 64 states of one row of `Sampler.drawn`, packed: (64, words)."""
    bits = (drawn[None, :] >> np.arange(64, dtype=np.uint64)[:, None]) & np.uint64(1)
    padded = np.zeros((64, max(1, -(-len(drawn) // 64)) * 64), np.uint8)
    padded[:, : len(drawn)] = bits
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


@njit(cache=True, nogil=True)
def _redraw(sampler, active, ply, n_fluents):
    """Makes the state of each active match one of its drawn states with the chance that keeps all plies equally likely.

    Reservoir sampling (Vitter 1985) with one place, done `PER_MATCH` times independently.
    """
    for k in range(PER_MATCH):
        chosen = ZERO
        rest = active
        while rest != ZERO:
            lane = lowest(rest)
            rest &= rest - ONE
            if (random32(sampler.rng) * np.uint64(ply)) >> np.uint64(32) == ZERO:
                chosen |= ONE << np.uint64(lane)
        if chosen != ZERO:
            for f in range(n_fluents):
                word = sampler.slots[FIRST_FLUENT + f]
                sampler.drawn[k, f] ^= (sampler.drawn[k, f] ^ word) & chosen


@njit(cache=True, nogil=True)
def play_batch(programs, sampler, starts, stop):
    """Plays 64 random matches to the end, match i from the packed state `starts[i % len(starts)]`.

    Fills `sampler.drawn` with states between a match's start and its end, both left out, and `sampler.goals`, with 0
    for a role without a goal. Returns the matches (a word) that came to an end after two plies or more, so that a state
    could be drawn, all that came to an end, and the number of plies played. `stop[0]` ends it early.
    """
    n_fluents = len(programs.next_slot)
    roles = len(programs.role_start) - 1
    slots, goal_slots = sampler.slots, sampler.goal_slots
    reset(programs, slots, WIDTH)
    goal_slots[:] = ZERO
    goal_slots[SLOT_TRUE] = ALL
    for lane in range(64):
        load_state(programs, slots, WIDTH, lane, starts[lane % len(starts)])
    active = ALL
    drawn_from = ZERO
    ended = ZERO
    keep = np.full(1, ALL)
    plies = 0
    for ply in range(MAX_PLIES):
        evaluate(programs.legal, slots, WIDTH)
        over = slots[programs.terminal_slot] & active
        if over != ZERO:
            for f in range(FIRST_FLUENT, FIRST_FLUENT + n_fluents):
                goal_slots[f] = (goal_slots[f] & ~over) | (slots[f] & over)
            ended |= over
            active &= ~over
        if active == ZERO or stop[0] != 0:
            break
        if ply > 0:
            _redraw(sampler, active, ply, n_fluents)
            drawn_from |= active
        clear_sets(programs, slots, WIDTH)
        for role in range(roles):
            n, stuck = choose_random(programs, slots, WIDTH, 0, role, active, sampler.rng, sampler.workspace)
            active &= ~stuck
            for i in range(n):
                if sampler.workspace.chosen[i] != ZERO:
                    enter_move(programs, slots, WIDTH, 0, sampler.workspace.move[i], sampler.workspace.chosen[i])
        plies += popcount(active)
        evaluate(programs.next, slots, WIDTH)
        advance(programs, slots, WIDTH, keep)
    evaluate_goals(programs, goal_slots, WIDTH)
    goals = np.empty(roles)
    rest = ended
    while rest != ZERO:
        lane = lowest(rest)
        rest &= rest - ONE
        read_goals(programs, goal_slots, lane, 0, goals)
        for role in range(roles):
            sampler.goals[lane, role] = goals[role] / 100.0
    return drawn_from & ended, ended, plies


@njit(cache=True, nogil=True)
def digest(columns, goals, pairs, sums):
    """Adds to `pairs[f, g]`, f <= g, in how many states two fluents hold together, to `sums[f]` the goals where f does.

    `columns` is uint64[fluents, words], a bit per state; `goals` float32[64 * words, roles]; `pairs` int64[fluents,
    fluents]; `sums` float64[fluents, roles].
    """
    n, words = columns.shape
    for f in range(n):
        for g in range(f, n):
            total = 0
            for word in range(words):
                total += popcount(columns[f, word] & columns[g, word])
            pairs[f, g] += total
        for word in range(words):
            rest = columns[f, word]
            while rest != ZERO:
                state = 64 * word + lowest(rest)
                rest &= rest - ONE
                for role in range(goals.shape[1]):
                    sums[f, role] += goals[state, role]
