"""Regrets where several choose at once, among few moves and among many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numba import njit

from agent.search.engine import Opinion
from agent.search.tree.regret import add_regrets
from agent.search.tree.store import MIXED, ROOT
from tests.agent.search.thinking import tree_search
from tests.agent.search.tree.steady import steady
from tests.circuits import machine_of

Think = Callable[..., Opinion]


@njit(cache=True)
def _add_regrets(tree, node, edges, sums, results, random_role, rng):
    """The kernel has no entry from Python of its own."""
    add_regrets(tree, node, edges, sums, results, random_role, rng)


def picks(moves: int) -> str:
    """`a` picks one of that many numbers, which are worth as much to it, or to `b` if `b` says so at the same time."""
    return "\n".join(
        [
            "(role a) (role b) (init first)",
            "(<= (legal a (pick ?n)) (number ?n ?m)) (legal b mine) (legal b yours)",
            "(<= (next (worth ?r ?m ?rest)) (does ?r (pick ?n)) (number ?n ?m) (rest ?m ?rest))",
            "(<= (next (taker ?s)) (does b ?s))",
            "(<= terminal (true (taker ?s)))",
            "(<= (goal a ?m) (true (taker yours)) (true (worth a ?m ?rest)))",
            "(<= (goal a ?rest) (true (taker mine)) (true (worth a ?m ?rest)))",
            "(<= (goal b ?rest) (true (taker yours)) (true (worth a ?m ?rest)))",
            "(<= (goal b ?m) (true (taker mine)) (true (worth a ?m ?rest)))",
            "(<= (goal ?r 0) (role ?r) (true first))",
            *(f"(number {n} {20 + n}) (rest {20 + n} {80 - n})" for n in range(moves)),
        ]
    )


@pytest.mark.parametrize(("moves", "parts"), [(15, 1), (16, 2), (40, 3)])
def test_of_many_moves_a_part_stands_for_all(think: Think, moves: int, parts: int) -> None:
    """Each descent updates the regrets of every second or third move, twice or three times as much."""
    machine = machine_of(picks(moves))
    engine = tree_search(machine)
    steady(engine)
    think(engine, 8000)
    tree = engine._tree
    root = int(tree.counts[ROOT])
    assert tree.node["expanded"][root] == MIXED
    first, other = (int(tree.stats[root, role]["first_edge"]) for role in (0, 1))
    assert machine.game.moves[0] == [("pick", str(n)) for n in range(moves)]
    worth = (20 + np.arange(moves)) / 100
    regrets = tree.amaf["total"]
    found = set()
    for seed in range(30):
        regrets[first : first + moves] = 50.0
        edges = np.array([first, other + 1], np.int32)
        _add_regrets(tree, root, edges, np.array([worth[0], 1 - worth[0]]), 1, -1, np.array([seed], np.uint64))
        assert edges.tolist() == [first, other + 1]
        change = regrets[first : first + moves] - 50.0
        assert not change[0]
        updated = np.flatnonzero(change)
        assert change[updated] == pytest.approx(parts * (worth - worth[0])[updated], abs=1e-4)
        found.add(tuple(updated.tolist()))
    assert found == {tuple(edge for edge in range(part, moves, parts) if edge != 0) for part in range(parts)}
