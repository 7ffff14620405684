"""What is proven about nodes, and what follows for their parents.

In all kernels `tree` is a `SearchTree`; nodes and edges are integers.
"""

from __future__ import annotations

import numpy as np

from agent.search.tree.store import PROVEN, TERMINAL, choosers
from games.bits.inner import inner_kernel
from games.bits.locks import fence


@inner_kernel()
def set_proven(tree, node, goals):
    """Marks a node PROVEN, worth `goals` (float64[roles], 0..1)."""
    for role in range(tree.stats.shape[1]):
        tree.stats[node, role].goal = goals[role]
    fence()
    tree.node[node].status = PROVEN


@inner_kernel()
def note_proven_child(tree, node, edges, child):
    """Notes at the chooser's edge what a proven child brings; where several choose at once, nothing is proven."""
    count, chooser = choosers(tree.stats, node)
    if count <= 1:
        tree.edge[edges[chooser]].proven = tree.stats[child, chooser].goal


SAME_GOAL = 1e-6
"""Goals that differ by less are the same: edges keep them as 32-bit floats."""


@inner_kernel()
def prove(tree, node, best_goal, random_role, goals):
    """Marks a node PROVEN if its children say so: its chooser has one worth `best_goal` to it, or all are proven.

    Where nobody has a choice the only child decides; where the random role moves and all children are proven, their
    mean. Nodes at which several roles choose at once stay open; so do those where the chooser's best children are worth
    the same to it but not to the others, who cannot know what it will do. `best_goal` is float64[roles]: the highest
    goals (0..1) that the rules name; `goals` (float64[roles]) is overwritten. Returns whether the node is proven.
    MCTS-Solver (Winands et al. 2008) for goals instead of wins, and any number of roles.
    """
    if tree.node[node].status == PROVEN:
        return True
    count, chooser = choosers(tree.stats, node)
    if count > 1 or tree.node[node].status == TERMINAL:
        return False
    roles = tree.stats.shape[1]
    begin = tree.stats[node, chooser].first_edge
    end = begin + tree.stats[node, chooser].n_edges
    best = np.int32(-1)
    best_value = -1.0
    complete = True
    for edge in range(begin, end):
        value = tree.edge[edge].proven
        if value < 0.0:
            complete = False
        elif value > best_value:
            best = tree.edge[edge].child
            best_value = value
    if count == 1 and chooser == random_role:
        if not complete:
            return False
        for role in range(roles):
            goals[role] = 0.0
            for edge in range(begin, end):
                goals[role] += tree.stats[tree.edge[edge].child, role].goal / (end - begin)
        set_proven(tree, node, goals)
        return True
    if best < 0 or not (complete or best_value >= best_goal[chooser] - SAME_GOAL):
        return False
    for role in range(roles):
        goals[role] = tree.stats[best, role].goal
    for edge in range(begin, end):
        if tree.edge[edge].proven >= best_value - SAME_GOAL:
            for role in range(roles):
                if abs(tree.stats[tree.edge[edge].child, role].goal - goals[role]) > SAME_GOAL:
                    return False
    set_proven(tree, node, goals)
    return True
