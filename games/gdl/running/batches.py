"""Between lanes and arrays with a row per state: what `CircuitMachine` asks batches of states with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from games.gdl.running.kernels import ALL, FIRST_WORD, WIDTHS, evaluate
from games.gdl.running.layout import FIRST_FLUENT, SLOT_TRUE, CircuitPrograms
from games.gdl.running.playouts import MoveWorkspace, choose_random
from games.gdl.running.schedule import ranges

_WIDTH = WIDTHS[1]


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


def bits_of(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """(n, 64): bit i of each of n words, 0 or 1."""
    return np.unpackbits(words.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")


def words_of(bits: NDArray[np.uint8] | NDArray[np.bool_]) -> NDArray[np.uint64]:
    """The word of each row of bits (n, up to 64); the inverse of `bits_of`."""
    packed = np.zeros((len(bits), 8), np.uint8)
    row_bytes = np.packbits(bits, axis=1, bitorder="little")
    packed[:, : row_bytes.shape[1]] = row_bytes
    return packed.view("<u8")[:, 0].astype(np.uint64, copy=False)


def load_initial(programs: CircuitPrograms, slots: NDArray[np.uint64]) -> None:
    """The initial state into all lanes of slots (n_slots)."""
    slots[:] = 0
    slots[SLOT_TRUE] = ALL
    slots[FIRST_FLUENT : FIRST_FLUENT + len(programs.initial)] = programs.initial


def load_lanes(programs: CircuitPrograms, slots: NDArray[np.uint64], states: NDArray[np.uint64]) -> None:
    """Packed states (n <= 64, words) into lanes 0, 1, ... of slots (n_slots)."""
    n_fluents = len(programs.next_slot)
    facts = bits_of(states.ravel()).reshape(len(states), -1)[:, :n_fluents]
    slots[FIRST_FLUENT : FIRST_FLUENT + n_fluents] = words_of(facts.T)


def read_lanes(slots: NDArray[np.uint64], which: NDArray[np.int32], lanes: int) -> NDArray[np.bool_]:
    """(lanes, n): the values of n slots in lanes 0, 1, ..."""
    values: NDArray[np.bool_] = bits_of(slots[which])[:, :lanes].T != 0
    return values


def read_goals_of_lanes(programs: CircuitPrograms, goal_slots: NDArray[np.uint64], lanes: int) -> NDArray[np.int32]:
    """The goals (lanes, roles) of lanes 0, 1, ...; -1 for a role without one.

    The slots (n_goal_slots) are as `evaluate_goals` leaves them.
    """
    goals = np.full((lanes, len(programs.role_start) - 1), -1, np.int32)
    first = programs.first_goal
    values, where = np.nonzero(bits_of(goal_slots[first : first + len(programs.goal_value)])[:, :lanes])
    goals[where, programs.goal_role[values]] = programs.goal_value[values]
    return goals


def enter_lanes(programs: CircuitPrograms, slots: NDArray[np.uint64], joint: NDArray[np.int32]) -> None:
    """Enters one joint move per lane (lanes, roles), indices per role or -1 for none, in slots (n_slots)."""
    slots[programs.first_set : programs.first_set + programs.n_sets] = 0
    lanes, roles = np.nonzero(joint >= 0)
    moves = programs.role_start[roles] + joint[lanes, roles]
    sizes = programs.set_start[moves + 1] - programs.set_start[moves]
    sets = programs.set_slot[ranges(programs.set_start[moves], sizes)]
    np.bitwise_or.at(slots, sets, np.repeat(np.uint64(1) << lanes.astype(np.uint64), sizes))


def random_ply(
    programs: CircuitPrograms,
    slots: NDArray[np.uint64],
    workspace: MoveWorkspace,
    rng: NDArray[np.uint64],
    active: int,
) -> tuple[MatchPositions, int]:
    """One random ply in the active lanes (a word) of slots (n_slots); `rng` is (1).

    Returns the positions before the ply, with the lane as the number of the match, and the lanes that go on: neither
    ended nor stuck.
    """
    evaluate(programs.legal, slots, _WIDTH)
    lanes = np.flatnonzero(bits_of(np.array([active], np.uint64))[0])
    n_fluents, n_roles = len(programs.next_slot), len(programs.role_start) - 1
    words = (n_fluents + 63) // 64 or 1
    facts = np.zeros((64, 64 * words), np.uint8)
    facts[:, :n_fluents] = bits_of(slots[FIRST_FLUENT : FIRST_FLUENT + n_fluents]).T
    ended = int(slots[programs.terminal_slot]) & active
    stuck = 0
    joint = np.full((64, n_roles), -1, np.int32)
    for role in range(n_roles):
        n, dead = choose_random(
            programs.role_start,
            programs.legal_slot,
            slots,
            _WIDTH,
            FIRST_WORD,
            role,
            np.uint64(active & ~ended),
            rng,
            workspace,
        )
        stuck |= int(dead)
        drawn, where = np.nonzero(bits_of(workspace.chosen[:n]))
        joint[where, role] = workspace.move[drawn] - programs.role_start[role]
    over = np.flatnonzero(bits_of(np.array([ended | stuck], np.uint64))[0])
    enter_lanes(programs, slots, joint)
    joint[over] = -1
    terminal = bits_of(np.array([ended], np.uint64))[0] != 0
    states = np.packbits(facts[lanes], axis=1, bitorder="little").view(np.uint64)
    positions = MatchPositions(states, joint[lanes], lanes.astype(np.int32), terminal[lanes])
    evaluate(programs.next, slots, _WIDTH)
    going = active & ~ended & ~stuck
    following = slots[programs.next_slot] & np.uint64(going)
    slots[FIRST_FLUENT : FIRST_FLUENT + n_fluents] = following | (programs.initial & ~np.uint64(going))
    return positions, going
