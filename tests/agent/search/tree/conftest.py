"""Compiled games, and engines that think for a number of playouts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.search.engine import Opinion, StopFlag
from agent.search.tree.engine import TreeSearch, warm_kernels
from agent.search.tree.scheduler import Scheduler
from agent.search.tree.store import N_PLAYOUTS
from games import rulesheets
from games.gdl.compile import warm_kernels as warm_circuits
from games.gdl.running.machine import CircuitMachine
from tests.agent.search.stopping import StopWhen, never

Compile = Callable[[str], CircuitMachine]
Think = Callable[..., Opinion]

SLICE = 256
"""Playouts per slice."""


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
            if playouts is not None:
                _count_slices(engine, playouts, stop.flag)
            engine.think(stop.flag, opinions.append, None)
        return opinions[-1]

    return run


def _count_slices(engine: TreeSearch, playouts: int, flag: StopFlag) -> None:
    """Makes slices of a fixed number of playouts instead of a fixed time, and raises the flag after enough of them."""
    scheduler, counts = engine._scheduler, engine._tree.counts
    enough = counts[N_PLAYOUTS] + playouts

    def run_slice(thread: int, stop: StopFlag) -> None:
        scheduler._budgets[thread] = SLICE
        Scheduler.run_slice(scheduler, thread, stop)
        if counts[N_PLAYOUTS] >= enough:
            flag[0] = 1

    scheduler.run_slice = run_slice  # type: ignore[method-assign]
