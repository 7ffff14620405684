"""The tree: nodes, edges and transpositions in flat arrays, and what is done to them one node at a time.

A node is a state, with one edge per role and legal move. Where at most one role has a choice, the chooser's edge holds
the child; where several choose at once, children are found by joint move in a hash table. States that are reached by
different ways are one node (transposition table keyed by the packed state).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.compiling import KERNEL
from games.bits.inner import inner_kernel, step
from games.gdl.running.layout import CircuitPrograms

OPEN, TERMINAL, PROVEN = 0, 1, 2
"""Status of a node. TERMINAL: the match is over, goals not evaluated yet. PROVEN: `goal` is what best play brings."""

N_NODES, N_EDGES, ROOT, N_JOINT, N_PLAYOUTS, LOCK = range(6)
"""Indices into `SearchTree.counts`: used nodes and edges, the root's node, joint children, playouts backed up, the spin
lock."""

NODE = np.dtype(
    [
        ("visits", np.int64),  # descents through the node, those under way included (virtual loss)
        ("status", np.int64),  # OPEN, TERMINAL or PROVEN
    ]
)

ROLE_STATS = np.dtype(
    [
        ("first_edge", np.int64),  # the role's edges are first_edge .. first_edge + n_edges - 1
        ("n_edges", np.int64),
        ("total", np.float64),  # sum of the role's goals (0..1) that were backed up through the node
        ("goal", np.float64),  # the role's proven goal (0..1), where the node's status is PROVEN
    ]
)

EDGE = np.dtype(
    [
        ("total", np.float64),  # sum of the role's goals (0..1) of the playouts by this edge
        ("move", np.int32),  # numbered over all roles
        ("visits", np.int32),  # how often it was followed, playouts under way included (virtual loss)
        ("child", np.int32),  # of the only chooser's edge (role 0's where nobody has a choice); -1 while there is none
        ("amaf_visits", np.float32),  # all moves as first: playouts in which the role made this move here or later
        ("amaf_total", np.float32),  # sum of the role's goals (0..1) of these
        ("unused", np.int32),  # two edges to a cache line
    ]
)


class SearchTree(NamedTuple):
    """Flat arrays; `counts` says how much of them is used."""

    counts: NDArray[np.int64]
    """(8) see `N_NODES` and what follows it; the rest is unused."""
    state: NDArray[np.uint64]
    """(nodes, words) packed states."""
    node: NDArray[np.void]
    """(nodes) records of `NODE`."""
    stats: NDArray[np.void]
    """(nodes, roles) records of `ROLE_STATS`; a cache line for two roles."""
    edge: NDArray[np.void]
    """(edges) records of `EDGE`."""
    table: NDArray[np.int32]
    """(2^k, at least twice the nodes): open-addressing hash table of nodes by state, -1 where empty."""
    joint_key: NDArray[np.uint64]
    """(slots) hash of the edges of a joint move; `joint_*` are an open-addressing table, of one slot for one role."""
    joint_node: NDArray[np.int32]
    """(slots) node that the joint move starts from; -1 where empty."""
    joint_child: NDArray[np.int32]
    """(slots) node that it leads to."""


def new_tree(programs: CircuitPrograms, words: int, memory_bytes: int) -> SearchTree:
    """An empty tree for states of `words` 64-bit words that takes about `memory_bytes` at most.

    At least 1024 nodes, though. The system hands out only the memory that is written to. `clear_tree` comes first.
    """
    roles = len(programs.role_start) - 1
    moves_per_node = max(4, min(64, len(programs.legal_slot)))
    node_bytes = 8 * words + NODE.itemsize + roles * ROLE_STATS.itemsize + 16
    nodes = max(1024, min(1 << 22, int(memory_bytes / (node_bytes + moves_per_node * EDGE.itemsize))))
    edges = max(nodes * moves_per_node, 4 * len(programs.legal_slot))
    table = 1 << (2 * nodes - 1).bit_length()
    return SearchTree(
        counts=np.zeros(8, np.int64),
        state=np.zeros((nodes, words), np.uint64),
        node=np.zeros(nodes, NODE),
        stats=np.zeros((nodes, roles), ROLE_STATS),
        edge=np.zeros(edges, EDGE),
        table=np.full(table, -1, np.int32),
        joint_key=np.zeros(table if roles > 1 else 1, np.uint64),
        joint_node=np.full(table if roles > 1 else 1, -1, np.int32),
        joint_child=np.zeros(table if roles > 1 else 1, np.int32),
    )


def clear_tree(tree: SearchTree) -> None:
    """Forgets everything."""
    tree.counts[:] = 0
    tree.counts[ROOT] = -1
    tree.table[:] = -1
    tree.joint_node[:] = -1


@inner_kernel()
def hash_state(state):
    """A 64-bit hash of a packed state, uint64[words]."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for word in state:
        h = (h ^ word) * np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(31)
    return h


@njit(**KERNEL)
def find_state(table, states, state):
    """The index of a packed state among `states`, or -1; and the slot of `table` where it is or belongs.

    `state` is uint64[words], `states` uint64[n, words]; `table`, int32[2^k], is an open-addressing hash table of
    indices, -1 where empty.
    """
    mask = np.uint64(len(table) - 1)
    slot = hash_state(state) & mask
    while table[slot] >= 0:
        index = table[slot]
        same = True
        for i in range(len(state)):
            if states[index, i] != state[i]:
                same = False
                break
        if same:
            return index, np.int64(slot)
        slot = (slot + np.uint64(1)) & mask
    return np.int32(-1), np.int64(slot)


def find_node(tree: SearchTree, state: NDArray[np.uint64]) -> tuple[int, int]:
    """The node with this state (words), or -1; and the slot of the table where it is or belongs."""
    node, slot = find_state(tree.table, tree.state, state)
    return int(node), int(slot)


@njit(**KERNEL)
def add_node(role_start, legal_slot, tree, state, slots, lane, over):
    """The node of a state that is in a lane (0..63) of slots one word wide; -1 if it does not fit.

    `role_start` and `legal_slot` are those of `CircuitPrograms`. `state` (uint64[words]) is the state, packed; in
    `slots` (uint64[slots]) the legal program has been evaluated. `over` says whether the state is terminal. A role
    without a legal move ends the match as well.
    """
    node, slot = find_state(tree.table, tree.state, state)
    if node >= 0:
        return node
    counts = tree.counts
    if counts[N_NODES] >= len(tree.node):
        return np.int32(-1)
    bit = np.uint64(lane)
    edge = counts[N_EDGES]
    node = np.int32(counts[N_NODES])
    roles = len(role_start) - 1
    ended = over
    for role in range(roles):
        tree.stats[node, role].first_edge = edge
        begin = edge
        if not over:
            for move in range(role_start[role], role_start[role + 1]):
                if (slots[legal_slot[move]] >> bit) & np.uint64(1) != np.uint64(0):
                    if edge >= len(tree.edge):
                        return np.int32(-1)
                    tree.edge[edge].move = move
                    tree.edge[edge].visits = 0
                    tree.edge[edge].total = 0.0
                    tree.edge[edge].child = -1
                    tree.edge[edge].amaf_visits = 0.0
                    tree.edge[edge].amaf_total = 0.0
                    edge += 1
        tree.stats[node, role].n_edges = edge - begin
        if edge == begin:
            ended = True
        tree.stats[node, role].total = 0.0
        tree.stats[node, role].goal = 0.0
    for word in range(len(state)):
        tree.state[node, word] = state[word]
    tree.node[node].status = TERMINAL if ended else OPEN
    tree.node[node].visits = 0
    tree.table[slot] = node
    counts[N_EDGES] = edge
    counts[N_NODES] += 1
    return node


@inner_kernel(forceinline=True)
def choosers(stats, node):
    """How many roles have more than one legal move at a node, and the last of them (role 0 if there is none).

    `stats` is that of a `SearchTree`.
    """
    count = 0
    chooser = 0
    for role in range(stats.shape[1]):
        if stats[node, role].n_edges > 1:
            count += 1
            chooser = role
    return count, chooser


@inner_kernel()
def _joint_slot(joint_key, joint_node, node, edges):
    """The slot where the joint move of one edge per role (int32[roles]) at a node is or belongs, and its hash.

    The first two are those of a `SearchTree`.
    """
    key = np.uint64(0xD6E8FEB86659FD93)
    for edge in edges:
        key = (key ^ np.uint64(edge)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    mask = np.uint64(len(joint_node) - 1)
    slot = (key ^ (key >> np.uint64(32))) & mask
    while joint_node[slot] >= 0 and not (joint_node[slot] == node and joint_key[slot] == key):
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot), key


@inner_kernel(forceinline=True)
def get_child(tree, node, edges):
    """The child after one edge per role (int32[roles]), or -1."""
    count, chooser = choosers(tree.stats, node)
    if count <= 1:
        return tree.edge[edges[chooser]].child
    slot, _ = _joint_slot(tree.joint_key, tree.joint_node, node, edges)
    return tree.joint_child[slot] if tree.joint_node[slot] >= 0 else np.int32(-1)


@step
def set_child(tree, node, edges, child):
    """Notes the child after one edge per role (int32[roles]); drops it where the joint table is 3/4 full."""
    count, chooser = choosers(tree.stats, node)
    if count <= 1:
        tree.edge[edges[chooser]].child = child
        return
    slot, key = _joint_slot(tree.joint_key, tree.joint_node, node, edges)
    if tree.joint_node[slot] < 0:
        if 4 * tree.counts[N_JOINT] > 3 * len(tree.joint_node):
            return
        tree.counts[N_JOINT] += 1
        tree.joint_node[slot] = node
        tree.joint_key[slot] = key
    tree.joint_child[slot] = child


@inner_kernel()
def prove(tree, node, best_goal, random_role):
    """Marks a node PROVEN if its children say so: its chooser has one worth `best_goal` to it, or all are proven.

    Where nobody has a choice the only child decides. Nodes at which several roles choose at once, or the random role,
    stay open; so do those where the chooser's best children are worth the same to it but not to the others, who cannot
    know what it will do. `best_goal` is float64[roles]: the highest goals (0..1) that the rules name. Returns whether
    the node is proven. MCTS-Solver (Winands et al. 2008) for goals instead of wins, and any number of roles.
    """
    if tree.node[node].status == PROVEN:
        return True
    count, chooser = choosers(tree.stats, node)
    if count > 1 or tree.node[node].status == TERMINAL or (count == 1 and chooser == random_role):
        return False
    roles = tree.stats.shape[1]
    begin = tree.stats[node, chooser].first_edge
    best = np.int32(-1)
    complete = True
    agreed = True
    for edge in range(begin, begin + tree.stats[node, chooser].n_edges):
        child = tree.edge[edge].child
        if child < 0 or tree.node[child].status != PROVEN:
            complete = False
        elif best < 0 or tree.stats[child, chooser].goal > tree.stats[best, chooser].goal:
            best = child
            agreed = True
        elif tree.stats[child, chooser].goal == tree.stats[best, chooser].goal:
            for role in range(roles):
                if tree.stats[child, role].goal != tree.stats[best, role].goal:
                    agreed = False
    if best < 0 or not agreed or not (complete or tree.stats[best, chooser].goal >= best_goal[chooser]):
        return False
    for role in range(roles):
        tree.stats[node, role].goal = tree.stats[best, role].goal
    tree.node[node].status = PROVEN
    return True
