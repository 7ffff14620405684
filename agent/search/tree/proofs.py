"""Proven values of nodes, and their consequences for parents.

Threads read them without a lock. Who finds a node PROVEN, or a proof at an edge, needs a fence before it reads the
node's goals or the edge's child.

In all kernels `tree` is a `SearchTree`; nodes and edges are integers.
"""

from __future__ import annotations

import numpy as np

from agent.search.tree.store import PROVEN, TERMINAL, choosers, get_child
from games.bits.inner import inner_kernel, step
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
    """Notes a proven child's goal at the chooser's edge; where several choose at once, no edge has a child."""
    count, chooser = choosers(tree.stats, node)
    if count <= 1:
        goal = tree.stats[child, chooser].goal
        fence()
        tree.edge[edges[chooser]].proven = goal


ROUNDING = 1e-6
"""Difference below which goals are equal: edges keep 32-bit floats."""

MAX_JOINT_MOVES = 256
"""Most joint moves of a node to try to prove: all are examined each time that one is proven."""


@inner_kernel()
def _guaranteed(tree, node, role, worst_goal, sum_of_goals, edges):
    """The goal that one of two roles that choose at once can guarantee: its best edge against the worst answer.

    Unproven children count as the worst goal. Each edge's guaranteed goal, or an upper bound below the best one, is
    noted there. Returns -1 if the goals of a proven child do not add up to `sum_of_goals`. `worst_goal` is
    float64[roles], 0..1; `edges` (int32[roles]) is overwritten.
    """
    other = 1 - role
    begin, answers = tree.stats[node, role].first_edge, tree.stats[node, other].first_edge
    best = -1.0
    for edge in range(begin, begin + tree.stats[node, role].n_edges):
        edges[role] = edge
        least = 2.0
        for answer in range(answers, answers + tree.stats[node, other].n_edges):
            edges[other] = answer
            child = get_child(tree, node, edges)
            goal = worst_goal[role]
            if child >= 0 and tree.node[child].status == PROVEN:
                fence()
                goal = tree.stats[child, role].goal
                if abs(goal + tree.stats[child, other].goal - sum_of_goals) > ROUNDING:
                    return -1.0
            least = min(least, goal)
            if least <= max(worst_goal[role], best - ROUNDING):
                break
        tree.edge[edge].proven = least
        best = max(best, least)
    return best


@step
def _prove_contested(tree, node, best_goal, worst_goal, edges, goals):
    """`prove` for two roles with opposite goals that choose at once, where both have a best pure move.

    They have if both guaranteed goals add up to the sum of goals. Equilibria of mixed strategies stay open.
    """
    sum_of_goals = best_goal[0] + worst_goal[1]
    if tree.stats[node, 0].n_edges * tree.stats[node, 1].n_edges > MAX_JOINT_MOVES:
        return False
    if abs(sum_of_goals - worst_goal[0] - best_goal[1]) > ROUNDING:
        return False
    own = (edges[0], edges[1])
    for role in range(2):
        goals[role] = _guaranteed(tree, node, role, worst_goal, sum_of_goals, edges)
    edges[0], edges[1] = own
    if min(goals[0], goals[1]) < 0.0 or goals[0] + goals[1] < sum_of_goals - ROUNDING:
        return False
    set_proven(tree, node, goals)
    return True


@inner_kernel()
def prove(tree, node, best_goal, worst_goal, random_role, edges, goals):
    """Marks a node PROVEN if one child is worth `best_goal` to its chooser, or all children are proven.

    MCTS-Solver (Winands et al. 2008) for goals instead of wins, and any number of roles. Where nobody has a choice the
    only child decides; where the random role moves, the mean of all children. Two kinds of nodes stay open: those where
    several roles choose at once, except saddle points (`_prove_contested`), and those whose best children are worth the
    same to the chooser but not to the others.

    `best_goal` and `worst_goal` (float64[roles], 0..1) are the highest and lowest goals of the rules; `edges`
    (int32[roles]) is used and restored, `goals` (float64[roles]) is overwritten. Returns whether the node is proven.
    """
    if tree.node[node].status == PROVEN:
        fence()
        return True
    count, chooser = choosers(tree.stats, node)
    if tree.node[node].status == TERMINAL:
        return False
    roles = tree.stats.shape[1]
    if count > 1:
        if roles > 2 or random_role >= 0:
            return False
        return _prove_contested(tree, node, best_goal, worst_goal, edges, goals)
    begin = tree.stats[node, chooser].first_edge
    end = begin + tree.stats[node, chooser].n_edges
    best = np.int64(-1)
    best_value = -1.0
    complete = True
    for edge in range(begin, end):
        value = tree.edge[edge].proven
        if value < 0.0:
            complete = False
        elif value > best_value:
            best = edge
            best_value = value
    fence()
    if count == 1 and chooser == random_role:
        if not complete:
            return False
        for role in range(roles):
            goals[role] = 0.0
            for edge in range(begin, end):
                goals[role] += tree.stats[tree.edge[edge].child, role].goal / (end - begin)
        set_proven(tree, node, goals)
        return True
    if best < 0 or not (complete or best_value >= best_goal[chooser] - ROUNDING):
        return False
    for role in range(roles):
        goals[role] = tree.stats[tree.edge[best].child, role].goal
    for edge in range(begin, end):
        if tree.edge[edge].proven >= best_value - ROUNDING:
            fence()
            for role in range(roles):
                if abs(tree.stats[tree.edge[edge].child, role].goal - goals[role]) > ROUNDING:
                    return False
    set_proven(tree, node, goals)
    return True
