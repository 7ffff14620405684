"""What to play at the root, read off the statistics of its edges: one function per policy, tried in the order of
`choose`."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.tree.best_lines import BestLine
from agent.search.tree.store import PROVEN, ROOT, SearchTree

MIXING_SHARE = 0.3
"""Where several roles choose at once, moves with this share of the most visited one's visits are all candidates. Set
by hand; not tuned."""


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
    means: NDArray[np.float64]
    """Mean goal (0..1) of the playouts by each edge; 0 without any."""
    proven_goals: NDArray[np.float64]
    """Goals (0..1) of the children whose value is proven, -1 for all others."""
    simultaneous: bool
    """Whether other roles choose, too; edges have no children of their own then."""
    proven: bool
    """Whether the root's own value is proven."""
    value: float
    """The root's value, 0..1: what is proven, or the mean of its playouts."""

    @property
    def best_proven(self) -> int:
        """The child with the best proven goal; of equally good ones the most visited.

        Where all lose, that is the one that is hardest to refute.
        """
        return int(np.lexsort((self.visits, self.proven_goals))[-1])


def read_root(tree: SearchTree, role: int) -> RootStatistics:
    """The statistics of the root's edges for a role that has at least one legal move. Other threads may be
    searching."""
    root = int(tree.counts[ROOT])
    proven = bool(tree.node["status"][root] == PROVEN)
    begin = int(tree.stats["first_edge"][root, role])
    edges = tree.edge[begin : begin + int(tree.stats["n_edges"][root, role])]
    visits = edges["visits"].astype(float)
    simultaneous = int((tree.stats["n_edges"][root] > 1).sum()) > 1
    mean = tree.stats["total"][root, role] / max(1, int(tree.node["visits"][root]))
    return RootStatistics(
        moves=edges["move"],
        visits=visits,
        means=edges["total"] / np.maximum(visits, 1),
        proven_goals=np.where(edges["proven"] >= 0, tree.stats["goal"][np.maximum(edges["child"], 0), role], -1.0),
        simultaneous=simultaneous,
        proven=proven,
        value=float(tree.stats["goal"][root, role] if proven else mean),
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
    """Where others choose at once: a random move, in proportion to the visits, so that nobody can foresee it.

    Visit counts of decoupled UCT approximate a mixed strategy; rarely visited moves are left out as exploration only.
    """
    if not root.simultaneous:
        return None
    candidates = np.flatnonzero(root.visits >= MIXING_SHARE * root.visits.max())
    weights = root.visits[candidates] + 1
    index = int(random.choices(candidates.tolist(), weights=weights.tolist())[0])
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
