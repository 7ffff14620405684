"""Numba kernels between lanes and arrays with a row per state: what `CircuitMachine` asks batches of states with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.gdl.running import kernels
from games.gdl.running.goals import read_goals
from games.gdl.running.layout import FIRST_FLUENT
from games.gdl.running.playouts import choose_random


class MatchPositions(NamedTuple):
    """Positions of random matches, as parallel arrays of length n."""

    states: NDArray[np.uint64]
    """(n, words) packed states."""
    joint: NDArray[np.int32]
    """(n, roles) move indices per role; -1 in positions where the match ended."""
    match: NDArray[np.int32]
    """(n) number of the match; positions of one match are in order."""
    terminal: NDArray[np.bool_]
    """(n)"""


@njit(cache=True, nogil=True)
def load_lanes(programs, slots, states):
    """States (uint64[n <= 64, words]) into lanes 0, 1, ... of slots (uint64[n_slots])."""
    for f in range(len(programs.next_slot)):
        word = np.uint64(0)
        for lane in range(len(states)):
            word |= ((states[lane, f >> 6] >> np.uint64(f & 63)) & np.uint64(1)) << np.uint64(lane)
        slots[FIRST_FLUENT + f] = word


@njit(cache=True, nogil=True)
def read_lanes(slots, which, result):
    """`result[lane, i]` (bool[lanes, n]) = bit `lane` of slot `which[i]` (int32[n]); `slots` is uint64[n_slots]."""
    for i in range(len(which)):
        word = slots[which[i]]
        for lane in range(len(result)):
            result[lane, i] = (word >> np.uint64(lane)) & np.uint64(1) != np.uint64(0)


@njit(cache=True, nogil=True)
def read_goals_of_lanes(programs, goal_slots, result):
    """`result[lane]` (int32[lanes, roles]) = the goals of lanes 0, 1, ...; -1 for a role without one.

    `goal_slots` (uint64[n_goal_slots]) are as `evaluate_goals` leaves them.
    """
    for lane in range(len(result)):
        read_goals(programs, goal_slots, lane, -1, result[lane])


@njit(cache=True, nogil=True)
def enter_lanes(programs, slots, joint):
    """Enters one joint move per lane (int32[lanes, roles], indices per role) in `slots` (uint64[n_slots])."""
    kernels.clear_sets(programs, slots, (0,))
    for lane in range(len(joint)):
        for role in range(joint.shape[1]):
            if joint[lane, role] >= 0:
                move = programs.role_start[role] + joint[lane, role]
                kernels.enter_move(programs, slots, (0,), 0, move, np.uint64(1) << np.uint64(lane))


@njit(cache=True, nogil=True)
def random_ply(programs, slots, workspace, rng, active, positions):
    """One random ply in the active lanes; lanes that end or are stuck become inactive.

    `slots` is uint64[n_slots], `workspace` a `MoveWorkspace`, `rng` uint64[1], `active` uint64[1] the lanes.
    `positions` (`MatchPositions` with a row per active lane, joint moves all -1, terminal all False) takes the
    positions before the ply; its matches are numbered by lane.
    """
    width = (0,)
    kernels.evaluate(programs.legal, slots, width)
    kernels.clear_sets(programs, slots, width)
    rest = active[0]
    index = np.full(64, -1, np.int64)
    n = 0
    for lane in range(64):
        if rest >> np.uint64(lane) & np.uint64(1):
            index[lane] = n
            positions.match[n] = lane
            kernels.store_state(programs, slots, width, lane, positions.states[n])
            n += 1
    ended = slots[programs.terminal_slot] & rest
    stuck = np.uint64(0)
    for role in range(len(programs.role_start) - 1):
        n_moves, dead = choose_random(programs, slots, width, 0, role, rest & ~ended, rng, workspace)
        stuck |= dead
        for i in range(n_moves):
            lanes = workspace.chosen[i]
            if lanes != np.uint64(0):
                kernels.enter_move(programs, slots, width, 0, workspace.move[i], lanes)
                for lane in range(64):
                    if lanes >> np.uint64(lane) & np.uint64(1):
                        positions.joint[index[lane], role] = workspace.move[i] - programs.role_start[role]
    for lane in range(64):
        if (ended | stuck) >> np.uint64(lane) & np.uint64(1):
            if ended >> np.uint64(lane) & np.uint64(1):
                positions.terminal[index[lane]] = True
            positions.joint[index[lane], :] = -1
    active[0] = rest & ~ended & ~stuck
    kernels.evaluate(programs.next, slots, width)
    keep = np.empty(1, np.uint64)
    keep[0] = active[0]
    kernels.advance(programs, slots, width, keep)
