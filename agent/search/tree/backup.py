"""From a finished match back to the root: goals and proofs along its path, and the best line of a single player.

In all kernels `programs` is a `CircuitPrograms`, `tree` a `SearchTree`, `lanes` a `SearchWorkspace`,
`parameters` a `Parameters`; `goals` is float64[roles], 0..1.
"""

from __future__ import annotations

import numpy as np

from agent.search.tree.lock import lock
from agent.search.tree.store import LOCK, N_PLAYOUTS, PROVEN, prove
from agent.search.tree.workspace import ACTIVE, HELD, WIDTH
from games.bits.inner import inner_kernel, step
from games.bits.locks import unlock
from games.bits.words import lowest
from games.gdl.running.goals import evaluate_goals, read_goals
from games.gdl.running.kernels import ONE, ZERO
from games.gdl.running.layout import FIRST_FLUENT


@inner_kernel(forceinline=True)
def back_up(tree, paths, lane, path, goals, bit, played, parameters):
    """Adds a finished match's goals along its path, and proves what can be proven, leaf to root.

    `paths` is a `Paths`; `path` says which of the lane's paths it is. `played` (uint64[moves]) says which moves were
    made in which lanes; `bit` is the lane's bit in its words, or 0 where the path ended in a proven node and nothing
    was played out. Above a node that is worth what a proven child is, that child's goals count (`goals` is
    overwritten).
    """
    roles = len(goals)
    depth = paths.depth[path, lane]
    leaf = paths.leaf[path, lane]
    if leaf >= 0 and tree.node[leaf].status != PROVEN:
        for role in range(roles):
            tree.stats[leaf, role].goal = goals[role]
        tree.node[leaf].status = PROVEN
    amaf = parameters.rave_equivalence > 0.0 and bit != ZERO
    proving = leaf >= 0 or bit == ZERO
    for d in range(depth - 1, -1, -1):
        node = paths.node[path, lane, d]
        proven_child = paths.proven_child[path, lane, d]
        for role in range(roles):
            if tree.stats[node, role].n_edges > 1:
                tree.edge[paths.edge[path, lane, d, role]].total += goals[role]
                if amaf:
                    begin = tree.stats[node, role].first_edge
                    for edge in range(begin, begin + tree.stats[node, role].n_edges):
                        if played[tree.edge[edge].move] & bit != ZERO:
                            tree.edge[edge].amaf_visits += np.float32(1.0)
                            tree.edge[edge].amaf_total += np.float32(goals[role])
        for role in range(roles):
            if proven_child >= 0:
                goals[role] = tree.stats[proven_child, role].goal
            tree.stats[node, role].total += goals[role]
        if proving:
            proving = prove(tree, node, parameters.best_goal, parameters.random_role)
    tree.counts[N_PLAYOUTS] += 1


@step
def _note_best_line(tree, paths, lane, path, goal, best_line, best_goal):
    """Keeps the whole match of a single player, which ended with `goal` (0..1), if it is the best so far.

    `paths` is a `Paths`; `best_line` and `best_goal` are those of the `SearchWorkspace`.
    """
    if goal <= best_goal[0]:
        return
    # Another thread may read the line at any time: it is empty while it is written.
    best_line[0] = 0
    n = 0
    for d in range(paths.depth[path, lane]):
        best_line[n + 1] = tree.edge[paths.edge[path, lane, d, 0]].move
        n += 1
    for i in range(paths.trail_size[path, lane]):
        best_line[n + 1] = paths.trail[path, lane, i]
        n += 1
    best_goal[0] = goal
    best_line[0] = n


@inner_kernel()
def collect(programs, tree, lanes, parameters, goals):
    """Evaluates the goals of all held matches and backs them up; `goals` is overwritten."""
    held = lanes.mask[HELD]
    if held == ZERO:
        return
    paths = lanes.paths
    first_goal, goal_role, goal_value = programs.first_goal, programs.goal_role, programs.goal_value
    evaluate_goals(programs.goal, programs.goal_slot, first_goal, goal_role, lanes.goal_slots, WIDTH)
    lock(tree.counts)
    rest = held
    while rest != ZERO:
        lane = lowest(rest)
        bit = ONE << np.uint64(lane)
        rest &= ~bit
        read_goals(first_goal, goal_role, goal_value, lanes.goal_slots, lane, goals)
        for role in range(len(goals)):
            goals[role] /= 100.0
        path = 1 - np.int64(lanes.current[lane])
        if paths.trail.shape[2] > 0:
            _note_best_line(tree, paths, lane, path, goals[0], lanes.best_line, lanes.best_goal)
        back_up(tree, paths, lane, path, goals, bit, lanes.held_played, parameters)
    unlock(tree.counts, LOCK)
    lanes.mask[HELD] = ZERO


@step
def judge_lanes(tree, lanes, parameters, due, goals, sums):
    """Backs up the linear evaluation of the states of the lanes in `due` (a word), and ends their matches.

    `goals` and `sums` (float64[64, roles]) are overwritten.
    """
    roles = len(goals)
    weights = parameters.judge_weights
    for lane in range(64):
        for role in range(roles):
            sums[lane, role] = parameters.judge_bias[role]
    for f in range(len(weights)):
        rest = lanes.slots[FIRST_FLUENT + f] & due
        while rest != ZERO:
            lane = lowest(rest)
            rest &= rest - ONE
            for role in range(roles):
                sums[lane, role] += weights[f, role]
    lock(tree.counts)
    rest = due
    while rest != ZERO:
        lane = lowest(rest)
        bit = ONE << np.uint64(lane)
        rest &= ~bit
        for role in range(roles):
            # As far ahead as the weights may see a role, the best goal stays ahead.
            worst, best = parameters.worst_goal[role], parameters.best_goal[role]
            half = max(0.5 * (best - worst), 1e-3)
            middle = worst + half
            goals[role] = middle + half * np.tanh((sums[lane, role] - middle) / half)
        path = np.int64(lanes.current[lane])
        back_up(tree, lanes.paths, lane, path, goals, bit, lanes.played, parameters)
        lanes.playout_counts[0] += 1.0
    unlock(tree.counts, LOCK)
    for move in range(len(lanes.played)):
        lanes.played[move] &= ~due
    lanes.mask[ACTIVE] &= ~due
