"""Compiled games, and engines that think for some time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from agent.search.engine import Opinion
from agent.search.tree.engine import TreeSearch, warm_kernels
from games import rulesheets
from games.gdl.circuit.circuit import build_circuit
from games.gdl.compile import warm_kernels as warm_circuits
from games.gdl.grounding.ground import ground
from games.gdl.rules.check import check
from games.gdl.running.machine import CircuitMachine, compiled_game
from protocol import kif

Compile = Callable[[str], CircuitMachine]
Think = Callable[[TreeSearch, float], Opinion]


@pytest.fixture(scope="session", autouse=True)
def _kernels() -> None:
    """Compile the kernels before a clock runs."""
    warm_kernels(warm_circuits())


@cache
def _machine_of(text: str) -> CircuitMachine:
    checked = check(kif.read_rulesheet(text))
    return CircuitMachine(compiled_game(build_circuit(ground(checked.rules, checked.roles))))


@pytest.fixture(scope="session")
def machine_of() -> Compile:
    """The circuit of a rulesheet's text."""
    return _machine_of


@pytest.fixture(scope="session")
def own() -> Compile:
    """The circuit of one of the package's sheets, by its name."""
    return lambda name: _machine_of(rulesheets.text(name))


@pytest.fixture(scope="session")
def think() -> Think:
    """The last opinion of an engine that thinks for some seconds, or until it stops by itself."""

    def run(engine: TreeSearch, seconds: float) -> Opinion:
        opinions: list[Opinion] = []
        stop = np.zeros(1, np.uint8)
        timer = threading.Timer(seconds, stop.fill, (1,))
        timer.start()
        engine.think(stop, opinions.append, seconds)
        timer.cancel()
        return opinions[-1]

    return run
