"""From the root to a leaf: which edge each role follows at a node, and the path that a lane takes.

In all kernels `tree` is a `SearchTree`, `lanes` a `SearchWorkspace`, `parameters` a `Parameters`; nodes, edges, roles
and lanes are integers.
"""

from __future__ import annotations

import numpy as np

from agent.search.tree.store import OPEN, PROVEN, ROOT, TERMINAL, choosers, get_child
from agent.search.tree.workspace import FORCED, MAX_DEPTH
from games.bits.inner import step
from games.bits.splitmix import random32
from games.gdl.running.kernels import ONE

PROVEN_DISCOUNT = 1e-3
"""Taken off a proven child's goal when it is compared with the bounds of open edges: of equals, the open one is
followed. Set by hand; not tuned."""

EXPLORATION_OFFSET = 0.25
"""Added to an edge's visits in the exploration term, so that an unvisited edge has a finite bound and
all-moves-as-first values can order unvisited edges. Set by hand; not tuned."""


@step
def _select(tree, node, role, only_chooser, parameters, rng):
    """The edge to follow for a role, by the highest upper confidence bound, and the proven child that is better.

    UCB1 (Auer et al. 2002) on values that mix an edge's own mean with its all-moves-as-first mean by the schedule of
    RAVE. Ties are broken by a random start. Following a proven child tells nothing new: where one is best, the most
    promising open edge is followed instead, and the second result is the proven child that the node is worth (else
    -1). `only_chooser` says whether no other role has a choice, so that edges have children; `rng` is uint64[1].
    """
    begin = tree.stats[node, role].first_edge
    size = tree.stats[node, role].n_edges
    if size == 1:
        return begin, np.int32(-1)
    start = np.int64((random32(rng) * np.uint64(size)) >> np.uint64(32))
    if role == parameters.random_role:
        return begin + start, np.int32(-1)
    node_visits = max(1, tree.node[node].visits)
    log_visits = np.log(node_visits + 1.0)
    c = parameters.exploration[role]
    equivalence = parameters.rave_equivalence
    node_mean = tree.stats[node, role].total / node_visits
    best = np.int64(-1)
    best_bound = -1e30
    exact = np.int64(-1)
    exact_goal = parameters.worst_goal[role]
    for k in range(size):
        edge = begin + start + k
        if edge >= begin + size:
            edge -= size
        if only_chooser:
            child = tree.edge[edge].child
            if child >= 0 and tree.node[child].status == PROVEN:
                goal = tree.stats[child, role].goal - PROVEN_DISCOUNT
                if goal > exact_goal:
                    exact_goal = goal
                    exact = edge
                continue
        visits = tree.edge[edge].visits
        value = tree.edge[edge].total / visits if visits > 0 else node_mean
        if equivalence > 0.0 and tree.edge[edge].amaf_visits > 0.0:
            n = tree.edge[edge].amaf_visits
            beta = n / (n + visits + visits * n / equivalence)
            value += beta * (tree.edge[edge].amaf_total / n - value)
        bound = value + c * np.sqrt(log_visits / (visits + EXPLORATION_OFFSET))
        if bound > best_bound:
            best_bound = bound
            best = edge
    if best < 0:
        return exact if exact >= 0 else begin + start, np.int32(-1)
    return best, tree.edge[exact].child if exact >= 0 and exact_goal >= best_bound else np.int32(-1)


LEAF, EXACT = 0, 1
"""How a descent can end; see `descend`."""


@step
def descend(tree, lanes, lane, parameters, threshold):
    """Leads a lane from the root to where the tree ends (`LEAF`), or to a node whose value is proven (`EXACT`).

    Adds the virtual loss on the way: visits of nodes and edges count from here on, goals when they are backed up. The
    state after the last edge may become a node if each of its edges has at least `threshold` visits.
    """
    paths = lanes.paths
    path = lanes.current[lane]
    roles = tree.stats.shape[1]
    node = np.int32(tree.counts[ROOT])
    depth = 0
    bit = ONE << np.uint64(lane)
    paths.leaf[path, lane] = -1
    lanes.grow[lane] = False
    paths.trail_size[path, lane] = 0
    while True:
        tree.node[node].visits += 1
        paths.node[path, lane, depth] = node
        paths.depth[path, lane] = depth
        if tree.node[node].status != OPEN or depth == MAX_DEPTH:
            if tree.node[node].status == PROVEN:
                return EXACT
            if tree.node[node].status == TERMINAL:
                paths.leaf[path, lane] = node
            lanes.mask[FORCED] &= ~bit
            return LEAF
        count, _ = choosers(tree.stats, node)
        edges = paths.edge[path, lane, depth]
        paths.proven_child[path, lane, depth] = -1
        for role in range(roles):
            edge, proven_child = _select(tree, node, role, count <= 1, parameters, lanes.rng)
            if proven_child >= 0:
                paths.proven_child[path, lane, depth] = proven_child
            edges[role] = edge
            tree.edge[edge].visits += 1
            lanes.played[tree.edge[edge].move] |= bit
        child = get_child(tree, node, edges)
        if child < 0:
            lanes.mask[FORCED] |= bit
            paths.depth[path, lane] = depth + 1
            least = tree.edge[edges[0]].visits
            for role in range(roles):
                least = min(least, tree.edge[edges[role]].visits)
            lanes.grow[lane] = least >= threshold
            return LEAF
        node = child
        depth += 1
