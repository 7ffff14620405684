"""From the root to a leaf: which edge each role follows at a node, and the path that a lane takes."""

from __future__ import annotations

import numpy as np
from numba import njit

from agent.search.tree.lanes import FORCED, MAX_DEPTH
from agent.search.tree.store import (
    FIRST,
    GOAL,
    OPEN,
    PROVEN,
    ROOT,
    SIZE,
    STATUS,
    TERMINAL,
    TOTAL,
    VISITS,
    choosers,
    get_child,
)
from games.bits.splitmix import random32
from games.gdl.running.kernels import ONE


@njit(cache=True, nogil=True, inline="always")
def _select(tree, node, role, lone, parameters, rng):
    """The edge to follow for a role, by the highest upper confidence bound, and the proven child that is better.

    Following a proven child tells nothing new: where one is best, the most promising open edge is followed instead, and
    the second result is the proven child that the node is worth (else -1).
    """
    begin = tree.node[node, FIRST + 4 * role]
    size = tree.node[node, SIZE + 4 * role]
    if size == 1:
        return begin, np.int32(-1)
    start = np.int64((random32(rng) * np.uint64(size)) >> np.uint64(32))
    if role == parameters.random_role:
        return begin + start, np.int32(-1)
    visits = max(1, tree.node[node, VISITS])
    log_visits = np.log(visits + 1.0)
    c = parameters.exploration[role]
    like = parameters.like_weight
    mean = tree.value[node, TOTAL + 4 * role] / visits
    best = np.int64(-1)
    best_score = -1e30
    exact = np.int64(-1)
    exact_score = parameters.worst_goal[role]
    for k in range(size):
        edge = begin + start + k
        if edge >= begin + size:
            edge -= size
        if lone:
            child = tree.edge[edge].child
            if child >= 0 and tree.node[child, STATUS] == PROVEN:
                score = tree.value[child, GOAL + 4 * role] - 1e-3
                if score > exact_score:
                    exact_score = score
                    exact = edge
                continue
        tried = tree.edge[edge].tried
        value = tree.edge[edge].won / tried if tried > 0 else mean
        if like > 0.0 and tree.edge[edge].like_tried > 0.0:
            n = tree.edge[edge].like_tried
            beta = n / (n + tried + tried * n / like)
            value += beta * (tree.edge[edge].like_won / n - value)
        score = value + c * np.sqrt(log_visits / (tried + 0.25))
        if score > best_score:
            best_score = score
            best = edge
    if best < 0:
        return exact if exact >= 0 else begin + start, np.int32(-1)
    return best, tree.edge[exact].child if exact >= 0 and exact_score >= best_score else np.int32(-1)


LEAF, EXACT = 0, 1
"""How a descent can end; see `descend`."""


@njit(cache=True, nogil=True, inline="always")
def descend(programs, tree, lanes, lane, parameters, threshold):
    """Leads a lane from the root to where the tree ends (`LEAF`), or to a node whose value is proven (`EXACT`)."""
    side = lanes.side[lane]
    roles = len(programs.role_start) - 1
    node = np.int32(tree.counts[ROOT])
    depth = 0
    bit = ONE << np.uint64(lane)
    lanes.leaf[side, lane] = -1
    lanes.grow[lane] = False
    lanes.trail_size[side, lane] = 0
    while True:
        tree.node[node, VISITS] += 1
        lanes.node[side, lane, depth] = node
        lanes.depth[side, lane] = depth
        if tree.node[node, STATUS] != OPEN or depth == MAX_DEPTH:
            if tree.node[node, STATUS] == PROVEN:
                return EXACT
            if tree.node[node, STATUS] == TERMINAL:
                lanes.leaf[side, lane] = node
            lanes.mask[FORCED] &= ~bit
            return LEAF
        count, _ = choosers(tree, node)
        edges = lanes.edge[side, lane, depth]
        lanes.settled[side, lane, depth] = -1
        for role in range(roles):
            edge, settled = _select(tree, node, role, count <= 1, parameters, lanes.rng)
            if settled >= 0:
                lanes.settled[side, lane, depth] = settled
            edges[role] = edge
            tree.edge[edge].tried += 1
            lanes.played[tree.edge[edge].move] |= bit
        child = get_child(tree, node, edges)
        if child < 0:
            lanes.mask[FORCED] |= bit
            lanes.depth[side, lane] = depth + 1
            least = tree.edge[edges[0]].tried
            for role in range(roles):
                least = min(least, tree.edge[edges[role]].tried)
            lanes.grow[lane] = least >= threshold
            return LEAF
        node = child
        depth += 1
