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
        ("connect_four", 2000, [129, 186, 344, 763, 251, 194, 145]),
        # Below the root there are proven positions.
        ("tic_tac_toe", 4000, [197, 122, 352, 122, 3458, 113, 267, 121, 247]),
        (
            "three_way_line",
            2000,
            [16, 32, 57, 40, 40, 25, 52, 126, 57, 34, 96, 255, 240, 136, 112, 40, 165, 133, 81, 32, 53, 49, 88, 24, 25],
        ),
        # Both choose at once.
        ("rock_paper_scissors", 2000, [1736, 1712, 2115]),
    ],
)
def test_visits_of_each_move(
    visits: Callable[[CircuitMachine, int, State, int], list[int]], name: str, playouts: int, expected: list[int]
) -> None:
    """From the first position of a game."""
    machine = own_machine(name)
    assert visits(machine, 0, machine.initial(), playouts) == expected
