"""Choice of the move at the root: one function per policy, tried in the order of `choose`."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.tree.best_lines import BestLine
from agent.search.tree.store import MIXED, PROVEN, ROOT, SearchTree

MIXING_SHARE = 0.1
"""Where several roles choose at once, the least share of the likeliest move's probability to be played. Lower shares
were harder to exploit in a bidding game, higher ones in a game of walls (see docs/experiments.md)."""


class Choice(NamedTuple):
    """An edge of the root and its expected goal."""

    edge: int
    """Number among the edges of the role, from 0."""
    value: float
    """The role's expected goal, 0..1."""
    proven: bool
    """Whether no other edge can be better."""


class RootStatistics(NamedTuple):
    """Statistics of the root for one role; arrays have one entry per legal move."""

    moves: NDArray[np.int32]
    """Numbered over all roles."""
    visits: NDArray[np.float64]
    strategy: NDArray[np.float64]
    """Where others choose at once: probability of each move, up to a factor."""
    means: NDArray[np.float64]
    """Mean goal (0..1) of the playouts by each edge; 0 without any."""
    proven_goals: NDArray[np.float64]
    """Goals (0..1) of proven children, -1 for others. Where others choose at once, all are -1 until the root is proven,
    then each move's guaranteed goal."""
    simultaneous: bool
    """Whether other roles than the random one choose at once."""
    proven: bool
    """Whether the root's own value is proven."""
    value: float
    """Proven value of the root, or mean of its playouts, 0..1."""
    results: float
    """Number of results in that mean; a role's only edge counts no visits."""

    @property
    def best_proven(self) -> int:
        """The child with the best proven goal; of equals the most visited, which is hardest to refute if all lose."""
        return int(np.lexsort((self.visits, self.proven_goals))[-1])


def read_root(tree: SearchTree, role: int, random_role: int) -> RootStatistics:
    """The statistics of the root for a role with a legal move. Other threads may be searching.

    `random_role` is the role that moves at random, or -1.
    """
    root = int(tree.counts[ROOT])
    proven = bool(tree.node["status"][root] == PROVEN)
    begin = int(tree.stats["first_edge"][root, role])
    end = begin + int(tree.stats["n_edges"][root, role])
    edges = tree.edge[begin:end]
    visits = edges["visits"].astype(float)
    choosers = np.flatnonzero(tree.stats["n_edges"][root] > 1)
    if len(choosers) <= 1:
        child_goals = tree.stats["goal"][np.maximum(edges["child"], 0), role]
        proven_goals = np.where(edges["proven"] >= 0, child_goals, -1.0)
    else:
        proven_goals = edges["proven"].astype(float) if proven else np.full(len(edges), -1.0)
    # In this order: additions in between must not make the mean exceed the best goal.
    total = float(tree.stats["total"][root, role])
    results = int(tree.node["visits"][root])
    mean = total / max(1, results)
    return RootStatistics(
        moves=edges["move"],
        visits=visits,
        strategy=tree.amaf["visits"][begin:end].astype(float) if tree.node["expanded"][root] == MIXED else visits,
        means=edges["total"] / np.maximum(visits, 1),
        proven_goals=proven_goals,
        simultaneous=len(np.setdiff1d(choosers, [random_role])) > 1,
        proven=proven,
        value=float(tree.stats["goal"][root, role] if proven else mean),
        results=float(results),
    )


def choose(root: RootStatistics, line: BestLine | None, worst_goal: float, random: Random) -> Choice:
    """The move to play.

    `line` is the best match found for a single player, `worst_goal` (0..1) the role's lowest goal in the rules.
    """
    return (
        only_move(root)
        or best_line(root, line)
        or solved(root)
        or mixed(root, random)
        or proven_child(root, worst_goal)
        or most_visited(root)
    )


def only_move(root: RootStatistics) -> Choice | None:
    """The only legal move, if there is one."""
    return Choice(0, root.value, root.proven) if len(root.moves) == 1 else None


def best_line(root: RootStatistics, line: BestLine | None) -> Choice | None:
    """For a single player: the first move of the best match found, unless the tree has proven a better goal.

    Nobody can disturb the plan, so the best match counts, not the average.
    """
    if line is None or (root.proven and line.goal < root.value):
        return None
    found = np.flatnonzero(root.moves == line.move)
    return Choice(int(found[0]), line.goal, line.best_possible or root.proven) if len(found) else None


def solved(root: RootStatistics) -> Choice | None:
    """The best child, if the root or all children are proven."""
    if not (root.proven or (root.proven_goals >= 0).all()):
        return None
    best = root.best_proven
    return Choice(best, float(root.proven_goals[best]), True)


def mixed(root: RootStatistics, random: Random) -> Choice | None:
    """Where others choose at once: a move drawn from the average strategy, unforeseeable.

    Improbable moves are left out: they come from exploration.
    """
    if not root.simultaneous:
        return None
    weights = np.where(root.strategy >= MIXING_SHARE * root.strategy.max(), root.strategy, 0.0)
    if weights.sum() <= 0.0:
        weights[:] = 1.0
    index = random.choices(range(len(weights)), weights=weights.tolist())[0]
    return Choice(index, float(root.means[index]), False)


def proven_child(root: RootStatistics, worst_goal: float) -> Choice | None:
    """The best proven child, unless it loses or the most visited open one promises more."""
    best = root.best_proven
    goal = root.proven_goals[best]
    if goal > worst_goal and goal >= root.means[_most_visited_open(root)]:
        return Choice(best, float(goal), False)
    return None


def most_visited(root: RootStatistics) -> Choice:
    """The open edge with the most visits ("robust child", Chaslot et al. 2008)."""
    index = _most_visited_open(root)
    return Choice(index, float(root.means[index]), False)


def _most_visited_open(root: RootStatistics) -> int:
    return int(np.where(root.proven_goals >= 0, -1.0, root.visits).argmax())
