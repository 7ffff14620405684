"""Kernels, compiled games, and states of random matches."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.search.choosing.preparation import Preparation
from agent.search.learning.warming import warm_kernels
from agent.search.tree.engine import warm_kernels as warm_tree
from games import rulesheets
from games.gdl.compile import warm_kernels as warm_circuits
from games.gdl.running.machine import CircuitMachine
from games.machine import State

Compile = Callable[[str], CircuitMachine]


@pytest.fixture(scope="session", autouse=True)
def _kernels() -> None:
    """Compile the kernels before they are used."""
    warm_tree(warm_circuits())
    warm_kernels(warm_circuits())


@pytest.fixture(scope="session")
def own(machine_of: Compile) -> Compile:
    """The circuit of one of the package's sheets, by its name."""
    return lambda name: machine_of(rulesheets.text(name))


@pytest.fixture(scope="session")
def random_states() -> Callable[[CircuitMachine, int], list[State]]:
    """Different states of random matches in which the match goes on, in a random order that is always the same."""

    def draw(machine: CircuitMachine, most: int) -> list[State]:
        positions = machine.random_matches(16, 5)
        states = dict.fromkeys(machine.unpack(words) for words in positions.states[~positions.terminal])
        found = [state for state in states if all(machine.legal(state, role) for role in (0, 1))]
        return sorted(found, key=hash_of)[:most]

    def hash_of(state: State) -> int:
        assert isinstance(state, bytes)
        return int.from_bytes(state, "little") * 0x9E3779B97F4A7C15 % (1 << 61)

    return draw


@pytest.fixture
def prepared(own: Compile) -> Preparation:
    """Of tic-tac-toe."""
    return Preparation(own("tic_tac_toe"), 0, threads=2, seed=4)
