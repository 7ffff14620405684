"""Compiled games and states of random matches; engines that think for a number of playouts; compiled kernels."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.search.engine import Limit, Opinion
from agent.search.kernel_groups import ALPHA_BETA, CIRCUIT, PLANNING, TREE, kernel_groups
from agent.search.tree import engine as tree_engine
from agent.search.tree.engine import TreeSearch
from agent.search.tree.store import new_tree
from games.gdl.running.machine import CircuitMachine
from games.machine import State
from tests import circuits
from tests.agent.search.thinking import opinions_of
from tests.circuits import Compile

Think = Callable[..., Opinion]


@pytest.fixture(scope="session")
def machine_of() -> Compile:
    """The circuit of a rulesheet's text."""
    return circuits.machine_of


@pytest.fixture(scope="session")
def own() -> Compile:
    """The circuit of one of the package's sheets, by its name."""
    return circuits.own_machine


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


@pytest.fixture(scope="session")
def think() -> Think:
    """The last opinion of an engine that makes some playouts (or a few more), or thinks until it stops by itself."""

    def run(engine: TreeSearch, playouts: int | None = None) -> Opinion:
        return opinions_of(engine, Limit(nodes=playouts))[-1]

    return run


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees of a megabyte, whatever is asked for: clearing the tables of a whole gigabyte takes a while."""
    monkeypatch.setattr(tree_engine, "new_tree", lambda programs, words, memory: new_tree(programs, words, 1 << 20))


@pytest.fixture(scope="session", autouse=True)
def _kernels() -> None:
    """Compiles the kernels of general engines before the first test."""
    for group in (CIRCUIT, TREE, PLANNING, ALPHA_BETA):
        kernel_groups()[group].load()
