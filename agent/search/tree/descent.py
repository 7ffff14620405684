"""Descents from the root to a leaf: selection of each role's edge (see `regret`, too), and the path.

A batch is led down side by side. Its descents take turns, a level each: while memory fetches the node of one, the
others go on (Chen, Ailamaki, Gibbons & Mowry 2004, "Improving hash join performance through prefetching").

In all kernels `tree` is a `SearchTree`, `lanes` a `SearchWorkspace`, `parameters` a `Parameters`; nodes, edges, roles
and descents are integers.
"""

from __future__ import annotations

import numpy as np

from agent.search.tree.backup import back_up
from agent.search.tree.regret import EXPLORED, draw_edge, is_mixed
from agent.search.tree.store import AMAF, EDGE, MIXED, OPEN, PROVEN, ROOT, choosers, get_child
from agent.search.tree.workspace import MAX_DEPTH, N_FREE, SIDE_BY_SIDE
from games.bits.inner import inner_kernel, step
from games.bits.locks import fence
from games.bits.prefetch import LINE_BYTES, prefetch
from games.bits.splitmix import random32

PROVEN_DISCOUNT = 1e-3
"""Subtracted from a proven child's goal when it is compared with the bounds of open edges, which win ties."""

EXPLORATION_OFFSET = 0.25
"""Added to an edge's visits in the exploration term: unvisited edges get finite bounds, which all-moves-as-first values
can order."""

VIRTUAL_LOSS = 1.0
"""Weight of a pending result in an edge's mean, in results with the worst goal: 53 % against 0.5, at which descents of
a batch follow each other too closely (see docs/experiments.md)."""

_TABLED = 2048
"""Visits below which roots and quotients are looked up: they cost more than the rest of a bound."""
_VISITS = np.arange(_TABLED)
_LOG_ROOTS = np.sqrt(np.log(_VISITS + 2.0)).astype(np.float32)
"""sqrt(log(n + 2)) for small n."""
_INVERSE_ROOTS = (1.0 / np.sqrt(_VISITS + EXPLORATION_OFFSET)).astype(np.float32)
"""1 / sqrt(n + EXPLORATION_OFFSET) for small n."""


@inner_kernel(forceinline=True)
def _log_root(n):
    """sqrt(log(n + 2)); n is not negative."""
    return np.float64(_LOG_ROOTS[np.uint64(n)]) if n < _TABLED else np.sqrt(np.log(n + 2.0))


@inner_kernel(forceinline=True)
def _inverse_root(n):
    """1 / sqrt(n + EXPLORATION_OFFSET); n is a whole number, not negative."""
    return np.float64(_INVERSE_ROOTS[np.uint64(n)]) if n < _TABLED else 1.0 / np.sqrt(n + EXPLORATION_OFFSET)


@step
def _select(tree, node, role, only_chooser, parameters, rng):
    """The edge with the highest upper confidence bound for a role, and the better proven child (else -1).

    UCB1 (Auer et al. 2002) on values that mix an edge's own mean with its all-moves-as-first mean by RAVE's schedule.
    Pending results count in the exploration term (WU-UCT, Liu et al. 2020) and as a share of a loss (Chaslot et al.
    2008). A random start breaks ties. A proven child teaches nothing new: where one is best, the best open edge is
    followed, and the node is worth the proven child. `only_chooser` is whether no other role has a choice: only then do
    edges have children. `rng` is uint64[1].
    """
    begin = tree.stats[node, role].first_edge
    size = tree.stats[node, role].n_edges
    if size == 1:
        return begin, np.int32(-1)
    start = np.int64((random32(rng) * np.uint64(size)) >> np.uint64(32))
    if role == parameters.random_role:
        return begin + start, np.int32(-1)
    node_visits = tree.node[node].visits
    c = parameters.exploration[role] * _log_root(max(np.int64(0), node_visits + tree.node[node].pending))
    amaf = parameters.rave_equivalence > 0.0
    inverse = 1.0 / parameters.rave_equivalence if amaf else 0.0
    worst = parameters.worst_goal[role]
    node_mean = tree.stats[node, role].total / node_visits if node_visits > 0 else worst
    best = np.int64(-1)
    best_bound = -1e30
    exact = np.int64(-1)
    exact_goal = worst
    # Hardly any branches: they would be mispredicted. Unsigned indices: Numba checks signed ones for counting from the
    # end.
    end = np.uint64(begin + size)
    edge = np.uint64(begin + start)
    for _ in range(size):
        record = tree.edge[edge]
        visits = np.float64(record.visits)
        pending = np.float64(record.pending)
        # With T, v the total and visits of the edge, A, n those of all moves as first, k the equivalence, RAVE's mix
        # (1 - beta) T / v + beta A / n with beta = n / (n + v + v n / k) is (T (1 + n / k) + A) / (v (1 + n / k) + n).
        total = record.total
        weight = visits
        if amaf:
            n = np.float64(tree.amaf[edge].visits)
            share = 1.0 + n * inverse
            total = total * share + tree.amaf[edge].total
            weight = visits * share + n
        known = weight > 0.0
        value = (total if known else node_mean) / (weight if known else 1.0)
        tried = visits + pending
        lost = VIRTUAL_LOSS * pending
        value -= (value - worst) * (lost / (visits + lost if tried > 0.0 else 1.0))
        bound = value + c * _inverse_root(tried if tried > 0.0 else 0.0)
        proven = record.proven
        if only_chooser and proven >= 0.0:
            goal = proven - PROVEN_DISCOUNT
            if goal > exact_goal:
                exact_goal = goal
                exact = np.int64(edge)
            bound = -2e30
        better = bound > best_bound
        best = np.int64(edge) if better else best
        best_bound = bound if better else best_bound
        edge += np.uint64(1)
        edge = np.uint64(begin) if edge == end else edge
    if best < 0:
        return exact if exact >= 0 else begin + start, np.int32(-1)
    if exact < 0 or exact_goal < best_bound:
        return best, np.int32(-1)
    fence()
    return best, tree.edge[exact].child


@step
def is_expansion_due(tree, node, threshold):
    """Whether it is time to make all children of a node: it is the root, or has `threshold` visits per child.

    False once they were made.
    """
    if tree.node[node].expanded != 0:
        return False
    _, chooser = choosers(tree.stats, node)
    return node == tree.counts[ROOT] or tree.node[node].visits >= threshold * tree.stats[node, chooser].n_edges


NEW, UNEXPANDED, EXACT, ONWARD = 0, 1, 2, 3
"""Ends of a descent, and that it goes on; see `go_down`."""

FETCHED_BYTES = 1024
"""Most bytes of a node's edges to prefetch."""
EDGES_OF_A_LINE = LINE_BYTES // EDGE.itemsize
AMAF_OF_A_LINE = LINE_BYTES // AMAF.itemsize
FETCHED_EDGES = FETCHED_BYTES // EDGE.itemsize


@step
def begin_descent(tree, lanes, descent, expected):
    """Puts a descent that expects `expected` results at the root."""
    descents = lanes.descents
    descents.expected[descent] = expected
    descents.missing[descent] = 0
    descents.played[descent] = 0
    descents.results[descent] = 0
    for role in range(tree.stats.shape[1]):
        descents.sums[descent, role] = 0.0
    descents.node[descent, 0] = np.int32(tree.counts[ROOT])
    descents.depth[descent] = 0


@step
def go_down(tree, lanes, descent, parameters, threshold):
    """Leads a descent from its node to the next one (`ONWARD`), or returns its end.

    `NEW`: an edge without a child, whose leaf is still to be made. `EXACT`: a proven node. `UNEXPANDED`: a node whose
    expansion is due (`is_expansion_due`), or the end of the longest path. Nodes and edges on the way have `expected`
    results pending until the backup.

    Lock-free: other threads may write meanwhile, and a count may get lost (Enzenberger & Müller 2010: A lock-free
    multithreaded Monte-Carlo tree search).
    """
    descents = lanes.descents
    depth = np.int64(descents.depth[descent])
    node = descents.node[descent, depth]
    expected = descents.expected[descent]
    tree.node[node].pending += expected
    if tree.node[node].status == PROVEN:
        return EXACT
    if is_expansion_due(tree, node, threshold) or depth == MAX_DEPTH or tree.node[node].status != OPEN:
        return UNEXPANDED
    count, _ = choosers(tree.stats, node)
    edges = descents.edge[descent, depth]
    descents.proven_child[descent, depth] = -1
    mixed = count > 1 and is_mixed(tree, node, expected, parameters.random_role)
    for role in range(tree.stats.shape[1]):
        if mixed and role != parameters.random_role:
            edge, explored = draw_edge(tree, node, role, lanes.rng)
            if explored:
                descents.proven_child[descent, depth] = EXPLORED
        else:
            edge, proven_child = _select(tree, node, role, count <= 1, parameters, lanes.rng)
            if proven_child >= 0:
                descents.proven_child[descent, depth] = proven_child
        edges[role] = edge
        if tree.stats[node, role].n_edges > 1:
            tree.edge[edge].pending += expected
    child = get_child(tree, node, edges)
    descents.depth[descent] = depth + 1
    if child < 0:
        return NEW
    descents.node[descent, depth + 1] = child
    prefetch(tree.node, np.int64(child))
    prefetch(tree.stats, np.int64(child) * tree.stats.shape[1])
    return ONWARD


@step
def is_drawn(tree, descents, descent):
    """Whether the last edges of a descent were drawn by regret matching."""
    return tree.node[descents.node[descent, descents.depth[descent] - 1]].expanded == MIXED


@step
def fetch_edges(tree, descents, descent):
    """Prefetches the edges of a descent's node, which `go_down` has prefetched."""
    node = descents.node[descent, descents.depth[descent]]
    for role in range(tree.stats.shape[1]):
        size = min(tree.stats[node, role].n_edges, FETCHED_EDGES)
        if size > 1:
            first = tree.stats[node, role].first_edge
            for edge in range(first, first + size, EDGES_OF_A_LINE):
                prefetch(tree.edge, edge)
            for edge in range(first, first + size, AMAF_OF_A_LINE):
                prefetch(tree.amaf, edge)


@step
def lead_down(tree, lanes, parameters, batch, playouts, threshold):
    """Makes `batch` descents that expect `playouts` results each; fewer if the root is proven meanwhile.

    `tree` is a `SearchTree`, `lanes` a `SearchWorkspace`, `parameters` a `Parameters`, `threshold` that of
    `is_expansion_due`. Lists in `descents.batch` first the descents whose leaf is still to be made, then those at an
    unexpanded node. Returns both numbers, and the number of descents that ended, and were backed up, at proven nodes.
    """
    descents = lanes.descents
    n_new = np.int64(0)
    n_old = np.int64(0)
    exact = 0
    begun = 0
    under_way = 0
    while under_way > 0 or (begun < batch and tree.node[tree.counts[ROOT]].status == OPEN):
        if under_way == 0:
            under_way = min(SIDE_BY_SIDE, batch - begun)
            begun += under_way
            for i in range(under_way):
                lanes.counts[N_FREE] -= 1
                descents.under_way[i] = descents.free[lanes.counts[N_FREE]]
                begin_descent(tree, lanes, descents.under_way[i], playouts)
        left = 0
        for i in range(under_way):
            descent = descents.under_way[i]
            end = ONWARD
            going = True
            while going:
                end = go_down(tree, lanes, descent, parameters, threshold)
                # Where several choose at once, the next descent needs the result of this one.
                going = end == ONWARD and is_drawn(tree, descents, descent)
            if end == ONWARD:
                descents.under_way[left] = descent
                left += 1
            elif end == EXACT:
                # At once: regret matching needs the newest results.
                back_up(tree, descents, lanes.counts, lanes.goals, lanes.rng, descent, parameters)
                exact += 1
            elif end == NEW:
                descents.batch[n_new + n_old] = descents.batch[n_new]
                descents.batch[n_new] = descent
                n_new += 1
            else:
                descents.batch[n_new + n_old] = descent
                n_old += 1
        under_way = left
        for i in range(under_way):
            fetch_edges(tree, descents, descents.under_way[i])
    return n_new, n_old, exact
