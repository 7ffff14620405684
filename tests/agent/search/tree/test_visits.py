"""Exact visits of the root's moves after some playouts.

Refactoring must not change them. Another formula of selection, or another order of random numbers, does: pin the new
visits.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.search.engine import Opinion
from agent.search.tree import engine as tree_engine
from agent.search.tree.decisive.kernels import no_decisive_moves
from agent.search.tree.engine import TreeSearch
from agent.search.tree.root_policy import read_root
from games.gdl.running.machine import CircuitMachine
from games.machine import State
from tests.agent.search.tree.steady import steady
from tests.circuits import own_machine

Think = Callable[..., Opinion]


@pytest.fixture
def visits(think: Think, monkeypatch: pytest.MonkeyPatch) -> Callable[[CircuitMachine, int, State, int], list[int]]:
    """The visits of a role's moves after some playouts, the same on any machine."""

    def search(machine: CircuitMachine, role: int, state: State, playouts: int) -> list[int]:
        engine = TreeSearch(machine, role, threads=1, memory_bytes=1 << 22, seed=1)
        engine.begin(state)
        steady(engine)
        think(engine, playouts)
        found: list[int] = read_root(engine._tree, role, -1).visits.astype(int).tolist()
        return found

    # They are found in a limited time.
    monkeypatch.setattr(tree_engine, "decisive_moves_of", lambda machine, timeless: no_decisive_moves())
    return search


@pytest.mark.parametrize(
    ("name", "playouts", "expected"),
    [
        ("connect_four", 2000, [137, 201, 353, 697, 297, 176, 154]),
        # Below the root there are proven positions.
        ("tic_tac_toe", 4000, [380, 89, 191, 65, 3266, 113, 357, 81, 265]),
        (
            "three_way_line",
            2000,
            [40, 29, 81, 40, 24, 25, 64, 112, 64, 33, 96, 129, 393, 182, 56, 25, 67, 236, 97, 32, 32, 25, 72, 32, 25],
        ),
        # Both choose at once.
        ("rock_paper_scissors", 2000, [1809, 1849, 1793]),
    ],
)
def test_visits_of_each_move(
    visits: Callable[[CircuitMachine, int, State, int], list[int]], name: str, playouts: int, expected: list[int]
) -> None:
    """From the first position of a game."""
    machine = own_machine(name)
    assert visits(machine, 0, machine.initial(), playouts) == expected
