"""The tree: nodes, edges and transpositions in flat arrays.

A node is a state, with one edge per role and legal move. Where at most one role has a choice, the chooser's edge holds
the child; where several choose at once, a hash table maps joint moves to children. Transpositions are one node: a hash
table maps packed states to nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.arrays import array
from games.bits.compiling import KERNEL
from games.bits.inner import inner_kernel
from games.bits.locks import fence
from games.bits.words import transpose
from games.gdl.running.kernels import ONE, ZERO
from games.gdl.running.layout import FIRST_FLUENT, CircuitPrograms

TOGETHER = np.uint64(4)
"""Moves tested together: mostly all are legal in no lane. In games of many moves 4 takes half the time of 2 (see
docs/experiments.md)."""

OPEN, TERMINAL, PROVEN = 0, 1, 2
"""Status of a node. TERMINAL: the match is over, goals not evaluated yet. PROVEN: `goal` is that of best play."""

MIXED = 2
"""Value of a node's `expanded`: edges are drawn by regret matching (see `regret`)."""

N_NODES, N_EDGES, ROOT, N_JOINT, N_PLAYOUTS, LOCK, MEMORY, NODE_MEMORY = range(8)
"""Indices into `SearchTree.counts`: used nodes and edges, the root, joint children, playouts backed up (and descents
without any), the spin lock, bytes for nodes and edges, bytes of a node without its edges."""

NODE = np.dtype(
    [
        ("visits", np.int64),  # results that were backed up through the node
        ("pending", np.int32),  # results that descents under way will bring
        ("status", np.int16),  # OPEN, TERMINAL or PROVEN
        ("expanded", np.int16),  # 1 if all children were made, which finds terminal ones; or MIXED
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
        ("total", np.float64),  # sum of the role's goals (0..1) of the results by this edge
        ("visits", np.int64),  # number of these results
        ("move", np.int32),  # numbered over all roles
        ("child", np.int32),  # at the only chooser's edge (role 0's where nobody has a choice); -1 while there is none
        ("pending", np.int32),  # results that descents under way will bring
        # The role's proven goal (0..1) after the move, -1 while open; where several roles choose at once, its
        # guaranteed goal, if known.
        ("proven", np.float32),
    ]
)

AMAF = np.dtype(
    [
        # All moves as first: playouts in which the role made this move here or later. At a MIXED node the sum of the
        # move's probabilities.
        ("visits", np.float32),
        # Sum of the role's goals (0..1) of these. At a MIXED node the move's regret.
        ("total", np.float32),
    ]
)

EDGE_MEMORY = EDGE.itemsize + AMAF.itemsize
"""Bytes of an edge."""


class SearchTree(NamedTuple):
    """Flat arrays, used up to `counts`."""

    counts: NDArray[np.int64]
    """(8) see `N_NODES` and what follows it."""
    state: NDArray[np.uint64]
    """(nodes, words) packed states."""
    node: NDArray[np.void]
    """(nodes) records of `NODE`."""
    stats: NDArray[np.void]
    """(nodes, roles) records of `ROLE_STATS`; a cache line for two roles."""
    edge: NDArray[np.void]
    """(edges) records of `EDGE`."""
    amaf: NDArray[np.void]
    """(edges) records of `AMAF`."""
    table: NDArray[np.int32]
    """(2^k, at least twice the nodes): open-addressing hash table of nodes by state, -1 where empty."""
    joint_key: NDArray[np.uint64]
    """(slots) hash of the edges of a joint move; `joint_*` are an open-addressing table, of one slot for one role."""
    joint_node: NDArray[np.int32]
    """(slots) node of the joint move; -1 where empty."""
    joint_child: NDArray[np.int32]
    """(slots) child after it."""


class LegalMoves(NamedTuple):
    """Moves that are legal in any of 64 states (see `list_legal_moves`)."""

    start: NDArray[np.int64] = array(np.int64, "starts")
    """Start of each role's moves, and the end."""
    move: NDArray[np.int32] = array(np.int32, "moves")
    """Numbered over all roles."""
    word: NDArray[np.uint64] = array(np.uint64, "moves")
    """Lanes in which the move is legal."""


def new_tree(programs: CircuitPrograms, words: int, memory_bytes: int) -> SearchTree:
    """A tree of at most about `memory_bytes`, but at least 1024 nodes, for states of `words` 64-bit words.

    Nodes and edges share the memory as they need it: both arrays are long enough, and the system hands out only memory
    that is written to. To be cleared by `clear_tree` first.
    """
    roles = len(programs.role_start) - 1
    moves = len(programs.legal_slot)
    # The state, the node, its entries of tables (at most four of four bytes), and the roles' statistics.
    node_memory = 8 * words + NODE.itemsize + roles * ROLE_STATS.itemsize + 16
    nodes = max(1024, memory_bytes // (node_memory + 2 * roles * EDGE_MEMORY))
    edges = max(memory_bytes // EDGE_MEMORY, 1024 * min(64, moves), 4 * moves)
    table = 1 << (2 * nodes - 1).bit_length()
    counts = np.zeros(8, np.int64)
    counts[MEMORY] = max(memory_bytes, 1024 * (node_memory + min(64, moves) * EDGE_MEMORY) + 4 * moves * EDGE_MEMORY)
    counts[NODE_MEMORY] = node_memory
    return SearchTree(
        counts=counts,
        state=np.zeros((nodes, words), np.uint64),
        node=np.zeros(nodes, NODE),
        stats=np.zeros((nodes, roles), ROLE_STATS),
        edge=np.zeros(edges, EDGE),
        amaf=np.zeros(edges, AMAF),
        table=np.full(table, -1, np.int32),
        joint_key=np.zeros(table if roles > 1 else 1, np.uint64),
        joint_node=np.full(table if roles > 1 else 1, -1, np.int32),
        joint_child=np.zeros(table if roles > 1 else 1, np.int32),
    )


def filled(tree: SearchTree) -> float:
    """The share of the tree's memory that is used, 0..1."""
    counts = tree.counts
    memory = float(counts[N_NODES] * counts[NODE_MEMORY] + counts[N_EDGES] * EDGE_MEMORY) / float(counts[MEMORY])
    return max(memory, float(counts[N_NODES] / len(tree.node)), float(counts[N_EDGES] / len(tree.edge)))


def clear_tree(tree: SearchTree) -> None:
    """Forgets everything."""
    tree.counts[:MEMORY] = 0
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
    """The index of a packed state among `states`, or -1; and its slot of `table`.

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


@inner_kernel()
def load_rows(states, rows, which, slots, block, n_fluents):
    """Puts packed states, 64 fluents at a time (bit transposition), into the lanes of `which` (a word).

    `states` is uint64[n, words]; lane i gets row `rows[i]` (int32[64]; any row where it is not in `which`). `slots` is
    uint64[slots]; `block` (uint64[64]) is overwritten.
    """
    for word in range(states.shape[1]):
        for lane in range(64):
            block[lane] = states[rows[lane], word]
        transpose(block)
        for f in range(64 * word, min(64 * word + 64, n_fluents)):
            slot = FIRST_FLUENT + f
            slots[slot] = (slots[slot] & ~which) | (block[f - 64 * word] & which)


def find_node(tree: SearchTree, state: NDArray[np.uint64]) -> tuple[int, int]:
    """The node of a state (words), or -1; and its slot of the table."""
    node, slot = find_state(tree.table, tree.state, state)
    return int(node), int(slot)


@njit(**KERNEL)
def list_legal_moves(role_start, legal_slot, slots, which, legal_moves):
    """Lists the moves that are legal in any of the lanes in `which` (a word), role by role.

    `role_start` and `legal_slot` are those of `CircuitPrograms`; `slots` (uint64[slots]) hold the results of the legal
    program. `legal_moves` is a `LegalMoves`.
    """
    n = ZERO
    roles = len(role_start) - 1
    for role in range(roles):
        legal_moves.start[role] = n
        move = np.uint64(role_start[role])
        end = np.uint64(role_start[role + 1])
        while move < end:
            n_here = min(end - move, TOGETHER)
            some = ZERO
            for i in range(n_here):
                some |= slots[np.uint64(legal_slot[move + i])]
            if some & which != ZERO:
                for i in range(n_here):
                    word = slots[np.uint64(legal_slot[move + i])] & which
                    if word != ZERO:
                        legal_moves.move[n] = move + i
                        legal_moves.word[n] = word
                        n += ONE
            move += n_here
    legal_moves.start[roles] = n


@njit(**KERNEL)
def add_node(tree, state, legal_moves, lane, over):
    """The node of a packed `state` (uint64[words]), made if it is new; -1 if it does not fit.

    Its moves are those of `legal_moves` in a lane (0..63). `over` is whether the state is terminal; a role without a
    legal move ends the match as well.
    """
    node, slot = find_state(tree.table, tree.state, state)
    if node >= 0:
        return node
    counts = tree.counts
    used = (counts[N_NODES] + 1) * counts[NODE_MEMORY] + counts[N_EDGES] * EDGE_MEMORY
    if counts[N_NODES] >= len(tree.node) or used > counts[MEMORY]:
        return np.int32(-1)
    bit = np.uint64(lane)
    edge = counts[N_EDGES]
    node = np.int32(counts[N_NODES])
    limit = min(len(tree.edge), edge + (counts[MEMORY] - used) // EDGE_MEMORY)
    roles = tree.stats.shape[1]
    ended = over
    for role in range(roles):
        tree.stats[node, role].first_edge = edge
        begin = edge
        if not over:
            for i in range(legal_moves.start[role], legal_moves.start[role + 1]):
                if (legal_moves.word[i] >> bit) & np.uint64(1) != np.uint64(0):
                    if edge >= limit:
                        return np.int32(-1)
                    tree.edge[edge].total = 0.0
                    tree.edge[edge].visits = 0
                    tree.edge[edge].move = legal_moves.move[i]
                    tree.edge[edge].child = -1
                    tree.edge[edge].pending = 0
                    tree.edge[edge].proven = -1.0
                    tree.amaf[edge].visits = 0.0
                    tree.amaf[edge].total = 0.0
                    edge += 1
        tree.stats[node, role].n_edges = edge - begin
        if edge == begin:
            ended = True
        tree.stats[node, role].total = 0.0
        tree.stats[node, role].goal = 0.0
    for word in range(len(state)):
        tree.state[node, word] = state[word]
    tree.node[node].visits = 0
    tree.node[node].pending = 0
    tree.node[node].status = TERMINAL if ended else OPEN
    tree.node[node].expanded = 0
    tree.table[slot] = node
    counts[N_EDGES] = edge
    counts[N_NODES] += 1
    return node


@inner_kernel(forceinline=True)
def choosers(stats, node):
    """The number of roles with more than one legal move at a node, and the last of them (0 if there is none).

    `stats` is a `SearchTree`'s.
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
    """The slot of the joint move of one edge per role (int32[roles]) at a node, its hash, and whether it is there.

    The first two arguments are a `SearchTree`'s.
    """
    key = np.uint64(0xD6E8FEB86659FD93)
    for edge in edges:
        key = (key ^ np.uint64(edge)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    mask = np.uint64(len(joint_node) - 1)
    slot = (key ^ (key >> np.uint64(32))) & mask
    # Read once: another thread may fill an empty slot meanwhile, for another joint move.
    owner = joint_node[slot]
    while owner >= 0:
        fence()
        if owner == node and joint_key[slot] == key:
            break
        slot = (slot + np.uint64(1)) & mask
        owner = joint_node[slot]
    return np.int64(slot), key, owner >= 0


@inner_kernel(forceinline=True)
def get_child(tree, node, edges):
    """The child after one edge per role (int32[roles]), or -1.

    No fence is needed to read on at an edge's child: the processor cannot read what is at an index before the index.
    """
    count, chooser = choosers(tree.stats, node)
    if count <= 1:
        return tree.edge[edges[chooser]].child
    slot, _, found = _joint_slot(tree.joint_key, tree.joint_node, node, edges)
    return tree.joint_child[slot] if found else np.int32(-1)


@inner_kernel()
def set_child(tree, node, edges, child):
    """Notes the child after one edge per role (int32[roles]); drops it where the joint table is 3/4 full.

    Fences make sure that descending threads, which hold no lock, find only complete children.
    """
    count, chooser = choosers(tree.stats, node)
    if count <= 1:
        fence()
        tree.edge[edges[chooser]].child = child
        return
    slot, key, found = _joint_slot(tree.joint_key, tree.joint_node, node, edges)
    if not found:
        if 4 * tree.counts[N_JOINT] > 3 * len(tree.joint_node):
            return
        tree.counts[N_JOINT] += 1
        tree.joint_key[slot] = key
        tree.joint_child[slot] = child
        fence()
        tree.joint_node[slot] = node
    else:
        tree.joint_child[slot] = child
