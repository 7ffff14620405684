"""Compaction: a tree without what the match has left behind."""

from __future__ import annotations

import numpy as np
from numba import njit

from agent.search.tree.store import N_EDGES, N_JOINT, N_NODES, find_state


@njit(cache=True, nogil=True)
def _joint_children(tree, nodes):
    """The joint children of each of the first `nodes` nodes, as linked lists of slots of the joint table.

    Returns the first slot of each node (int64[nodes]) and the slot after each slot (int64[slots]); -1 ends a list.
    """
    first = np.full(nodes, -1, np.int64)
    following = np.empty(len(tree.joint_node), np.int64)
    for slot in range(len(tree.joint_node)):
        node = tree.joint_node[slot]
        if node >= 0:
            following[slot] = first[node]
            first[node] = slot
    return first, following


@njit(cache=True, nogil=True)
def _reachable(tree, root, nodes):
    """Which of the first `nodes` nodes can be reached from `root`: bool[nodes]."""
    first_joint, next_joint = _joint_children(tree, nodes)
    reached = np.zeros(nodes, np.bool_)
    reached[root] = True
    stack = np.empty(nodes, np.int32)
    stack[0] = root
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        for role in range(tree.stats.shape[1]):
            begin = tree.stats[node, role].first_edge
            for edge in range(begin, begin + tree.stats[node, role].n_edges):
                child = tree.edge[edge].child
                if child >= 0 and not reached[child]:
                    reached[child] = True
                    stack[top] = child
                    top += 1
        slot = first_joint[node]
        while slot >= 0:
            child = tree.joint_child[slot]
            if not reached[child]:
                reached[child] = True
                stack[top] = child
                top += 1
            slot = next_joint[slot]
    return reached


@njit(cache=True, nogil=True)
def keep_reachable(tree, root):
    """Moves what can be reached from node `root` to the front of a `SearchTree` and forgets the rest.

    Returns the root's new number. Nodes that are kept keep their order, statistics and edges.
    """
    nodes = tree.counts[N_NODES]
    reached = _reachable(tree, root, nodes)
    # Nodes and their edges were allocated in the same order, so that moving them down never overwrites what is still
    # to move.
    number = np.full(nodes, -1, np.int32)
    kept = 0
    edge_out = np.int64(0)
    for node in range(nodes):
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
                edge_out += 1
        kept += 1
    for edge in range(edge_out):
        if tree.edge[edge].child >= 0:
            tree.edge[edge].child = number[tree.edge[edge].child]
    tree.counts[N_NODES] = kept
    tree.counts[N_EDGES] = edge_out
    # Joint children are keyed by edge numbers, which changed: those nodes find their children again through the state
    # table.
    tree.joint_node[:] = -1
    tree.counts[N_JOINT] = 0
    tree.table[:] = -1
    for node in range(kept):
        _, slot = find_state(tree.table, tree.state, tree.state[node])
        tree.table[slot] = node
    return number[root]
