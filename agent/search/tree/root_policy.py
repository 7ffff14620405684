"""What to play at the root, read off the statistics of its edges: one function per policy, tried in the order of
`choose`."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.tree.best_lines import BestLine
from agent.search.tree.store import MIXED, PROVEN, ROOT, SearchTree

MIXING_SHARE = 0.1
"""Where several roles choose at once, moves with this share of the likeliest one's probability are all candidates.
Of 0, 0.05, 0.1, 0.2, 0.3 and 0.5 the lower ones were harder to exploit in a bidding game, the higher ones in a game of
walls where some moves lose at once."""


class Choice(NamedTuple):
    """An edge of the root, and what to expect of it."""

    edge: int
    """By its number among the edges of the role, from 0."""
    value: float
    """The role's expected goal, 0..1."""
    proven: bool
    """Whether no other edge can be better."""


class RootStatistics(NamedTuple):
    """What the tree knows of the root, for one role; the arrays have one entry per legal move of the role."""

    moves: NDArray[np.int32]
    """Numbered over all roles."""
    visits: NDArray[np.float64]
    strategy: NDArray[np.float64]
    """Where others choose at once: how likely each move is to be good, up to a factor."""
    means: NDArray[np.float64]
    """Mean goal (0..1) of the playouts by each edge; 0 without any."""
    proven_goals: NDArray[np.float64]
    """Goals (0..1) of the children whose value is proven, -1 for all others. Where others choose at once, all are -1
    until the root is proven; then what each move makes sure of."""
    simultaneous: bool
    """Whether others choose at once, who do not draw at random."""
    proven: bool
    """Whether the root's own value is proven."""
    value: float
    """The root's value, 0..1: what is proven, or the mean of its playouts."""
    results: float
    """How many results that mean is of. Where the role has one legal move only, its edge has no visits."""

    @property
    def best_proven(self) -> int:
        """The child with the best proven goal; of equally good ones the most visited.

        Where all lose, that is the one that is hardest to refute.
        """
        return int(np.lexsort((self.visits, self.proven_goals))[-1])


def read_root(tree: SearchTree, role: int, random_role: int) -> RootStatistics:
    """The statistics of the root's edges for a role that has at least one legal move. Other threads may be
    searching. `random_role` is the one that draws its moves, or -1."""
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
    # In this order: what other threads add in between must not make the mean exceed the best goal.
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

    `line` is the best match that a single player has found; `worst_goal` (0..1) the lowest the rules name for the role.
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
    """Where there is no choice: the move, with what the root is worth."""
    return Choice(0, root.value, root.proven) if len(root.moves) == 1 else None


def best_line(root: RootStatistics, line: BestLine | None) -> Choice | None:
    """For a single player: the first move of the best match found, unless the tree has proven more than it brings.

    Nobody can disturb the plan, so the best match counts, not the average one.
    """
    if line is None or (root.proven and line.goal < root.value):
        return None
    found = np.flatnonzero(root.moves == line.move)
    return Choice(int(found[0]), line.goal, line.best_possible or root.proven) if len(found) else None


def solved(root: RootStatistics) -> Choice | None:
    """Where the root or all of its children are proven: the best child."""
    if not (root.proven or (root.proven_goals >= 0).all()):
        return None
    best = root.best_proven
    return Choice(best, float(root.proven_goals[best]), True)


def mixed(root: RootStatistics, random: Random) -> Choice | None:
    """Where others choose at once: a move drawn from the average strategy, so that nobody can foresee it.

    Improbable moves are left out as exploration only.
    """
    if not root.simultaneous:
        return None
    weights = np.where(root.strategy >= MIXING_SHARE * root.strategy.max(), root.strategy, 0.0)
    if weights.sum() <= 0.0:
        weights[:] = 1.0
    index = random.choices(range(len(weights)), weights=weights.tolist())[0]
    return Choice(index, float(root.means[index]), False)


def proven_child(root: RootStatistics, worst_goal: float) -> Choice | None:
    """A child with a proven goal, if the most visited open one promises no more; a proven loss is never preferred."""
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
