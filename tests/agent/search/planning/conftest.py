"""Compiled puzzles."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from agent.search.planning.engine import warm_kernels
from agent.search.tree.engine import warm_kernels as warm_tree
from games.gdl.circuit.circuit import build_circuit
from games.gdl.compile import warm_kernels as warm_circuits
from games.gdl.grounding.ground import ground
from games.gdl.rules.check import check
from games.gdl.running.machine import CircuitMachine, compiled_game
from protocol import kif

Compile = Callable[[str], CircuitMachine]


@pytest.fixture(scope="session", autouse=True)
def _kernels() -> None:
    """Compile the kernels before they are used."""
    warm_tree(warm_circuits())
    warm_kernels(warm_circuits())


@cache
def _machine_of(text: str) -> CircuitMachine:
    checked = check(kif.read_rulesheet(text))
    return CircuitMachine(compiled_game(build_circuit(ground(checked.rules, checked.roles))))


@pytest.fixture(scope="session")
def machine_of() -> Compile:
    """The circuit of a rulesheet's text."""
    return _machine_of
