"""Compiled games."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from games.gdl.circuit.circuit import build_circuit
from games.gdl.grounding.ground import ground
from games.gdl.rules.check import check
from games.gdl.running.machine import CircuitMachine, compiled_game
from protocol import kif

Compile = Callable[[str], CircuitMachine]


@cache
def _machine_of(text: str) -> CircuitMachine:
    checked = check(kif.read_rulesheet(text))
    return CircuitMachine(compiled_game(build_circuit(ground(checked.rules, checked.roles))))


@pytest.fixture(scope="session")
def machine_of() -> Compile:
    """The circuit of a rulesheet's text."""
    return _machine_of
