"""Displays of the tree: the best moves at the root, and the expected line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agent.search.engine import LONGEST_LINE, MOST_CANDIDATES, Candidate, Score
from agent.search.tree.root_policy import RootStatistics
from agent.search.tree.store import ROOT, SearchTree
from games.machine import GoalScale, Term

LEAST_VISITS = 8
"""Fewest visits of an edge on the expected line."""


def candidates(root: RootStatistics, edge: int, moves: Sequence[Term], scale: GoalScale) -> tuple[Candidate, ...]:
    """The played edge, then the most visited ones; `moves` are all roles', as numbered in the tree."""
    order = [edge, *(int(one) for one in np.argsort(-root.visits, kind="stable") if one != edge)]
    return tuple(
        Candidate(
            moves[int(root.moves[one])],
            _score(root, one, scale),
            int(root.visits[one]),
        )
        for one in order[:MOST_CANDIDATES]
        if one == edge or root.visits[one] > 0 or root.proven_goals[one] >= 0
    )


def _score(root: RootStatistics, edge: int, scale: GoalScale) -> Score:
    proven = bool(root.proven_goals[edge] >= 0)
    return Score(scale.goal(100 * float(root.proven_goals[edge] if proven else root.means[edge])), proven)


def principal_variation(tree: SearchTree, role: int, edge: int, moves: Sequence[Term]) -> tuple[Term, ...]:
    """The expected moves of roles with a choice, beginning with that edge of the role at the root.

    Ends where several choose at once, or visits are few. Other threads may be searching.
    """
    node = int(tree.counts[ROOT])
    line: list[Term] = []
    seen: set[int] = set()
    while 0 <= node not in seen and len(line) < LONGEST_LINE:
        seen.add(node)
        edges_of = tree.stats["n_edges"][node]
        choosers = np.flatnonzero(edges_of > 1)
        if len(choosers) > 1:
            break
        chooser = int(choosers[0]) if len(choosers) else 0
        first = int(tree.stats["first_edge"][node, chooser])
        edges = tree.edge[first : first + int(edges_of[chooser])]
        if not len(edges):
            break
        at_root = not line and len(seen) == 1
        if at_root and chooser == role:
            best = edge
        else:
            proven = tree.stats["goal"][np.maximum(edges["child"], 0), chooser]
            known = np.where(edges["proven"] >= 0, 1e12 * proven, edges["visits"])
            best = int(known.argmax())
            if len(choosers) and edges["visits"][best] < LEAST_VISITS:
                break
        if len(choosers):
            line.append(moves[int(edges["move"][best])])
        node = int(edges["child"][best])
    return tuple(line)
