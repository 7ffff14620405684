"""Circuits read back from machines."""

from __future__ import annotations

import numpy as np
import pytest

from games.gdl.compile import warm_kernels
from games.gdl.running.machine import CircuitMachine, compiled_game
from games.gdl.running.rebuilding import circuit_of
from tests import circuits

GAMES = ["tic_tac_toe", "connect_four", "breakthrough"]


@pytest.mark.parametrize("name", GAMES)
def test_what_is_read_back_is_the_same_game(name: str) -> None:
    warm_kernels()
    machine = circuits.own_machine(name)
    again = CircuitMachine(compiled_game(circuit_of(machine)))
    positions = machine.random_matches(20, 1)
    for one, other in zip(machine.legal_of(positions.states), again.legal_of(positions.states), strict=True):
        assert (one == other).all()
    ends = positions.terminal
    assert np.array_equal(*(one.goals_of(positions.states[ends]) for one in (machine, again)), equal_nan=True)
    states, joint = positions.states[~ends], positions.joint[~ends]
    assert (machine.next_of(states, joint) == again.next_of(states, joint)).all()
