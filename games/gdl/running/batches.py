"""Queries of `CircuitMachine` for batches of states: from arrays with a row per state to lanes, and back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.compiling import KERNEL
from games.gdl.running.kernels import ALL, NARROW, ONE, ZERO, evaluate
from games.gdl.running.layout import FIRST_FLUENT, SLOT_TRUE, CircuitPrograms
from games.gdl.running.playouts import UNIFORM, MoveWorkspace, choose_random
from games.gdl.running.schedule import ranges


class MatchPositions(NamedTuple):
    """Positions of random matches, as parallel arrays of length n."""

    states: NDArray[np.uint64]
    """(n, words) packed states."""
    joint: NDArray[np.int32]
    """(n, roles) move indices per role; -1 where the match ended."""
    match: NDArray[np.int32]
    """(n) number of the match; positions of one match are in order."""
    terminal: NDArray[np.bool_]
    """(n)"""

    def first(self, matches: int) -> MatchPositions:
        """Those of the first matches."""
        n = int(np.searchsorted(self.match, matches))
        return MatchPositions(self.states[:n], self.joint[:n], self.match[:n], self.terminal[:n])


def bits_of(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """(n, 64): bit i of each of n words, 0 or 1."""
    return np.unpackbits(words.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")


def facts_in(states: NDArray[np.uint64], n_fluents: int) -> NDArray[np.bool_]:
    """(..., fluents): whether each fluent holds in packed states (..., words)."""
    return np.unpackbits(states.view(np.uint8), axis=-1, count=n_fluents, bitorder="little").view(np.bool_)


def packed(facts: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """(..., words) packed states in which these facts (..., fluents) hold; the inverse of `facts_in`."""
    words = (facts.shape[-1] + 63) // 64 or 1
    padded = np.zeros((*facts.shape[:-1], 64 * words), np.bool_)
    padded[..., : facts.shape[-1]] = facts
    return np.packbits(padded, axis=-1, bitorder="little").view(np.uint64)


def lanes_in(word: int) -> NDArray[np.intp]:
    """Numbers of the lanes in a word."""
    return np.flatnonzero(bits_of(np.array([word], np.uint64))[0])


def load_initial(programs: CircuitPrograms, slots: NDArray[np.uint64]) -> None:
    """Loads the initial state into all lanes of slots (n_slots)."""
    slots[:] = 0
    slots[SLOT_TRUE] = ALL
    slots[FIRST_FLUENT : FIRST_FLUENT + len(programs.initial)] = programs.initial


@njit(**KERNEL)
def load_lanes(n_fluents, slots, states):
    """Loads packed states (uint64[n <= 64, words]) into lanes 0, 1, ... of slots (uint64[n_slots]), zeros elsewhere."""
    for f in range(n_fluents):
        at = f >> 6
        bit = np.uint64(f & 63)
        word = ZERO
        for lane in range(len(states)):
            word |= ((states[lane, at] >> bit) & ONE) << np.uint64(lane)
        slots[FIRST_FLUENT + f] = word


@njit(**KERNEL)
def read_lanes(slots, which, result):
    """`result[lane, i]` (bool[lanes, n]) = bit `lane` of slot `which[i]` (int32[n]); `slots` is uint64[n_slots]."""
    for i in range(len(which)):
        word = slots[which[i]]
        for lane in range(len(result)):
            result[lane, i] = (word >> np.uint64(lane)) & ONE != ZERO


def read_goals_of_lanes(programs: CircuitPrograms, goal_slots: NDArray[np.uint64], lanes: int) -> NDArray[np.intp]:
    """The goals (lanes, roles) of lanes 0, 1, ..., after the goal program on the slots (n_goal_slots).

    They are numbered over all roles, as `goal_role`; -1 for a role without.
    """
    goals = np.full((lanes, len(programs.role_start) - 1), -1, np.intp)
    # Values come in ascending order, and the last one stays.
    values, where = np.nonzero(bits_of(goal_slots[programs.goal_slot])[:, :lanes])
    goals[where, programs.goal_role[values]] = values
    return goals


def enter_lanes(programs: CircuitPrograms, slots: NDArray[np.uint64], joint: NDArray[np.int32]) -> None:
    """Enters one joint move per lane (lanes, roles), as indices per role or -1 for none, in slots (n_slots)."""
    slots[programs.first_set : programs.first_set + programs.n_sets] = 0
    lanes, n_roles = joint.shape
    none = len(programs.legal_slot) + np.arange(n_roles)
    moves = np.where(joint < 0, none, programs.role_start[:-1] + joint).ravel()
    sizes = programs.set_start[moves + 1] - programs.set_start[moves]
    sets = programs.set_slot[ranges(programs.set_start[moves], sizes)]
    lane = np.repeat(np.uint64(1) << np.arange(lanes, dtype=np.uint64), n_roles)
    np.bitwise_or.at(slots, sets, np.repeat(lane, sizes))


def random_ply(
    programs: CircuitPrograms,
    slots: NDArray[np.uint64],
    workspace: MoveWorkspace,
    active: int,
) -> tuple[MatchPositions, int]:
    """Plays one random ply in the active lanes (a word) of slots (n_slots).

    Returns the positions before the ply, their lanes as match numbers, and the lanes that go on: neither ended nor
    stuck.
    """
    evaluate(programs.legal, slots, NARROW)
    lanes = lanes_in(active)
    n_fluents, n_roles = len(programs.next_slot), len(programs.role_start) - 1
    facts = np.empty((64, n_fluents), np.bool_)
    read_lanes(slots, np.arange(FIRST_FLUENT, FIRST_FLUENT + n_fluents, dtype=np.int32), facts)
    states = packed(facts[lanes])
    ended = int(slots[programs.terminal_slot]) & active
    stuck = 0
    joint = np.full((64, n_roles), -1, np.int32)
    for role in range(n_roles):
        stuck |= _draw_moves(programs, slots, workspace, role, active & ~ended, joint)
    enter_lanes(programs, slots, joint)
    joint[lanes_in(ended | stuck)] = -1
    terminal = np.zeros(64, np.bool_)
    terminal[lanes_in(ended)] = True
    positions = MatchPositions(states, joint[lanes], lanes.astype(np.int32), terminal[lanes])
    evaluate(programs.next, slots, NARROW)
    going = active & ~ended & ~stuck
    following = slots[programs.next_slot] & np.uint64(going)
    slots[FIRST_FLUENT : FIRST_FLUENT + n_fluents] = following | (programs.initial & ~np.uint64(going))
    return positions, going


def _draw_moves(
    programs: CircuitPrograms,
    slots: NDArray[np.uint64],
    workspace: MoveWorkspace,
    role: int,
    lanes: int,
    joint: NDArray[np.int32],
) -> int:
    """Draws a random legal move of a role in each lane of a word, into `joint` (64, roles).

    Returns the lanes without one.
    """
    workspace.lanes[0] = lanes
    n = choose_random(programs.role_start, slots, NARROW, role, workspace, UNIFORM)
    drawn, where = np.nonzero(bits_of(workspace.chosen[:n]))
    joint[where, role] = workspace.move[drawn] - programs.role_start[role]
    return int(workspace.stuck[0])
