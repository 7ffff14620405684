"""Compiled games, and engines that think for a number of playouts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.search.engine import Limit, Opinion
from agent.search.tree.engine import TreeSearch, warm_kernels
from games import rulesheets
from games.gdl.compile import warm_kernels as warm_circuits
from games.gdl.running.machine import CircuitMachine
from tests.agent.search.stopping import StopWhen, never

Compile = Callable[[str], CircuitMachine]
Think = Callable[..., Opinion]


@pytest.fixture(scope="session", autouse=True)
def _kernels() -> None:
    """Compile the kernels before they are used."""
    warm_kernels(warm_circuits())


@pytest.fixture(scope="session")
def own(machine_of: Compile) -> Compile:
    """The circuit of one of the package's sheets, by its name."""
    return lambda name: machine_of(rulesheets.text(name))


@pytest.fixture(scope="session")
def think() -> Think:
    """The last opinion of an engine that makes some playouts (or a few more), or thinks until it stops by itself."""

    def run(engine: TreeSearch, playouts: int | None = None) -> Opinion:
        opinions: list[Opinion] = []
        with StopWhen(never) as stop:
            engine.think(stop.flag, opinions.append, Limit(nodes=playouts))
        return opinions[-1]

    return run
