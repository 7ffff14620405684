"""Choice of the move at the root by the statistics of its edges."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from agent.search.tree.best_lines import BestLine
from agent.search.tree.root_policy import RootStatistics, choose


def root(
    visits: Sequence[int],
    means: Sequence[float],
    proven_goals: Sequence[float] | None = None,
    *,
    strategy: Sequence[float] | None = None,
    simultaneous: bool = False,
    proven: bool = False,
    value: float = 0.5,
    results: float | None = None,
) -> RootStatistics:
    """A root whose moves are numbered 10, 11, ...; -1 among the proven goals stands for an open child."""
    return RootStatistics(
        moves=np.arange(10, 10 + len(visits), dtype=np.int32),
        visits=np.array(visits, float),
        strategy=np.array(visits if strategy is None else strategy, float),
        means=np.array(means),
        proven_goals=np.array(proven_goals if proven_goals is not None else [-1.0] * len(visits)),
        simultaneous=simultaneous,
        proven=proven,
        value=value,
        results=float(sum(visits) if results is None else results),
    )


def choice(root: RootStatistics, line: BestLine | None = None, seed: int = 1) -> tuple[int, float, bool]:
    """The edge, its value and whether it is proven."""
    edge, value, proven = choose(root, line, 0.0, Random(seed))
    return edge, value, proven


@pytest.mark.parametrize(
    ("statistics", "chosen"),
    [
        # The only move is worth what the root is: its own edge may have no playouts yet.
        (root([0], [0.0], value=0.3), (0, 0.3, False)),
        (root([5], [0.2], [1.0], proven=True, value=1.0), (0, 1.0, True)),
        # The most visited move is played, not the one with the best mean, which may rest on a few playouts.
        (root([10, 90, 50], [0.9, 0.6, 0.5]), (1, 0.6, False)),
        # Of proven losses the most visited was the hardest to refute.
        (root([10, 30, 20], [0.2, 0.1, 0.3], [0.0, 0.0, 0.0], proven=True, value=0.0), (1, 0.0, True)),
        # A proven win is played however often it was visited.
        (root([2, 90], [0.5, 0.9], [1.0, -1.0], proven=True, value=1.0), (0, 1.0, True)),
        # A proven draw is taken where open moves promise less, and not called the best.
        (root([10, 90], [0.5, 0.4], [0.5, -1.0]), (0, 0.5, False)),
        (root([10, 90], [0.5, 0.6], [0.5, -1.0]), (1, 0.6, False)),
        # The most visited open move is preferred to a proven loss even if all of its playouts were lost.
        (root([10, 5], [0.0, 0.0], [0.0, -1.0]), (1, 0.0, False)),
    ],
)
def test_the_move_is_chosen_by_proofs_and_visits(statistics: RootStatistics, chosen: tuple[int, float, bool]) -> None:
    """Where roles take turns."""
    assert choice(statistics) == chosen


def test_where_others_choose_at_once_often_visited_moves_are_mixed() -> None:
    """In proportion to their visits; moves that were only explored are left out."""
    statistics = root([60, 40, 5], [0.5, 0.4, 0.9], simultaneous=True)
    edges = [choice(statistics, seed=seed)[0] for seed in range(400)]
    assert set(edges) == {0, 1}
    assert edges.count(0) / len(edges) == pytest.approx(0.6, abs=0.08)


def test_where_others_choose_at_once_the_average_strategy_is_played() -> None:
    """The strategy decides, not visits, which count explored moves; without any, all moves are alike."""
    statistics = root([60, 40, 50], [0.5, 0.4, 0.9], strategy=[30.0, 1.0, 90.0], simultaneous=True)
    edges = [choice(statistics, seed=seed)[0] for seed in range(400)]
    assert set(edges) == {0, 2}
    assert edges.count(2) / len(edges) == pytest.approx(0.75, abs=0.08)
    statistics = root([0, 0], [0.0, 0.0], simultaneous=True)
    assert {choice(statistics, seed=seed)[0] for seed in range(40)} == {0, 1}


def test_a_proven_root_is_not_mixed() -> None:
    """A saddle point: the move that guarantees the root's value."""
    statistics = root([60, 40], [0.5, 0.4], [0.0, 1.0], simultaneous=True, proven=True, value=1.0)
    assert {choice(statistics, seed=seed) for seed in range(40)} == {(1, 1.0, True)}


def test_a_single_player_follows_its_best_line() -> None:
    """Averages do not matter, unless the tree has proven something better."""
    line = BestLine(move=11, goal=0.8, best_possible=False)
    assert choice(root([90, 10], [0.6, 0.1]), line) == (1, 0.8, False)
    assert choice(root([90, 10], [0.6, 0.1]), line._replace(best_possible=True)) == (1, 0.8, True)
    assert choice(root([90, 10], [0.6, 0.1], [1.0, -1.0], proven=True, value=1.0), line) == (0, 1.0, True)
