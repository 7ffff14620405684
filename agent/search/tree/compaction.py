"""Compaction of a tree: drops nodes that the match has left behind, or that were hardly visited."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.tree.store import N_EDGES, N_JOINT, N_NODES, ROOT, SearchTree, find_state
from games.bits.compiling import KERNEL
from games.bits.inner import step


class _CompactionWorkspace(NamedTuple):
    """Memory of a compaction."""

    first_joint: NDArray[np.int64]
    """(nodes) first slot of each node's joint children; -1 for none."""
    next_joint: NDArray[np.int64]
    """(slots of the joint table) next slot of the same node; -1 at the end."""
    reached: NDArray[np.bool_]
    """(nodes) all False at first."""
    stack: NDArray[np.int32]
    """(nodes)"""
    number: NDArray[np.int32]
    """(nodes) new number of each kept node; -1 for the others."""


def keep_reachable(tree: SearchTree, root: int, least_visits: int = 0) -> int:
    """Moves the nodes reachable from `root` to the front of the tree and drops the rest; returns the root's new number.

    Nodes with fewer than `least_visits` visits go, too, with everything that only they lead to; their parents' edges
    keep visits, goals and proofs. Kept nodes keep their order, statistics and edges. No thread may be searching.
    """
    nodes = int(tree.counts[N_NODES])
    workspace = _CompactionWorkspace(
        first_joint=np.full(nodes, -1, np.int64),
        next_joint=np.empty(len(tree.joint_node), np.int64),
        reached=np.zeros(nodes, np.bool_),
        stack=np.empty(nodes, np.int32),
        number=np.full(nodes, -1, np.int32),
    )
    _compact(tree, np.int64(root), np.int64(least_visits), workspace)
    # Joint children are keyed by edge numbers, which changed: the state table finds them again.
    tree.joint_node[:] = -1
    tree.counts[N_JOINT] = 0
    return int(workspace.number[root])


def forget_least_visited(tree: SearchTree) -> None:
    """Drops the least visited half of a full tree's nodes. No thread may be searching."""
    visits = tree.node["visits"][: int(tree.counts[N_NODES])]
    median = int(np.partition(visits, len(visits) // 2)[len(visits) // 2])
    tree.counts[ROOT] = keep_reachable(tree, int(tree.counts[ROOT]), median + 1)


@step
def _mark_reachable(tree, root, least_visits, workspace):
    """Sets `workspace.reached` for all nodes of a `SearchTree` to keep; see `keep_reachable`.

    `workspace` is a `_CompactionWorkspace`.
    """
    first_joint, next_joint = workspace.first_joint, workspace.next_joint
    for slot in range(len(tree.joint_node)):
        node = tree.joint_node[slot]
        if node >= 0:
            next_joint[slot] = first_joint[node]
            first_joint[node] = slot
    reached, stack = workspace.reached, workspace.stack
    reached[root] = True
    stack[0] = root
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        for role in range(tree.stats.shape[1]):
            begin = tree.stats[node, role].first_edge
            for edge in range(begin, begin + tree.stats[node, role].n_edges):
                child = tree.edge[edge].child
                if child < 0 or reached[child]:
                    continue
                # A proof at an edge refers to the child.
                if tree.node[child].visits >= least_visits or tree.edge[edge].proven >= 0.0:
                    reached[child] = True
                    stack[top] = child
                    top += 1
        slot = first_joint[node]
        while slot >= 0:
            child = tree.joint_child[slot]
            if not reached[child] and tree.node[child].visits >= least_visits:
                reached[child] = True
                stack[top] = child
                top += 1
            slot = next_joint[slot]


@njit(**KERNEL)
def _compact(tree, root, least_visits, workspace):
    """Moves the nodes to keep, with their edges, to the front of a `SearchTree`, and rebuilds the state table.

    `root` and `least_visits` (int64) are those of `keep_reachable`; joint children are left to the caller. `workspace`
    is a `_CompactionWorkspace`.
    """
    _mark_reachable(tree, root, least_visits, workspace)
    reached, number = workspace.reached, workspace.number
    # Nodes and edges were allocated in the same order: moving them down never overwrites any that are still to move.
    kept = 0
    edge_out = np.int64(0)
    for node in range(len(reached)):
        if not reached[node]:
            continue
        number[node] = kept
        for word in range(tree.state.shape[1]):
            tree.state[kept, word] = tree.state[node, word]
        tree.node[kept] = tree.node[node]
        for role in range(tree.stats.shape[1]):
            begin = tree.stats[node, role].first_edge
            size = tree.stats[node, role].n_edges
            tree.stats[kept, role] = tree.stats[node, role]
            tree.stats[kept, role].first_edge = edge_out
            for edge in range(begin, begin + size):
                tree.edge[edge_out] = tree.edge[edge]
                tree.amaf[edge_out] = tree.amaf[edge]
                edge_out += 1
        kept += 1
    for edge in range(edge_out):
        if tree.edge[edge].child >= 0:
            tree.edge[edge].child = number[tree.edge[edge].child]
    tree.counts[N_NODES] = kept
    tree.counts[N_EDGES] = edge_out
    for slot in range(len(tree.table)):
        tree.table[slot] = -1
    for node in range(kept):
        _, slot = find_state(tree.table, tree.state, tree.state[node])
        tree.table[slot] = node
