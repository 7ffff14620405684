"""The tree: nodes, edges and transpositions in flat arrays, and what is done to them one node at a time.

A node is a state, with one edge per role and legal move. Where at most one role has a choice, the chooser's edge holds
the child; where several choose at once, children are found by joint move in a hash table. States that are reached by
different ways are one node (transposition table keyed by the packed state).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.gdl.running.layout import CircuitPrograms

OPEN, TERMINAL, PROVEN = 0, 1, 2
"""Status of a node. TERMINAL: the match is over, goals not evaluated yet. PROVEN: GOAL is what best play brings."""

N_NODES, N_EDGES, ROOT, N_JOINT, N_PLAYOUTS, LOCK = range(6)
"""Indices into `Tree.counts`."""

VISITS, STATUS = 0, 1
FIRST, SIZE, TOTAL, GOAL = 2, 3, 4, 5
"""Columns of `Tree.node`; those in the second line are for role 0, role r's are 4 * r further on. FIRST and SIZE are
the role's edges, TOTAL is the sum of its goals (0..1) that came back through the node, GOAL its goal where the status
is PROVEN."""

EDGE = np.dtype(
    [
        ("won", np.float64),  # sum of the role's goals (0..1)
        ("move", np.int32),  # numbered over all roles
        ("tried", np.int32),  # how often it was chosen, playouts under way included (virtual loss)
        ("child", np.int32),  # of the only chooser's edge (role 0's where nobody has a choice); -1 while there is none
        ("like_tried", np.float32),  # playouts below in which the role made this move at any time (all moves as first)
        ("like_won", np.float32),
        ("unused", np.int32),  # two edges to a cache line
    ]
)


class Tree(NamedTuple):
    """Flat arrays; `counts` says how much of them is used."""

    counts: NDArray[np.int64]
    state: NDArray[np.uint64]
    """(nodes, words) packed states."""
    node: NDArray[np.int64]
    """(nodes, 2 + 4 * roles): VISITS, STATUS, then per role FIRST, SIZE, TOTAL, GOAL. One or two cache lines."""
    value: NDArray[np.float64]
    """The same memory as `node`, for TOTAL and GOAL."""
    edge: Any
    """(edges) records of `EDGE`."""
    table: NDArray[np.int32]
    """Open-addressing hash table of nodes by state."""
    joint_key: NDArray[np.uint64]
    joint_node: NDArray[np.int32]
    joint_child: NDArray[np.int32]


def new_tree(programs: CircuitPrograms, words: int, memory_bytes: int) -> Tree:
    """An empty tree that takes at most about so much memory (of which the system hands out only what is used)."""
    roles = len(programs.role_start) - 1
    moves_per_node = max(4, min(64, len(programs.legal_slot)))
    node_bytes = 8 * words + 16 + 32 * roles + 16
    nodes = max(1024, min(1 << 22, int(memory_bytes / (node_bytes + moves_per_node * EDGE.itemsize))))
    edges = max(nodes * moves_per_node, 4 * len(programs.legal_slot))
    table = 1 << (2 * nodes - 1).bit_length()
    node = np.zeros((nodes, 2 + 4 * roles), np.int64)
    return Tree(
        counts=np.zeros(8, np.int64),
        state=np.zeros((nodes, words), np.uint64),
        node=node,
        value=node.view(np.float64),
        edge=np.zeros(edges, EDGE),
        table=np.full(table, -1, np.int32),
        joint_key=np.zeros(table if roles > 1 else 1, np.uint64),
        joint_node=np.full(table if roles > 1 else 1, -1, np.int32),
        joint_child=np.zeros(table if roles > 1 else 1, np.int32),
    )


@njit(cache=True, nogil=True)
def clear_tree(tree):
    """Forgets everything."""
    tree.counts[:] = 0
    tree.counts[ROOT] = -1
    tree.table[:] = -1
    tree.joint_node[:] = -1


@njit(cache=True, nogil=True)
def hash_state(state):
    """A 64-bit hash of a packed state."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for word in state:
        h = (h ^ word) * np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(31)
    return h


@njit(cache=True, nogil=True)
def find_state(table, states, state):
    """The index of a packed state among `states` (n, words), or -1; and the slot of `table` where it is or belongs.

    `table` is an open-addressing hash table of indices, -1 where empty; its length is a power of two.
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


@njit(cache=True, nogil=True)
def find_node(tree, state):
    """The node with this state, or -1; and the slot of the table where it is or belongs."""
    return find_state(tree.table, tree.state, state)


@njit(cache=True, nogil=True)
def add_node(programs, tree, state, slots, lane, over):
    """The node of a state that is in a lane (0..63) of slots one word wide; -1 if it does not fit.

    The legal program has been evaluated. `over` says whether the state is terminal. A role without a legal move ends
    the match as well.
    """
    node, slot = find_node(tree, state)
    if node >= 0:
        return node
    counts = tree.counts
    if counts[N_NODES] >= len(tree.node):
        return np.int32(-1)
    bit = np.uint64(lane)
    edge = counts[N_EDGES]
    node = np.int32(counts[N_NODES])
    roles = len(programs.role_start) - 1
    ended = over
    for role in range(roles):
        tree.node[node, FIRST + 4 * role] = edge
        begin = edge
        if not over:
            for move in range(programs.role_start[role], programs.role_start[role + 1]):
                if (slots[programs.legal_slot[move]] >> bit) & np.uint64(1) != np.uint64(0):
                    if edge >= len(tree.edge):
                        return np.int32(-1)
                    tree.edge[edge].move = move
                    tree.edge[edge].tried = 0
                    tree.edge[edge].won = 0.0
                    tree.edge[edge].child = -1
                    tree.edge[edge].like_tried = 0.0
                    tree.edge[edge].like_won = 0.0
                    edge += 1
        tree.node[node, SIZE + 4 * role] = edge - begin
        if edge == begin:
            ended = True
        tree.value[node, TOTAL + 4 * role] = 0.0
        tree.value[node, GOAL + 4 * role] = 0.0
    tree.state[node] = state
    tree.node[node, STATUS] = TERMINAL if ended else OPEN
    tree.node[node, VISITS] = 0
    tree.table[slot] = node
    counts[N_EDGES] = edge
    counts[N_NODES] += 1
    return node


@njit(cache=True, nogil=True, inline="always")
def choosers(tree, node):
    """How many roles have more than one legal move at a node, and the last of them (role 0 if there is none)."""
    count = 0
    chooser = 0
    for role in range((tree.node.shape[1] - 2) // 4):
        if tree.node[node, SIZE + 4 * role] > 1:
            count += 1
            chooser = role
    return count, chooser


@njit(cache=True, nogil=True)
def _joint_slot(tree, node, edges):
    key = np.uint64(0xD6E8FEB86659FD93)
    for edge in edges:
        key = (key ^ np.uint64(edge)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    mask = np.uint64(len(tree.joint_node) - 1)
    slot = (key ^ (key >> np.uint64(32))) & mask
    while tree.joint_node[slot] >= 0 and not (tree.joint_node[slot] == node and tree.joint_key[slot] == key):
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot), key


@njit(cache=True, nogil=True, inline="always")
def get_child(tree, node, edges):
    """The child after one edge per role, or -1."""
    count, chooser = choosers(tree, node)
    if count <= 1:
        return tree.edge[edges[chooser]].child
    slot, _ = _joint_slot(tree, node, edges)
    return tree.joint_child[slot] if tree.joint_node[slot] >= 0 else np.int32(-1)


@njit(cache=True, nogil=True)
def set_child(tree, node, edges, child):
    """Notes the child after one edge per role."""
    count, chooser = choosers(tree, node)
    if count <= 1:
        tree.edge[edges[chooser]].child = child
        return
    slot, key = _joint_slot(tree, node, edges)
    if tree.joint_node[slot] < 0:
        if 4 * tree.counts[N_JOINT] > 3 * len(tree.joint_node):
            return
        tree.counts[N_JOINT] += 1
        tree.joint_node[slot] = node
        tree.joint_key[slot] = key
    tree.joint_child[slot] = child


@njit(cache=True, nogil=True)
def prove(tree, node, best_goal, random_role):
    """Marks a node PROVEN if its children say so: its chooser has one worth `best_goal` to it, or all are proven.

    Where nobody has a choice the only child decides. Nodes at which several roles choose at once, or the random role,
    stay open; so do those where the chooser's best children are worth the same to it but not to the others, who cannot
    know what it will do. Returns whether the node is proven.
    """
    if tree.node[node, STATUS] == PROVEN:
        return True
    count, chooser = choosers(tree, node)
    if count > 1 or tree.node[node, STATUS] == TERMINAL or (count == 1 and chooser == random_role):
        return False
    roles = (tree.node.shape[1] - 2) // 4
    begin = tree.node[node, FIRST + 4 * chooser]
    best = np.int32(-1)
    complete = True
    agreed = True
    for edge in range(begin, begin + tree.node[node, SIZE + 4 * chooser]):
        child = tree.edge[edge].child
        if child < 0 or tree.node[child, STATUS] != PROVEN:
            complete = False
        elif best < 0 or tree.value[child, GOAL + 4 * chooser] > tree.value[best, GOAL + 4 * chooser]:
            best = child
            agreed = True
        elif tree.value[child, GOAL + 4 * chooser] == tree.value[best, GOAL + 4 * chooser]:
            for role in range(roles):
                if tree.value[child, GOAL + 4 * role] != tree.value[best, GOAL + 4 * role]:
                    agreed = False
    if best < 0 or not agreed or not (complete or tree.value[best, GOAL + 4 * chooser] >= best_goal[chooser]):
        return False
    for role in range(roles):
        tree.value[node, GOAL + 4 * role] = tree.value[best, GOAL + 4 * role]
    tree.node[node, STATUS] = PROVEN
    return True


@njit(cache=True, nogil=True)
def keep_reachable(tree, root):
    """Moves what can be reached from `root` to the front and forgets the rest; returns the root's new number."""
    nodes = tree.counts[N_NODES]
    roles = (tree.node.shape[1] - 2) // 4
    # Joint children by node: a linked list of slots.
    first_joint = np.full(nodes, -1, np.int64)
    next_joint = np.empty(len(tree.joint_node), np.int64)
    for slot in range(len(tree.joint_node)):
        node = tree.joint_node[slot]
        if node >= 0:
            next_joint[slot] = first_joint[node]
            first_joint[node] = slot
    reached = np.zeros(nodes, np.bool_)
    reached[root] = True
    stack = np.empty(nodes, np.int32)
    stack[0] = root
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        for role in range(roles):
            begin = tree.node[node, FIRST + 4 * role]
            for edge in range(begin, begin + tree.node[node, SIZE + 4 * role]):
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
    # Nodes and their edges were allocated in the same order, so that moving them down never overwrites what is still
    # to move.
    number = np.full(nodes, -1, np.int32)
    kept = 0
    edge_out = np.int64(0)
    for node in range(nodes):
        if not reached[node]:
            continue
        number[node] = kept
        tree.state[kept] = tree.state[node]
        tree.node[kept] = tree.node[node]
        for role in range(roles):
            begin = tree.node[node, FIRST + 4 * role]
            size = tree.node[node, SIZE + 4 * role]
            tree.node[kept, FIRST + 4 * role] = edge_out
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
        _, slot = find_node(tree, tree.state[node])
        tree.table[slot] = node
    return number[root]
