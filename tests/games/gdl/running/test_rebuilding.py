"""Circuits read back from machines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from games import rulesheets
from games.gdl.circuit.circuit import Circuit
from games.gdl.compile import warm_kernels
from games.gdl.running import rebuilding
from games.gdl.running.machine import CircuitMachine, compiled_game
from games.gdl.running.rebuilding import circuit_of, unfactored
from games.gdl.structure.symmetry import find_symmetries
from tests import circuits

GAMES = ["tic_tac_toe", "connect_four", "breakthrough"]


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("read_back", [circuit_of, unfactored])
def test_what_is_read_back_is_the_same_game(name: str, read_back: Callable[[CircuitMachine], Circuit]) -> None:
    warm_kernels()
    machine = circuits.own_machine(name)
    again = CircuitMachine(compiled_game(read_back(machine)))
    positions = machine.random_matches(20, 1)
    for one, other in zip(machine.legal_of(positions.states), again.legal_of(positions.states), strict=True):
        assert (one == other).all()
    ends = positions.terminal
    assert np.array_equal(*(one.goals_of(positions.states[ends]) for one in (machine, again)), equal_nan=True)
    states, joint = positions.states[~ends], positions.joint[~ends]
    assert (machine.next_of(states, joint) == again.next_of(states, joint)).all()


@pytest.mark.parametrize("name", GAMES)
def test_symmetries_show_again_without_factors(name: str) -> None:
    """Unfactored, the circuit has all symmetries; factoring picks one of several equal pairs."""
    warm_kernels()
    machine = circuits.own_machine(name)
    circuit = unfactored(machine)
    assert circuit is not None
    found, expected = (
        find_symmetries(circuit),
        find_symmetries(circuits.circuit_of(rulesheets.text(name), factored=False)),
    )
    assert (found.order, found.complete) == (expected.order, True)
    assert {one.keeps(circuit.initial) for one in found.generators} == {False, True}
    assert all(np.array_equal(np.sort(one.fluents), np.arange(len(circuit.fluents))) for one in found.generators)


def test_too_large_circuits_are_not_unfactored(monkeypatch: pytest.MonkeyPatch) -> None:
    warm_kernels()
    machine = circuits.own_machine("tic_tac_toe")
    monkeypatch.setattr(rebuilding, "MAX_UNFACTORED", 50)
    assert unfactored(machine) is None
