"""Regret matching where several roles choose at once: mixed strategies, which no opponent can foresee.

A node is contested where more than one role other than `random` has a choice. Upper confidence bounds end in pure
strategies there, or cycle. So they lead only the first descents through such a node; then it is `MIXED`: each role
draws its edge in proportion to the edges' positive regrets. The average strategy approaches an equilibrium of
two-player zero-sum games (Hart & Mas-Colell 2000; in trees: Lanctot, Lisý & Winands 2013, "Monte Carlo tree search in
simultaneous move games with applications to Goofspiel"). Regrets do not fall below 0 (regret matching+, Tammelin 2014).

The `AMAF` records of a mixed node's edges hold regrets and the average strategy.

In all kernels `tree` is a `SearchTree`; nodes, edges and roles are integers.
"""

from __future__ import annotations

import numpy as np

from agent.search.tree.store import MIXED, PROVEN, get_child
from games.bits.inner import inner_kernel, step
from games.bits.locks import fence
from games.bits.splitmix import random32

BOUNDS_DESCENTS = 100
"""First descents through a contested node, led by upper confidence bounds, which find good edges sooner; 40 to 400 do
equally well (see docs/experiments.md)."""

UNIFORM_SHARE = 0.1
"""Share of a mixed node's descents in which a role draws from all edges alike, to keep trying all."""

FIRST_REGRET = 3.0
"""Sum of a role's regrets when a node becomes mixed, in goals (0..1), shared out by visits."""

MAX_ALTERNATIVES = 16
"""About the most edges of a role whose regrets a descent updates; of more, a random part stands for all."""

EXPLORED = -2
"""Mark in `Descents.proven_child`: some role drew from all edges alike at this node."""


@inner_kernel()
def _is_contested(stats, node, random_role):
    """Whether more than one role other than `random_role` (-1 for none) has a choice; `stats` is a `SearchTree`'s."""
    count = 0
    for role in range(stats.shape[1]):
        if role != random_role and stats[node, role].n_edges > 1:
            count += 1
    return count > 1


@inner_kernel()
def is_mixed(tree, node, expected, random_role):
    """Whether a node's edges are drawn by regret matching; makes a contested node `MIXED` after enough descents.

    `expected` (int) is the number of results of a descent.
    """
    if tree.node[node].expanded != 1:
        return tree.node[node].expanded == MIXED
    visits = tree.node[node].visits
    if visits < BOUNDS_DESCENTS * expected or not _is_contested(tree.stats, node, random_role):
        return False
    for role in range(tree.stats.shape[1]):
        begin = tree.stats[node, role].first_edge
        for edge in range(begin, begin + tree.stats[node, role].n_edges):
            share = np.float32(tree.edge[edge].visits / visits)
            tree.amaf[edge].visits = share
            tree.amaf[edge].total = np.float32(FIRST_REGRET * share)
    tree.node[node].expanded = MIXED
    return True


@step
def draw_edge(tree, node, role, rng):
    """Draws a role's edge at a mixed node; adds the strategy to the average. `rng` is uint64[1].

    Returns the edge, and whether it was drawn from all edges alike.
    """
    begin = tree.stats[node, role].first_edge
    size = tree.stats[node, role].n_edges
    if size == 1:
        return begin, False
    regrets = 0.0
    for edge in range(begin, begin + size):
        regrets += tree.amaf[edge].total
    uniform = random32(rng) < np.uint64(UNIFORM_SHARE * 4294967296.0)
    left = random32(rng) / 4294967296.0
    chosen = begin + size - 1
    found = False
    for edge in range(begin, begin + size):
        probability = tree.amaf[edge].total / regrets if regrets > 0.0 else 1.0 / size
        tree.amaf[edge].visits += np.float32(probability)
        left -= 1.0 / size if uniform else probability
        if left < 0.0 and not found:
            chosen = edge
            found = True
    return chosen, uniform


@inner_kernel()
def add_regrets(tree, node, edges, sums, results, random_role, rng):
    """Adds to the regrets at a mixed node the difference between each other edge's value and the result, by role.

    `edges` (int32[roles]) is the joint move made, `sums` (float64[roles]) the sums of goals (0..1) of its `results`.
    Another edge is worth the mean of its child after the others' edges, or the edge's own mean without such a child. Of
    many edges a random part counts, as often as there are parts. `rng` is uint64[1].
    """
    for role in range(tree.stats.shape[1]):
        size = tree.stats[node, role].n_edges
        if size == 1 or role == random_role:
            continue
        own = edges[role]
        got = sums[role] / results
        begin = tree.stats[node, role].first_edge
        parts = 1 + size // MAX_ALTERNATIVES
        first = begin
        if parts > 1:
            first += np.int64((random32(rng) * np.uint64(parts)) >> np.uint64(32))
        for edge in range(first, begin + size, parts):
            if edge == own:
                continue
            edges[role] = edge
            child = get_child(tree, node, edges)
            if child >= 0 and tree.node[child].status == PROVEN:
                fence()
                value = tree.stats[child, role].goal
            elif child >= 0 and tree.node[child].visits > 0:
                value = tree.stats[child, role].total / tree.node[child].visits
            elif tree.edge[edge].visits > 0:
                value = tree.edge[edge].total / tree.edge[edge].visits
            else:
                continue
            tree.amaf[edge].total = np.float32(max(0.0, tree.amaf[edge].total + parts * (value - got)))
        edges[role] = own
