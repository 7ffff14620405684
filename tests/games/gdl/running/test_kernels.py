"""Kernels at both widths: every lane is a state of its own, and random moves are uniform."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from games.bits.words import aligned_words
from games.gdl.compile import warm_kernels
from games.gdl.running import kernels, playouts
from games.gdl.running.kernels import NARROW, WIDE
from games.gdl.running.layout import SLOT_TRUE, CircuitPrograms
from tests.circuits import own_machine

WIDTHS = {1: NARROW, 8: WIDE}


def lane_bits(slots: NDArray[np.uint64], which: NDArray[np.int32], width: int, lane: int) -> list[bool]:
    """A lane's value of these slots."""
    return [bool(slots[slot * width + lane // 64] >> np.uint64(lane % 64) & np.uint64(1)) for slot in which]


@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("name", ["connect_four", "eight_puzzle"])
def test_lanes_hold_states_of_their_own(name: str, width: int) -> None:
    """States loaded into lanes come out again, and each lane has its own legal moves, end and successor."""
    machine = own_machine(name)
    programs = machine.programs
    positions = machine.random_matches(10, 2, max_plies=60)
    rows = np.flatnonzero(positions.joint[:, 0] >= 0)
    legal, terminal = machine.legal_of(positions.states)
    nexts = machine.next_of(positions.states, positions.joint)
    slots = aligned_words(programs.n_slots * width)
    # Kernels that only kernels call run here as Python.
    kernels.reset.py_func(programs.initial, slots, WIDTHS[width])
    lanes = [int(lane) for lane in np.linspace(0, 64 * width - 1, 40)]
    for i, lane in enumerate(lanes):
        state = positions.states[rows[i % len(rows)]]
        kernels.load_state.py_func(len(programs.next_slot), slots, WIDTHS[width], lane, state)
    kernels.evaluate(programs.legal, slots, WIDTHS[width])
    kernels.clear_sets.py_func(programs.first_set, programs.n_sets, slots, WIDTHS[width])
    packed = np.zeros(machine.words, np.uint64)
    for i, lane in enumerate(lanes):
        row = rows[i % len(rows)]
        kernels.store_state.py_func(len(programs.next_slot), slots, WIDTHS[width], lane, packed)
        assert np.array_equal(packed, positions.states[row])
        assert lane_bits(slots, programs.legal_slot, width, lane) == legal[row].tolist()
        assert lane_bits(slots, np.array([programs.terminal_slot], np.int32), width, lane) == [terminal[row]]
        for role, move in enumerate(positions.joint[row]):
            bit = np.uint64(1) << np.uint64(lane % 64)
            number = programs.role_start[role] + move
            kernels.enter_move.py_func(
                programs.set_start, programs.set_slot, slots, WIDTHS[width], lane // 64, number, bit
            )
    kernels.evaluate(programs.next, slots, WIDTHS[width])
    keep = np.full(width, kernels.ALL)
    keep[0] &= ~np.uint64(1)  # lane 0 starts afresh
    following = np.zeros(len(programs.next_slot) * width, np.uint64)
    kernels.advance.py_func(programs.next_slot, programs.initial, slots, WIDTHS[width], keep, following)
    for i, lane in enumerate(lanes):
        kernels.store_state.py_func(len(programs.next_slot), slots, WIDTHS[width], lane, packed)
        expected = machine.pack(machine.initial()) if lane == 0 else nexts[rows[i % len(rows)]]
        assert np.array_equal(packed, expected)


def draw(
    programs: CircuitPrograms,
    legal: NDArray[np.bool_],
    lanes: int,
    draws: int,
    worth: NDArray[np.float32] | None = None,
) -> NDArray[np.int64]:
    """Number of draws by `choose_random`, per lane, of each move of role 0; `legal` is (lanes, moves).

    With `worth` (moves), of the better of two.
    """
    slots = np.zeros(programs.n_slots, np.uint64)
    slots[SLOT_TRUE] = kernels.ALL
    for move in range(legal.shape[1]):
        slots[programs.legal_slot[move]] = sum(1 << lane for lane in range(64) if legal[lane, move])
    workspace = playouts.new_move_workspace(programs)
    if worth is not None:
        workspace.worth[:] = worth
    rng = np.array([5], np.uint64)
    counts = np.zeros(legal.shape, np.int64)
    for _ in range(draws):
        n, dead = playouts.choose_random(
            programs.role_start,
            programs.legal_slot,
            slots,
            NARROW,
            0,
            0,
            np.uint64(lanes),
            rng,
            workspace,
            playouts.UNIFORM if worth is None else np.int64(2),
        )
        assert dead == sum(1 << lane for lane in range(64) if lanes >> lane & 1 and not legal[lane].any())
        chosen = workspace.chosen[:n, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
        np.add.at(counts.T, workspace.move[:n], chosen.astype(np.int64))
    return counts


def programs_of(moves: int) -> CircuitPrograms:
    """The programs of a game in which role 0 has this many moves."""
    return warm_kernels().programs._replace(
        n_slots=moves + 2,
        legal_slot=np.arange(2, moves + 2, dtype=np.int32),
        role_start=np.array([0, moves, moves], np.int64),
    )


@pytest.mark.parametrize("moves", [3, 64, 65, 150])
def test_random_moves_are_legal_and_uniform(moves: int) -> None:
    """In every lane exactly one of its legal moves is drawn, each as often as the others; also beyond 64 moves."""
    rng = np.random.default_rng(moves)
    legal = rng.random((64, moves)) < rng.choice([0.02, 0.5, 1.0], (64, 1))
    legal[3] = False
    legal[4] = np.arange(moves) == moves - 1
    lanes = (1 << 64) - 1 & ~(1 << 9)
    programs = programs_of(moves)
    draws = 400
    counts = draw(programs, legal, lanes, draws)
    assert not counts[~legal].any()
    playing = legal.any(axis=1) & (np.arange(64) != 9)
    assert counts.sum(axis=1).tolist() == np.where(playing, draws, 0).tolist()
    expected = draws / legal[playing].sum(axis=1)
    spread = np.abs(counts[playing] - expected[:, None]) / np.sqrt(expected[:, None])
    assert spread[legal[playing]].max() < 5.5


@pytest.mark.parametrize("moves", [3, 70])
def test_the_better_one_of_two_is_chosen(moves: int) -> None:
    """Of n legal moves, the one at rank i (from 0, the worst) wins 2 i + 1 of n * n draws."""
    rng = np.random.default_rng(moves)
    legal = np.ones((64, moves), np.bool_)
    legal[:, 1] = False
    worth = rng.permutation(moves).astype(np.float32) / moves
    draws = 400
    counts = draw(programs_of(moves), legal, (1 << 64) - 1, draws, worth).sum(axis=0)
    assert counts[1] == 0
    order = [move for move in np.argsort(worth).tolist() if move != 1]
    expected = 64 * draws * (2 * np.arange(moves - 1) + 1) / (moves - 1) ** 2
    assert (np.abs(counts[order] - expected) / np.sqrt(expected)).max() < 5.5
