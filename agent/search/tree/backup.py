"""From a finished match back to the root: goals and proofs along its path, and the best line of a single player."""

from __future__ import annotations

import numpy as np
from numba import njit

from agent.search.tree.lanes import ACTIVE, HELD, WIDTH
from agent.search.tree.lock import lock
from agent.search.tree.store import FIRST, GOAL, LOCK, N_PLAYOUTS, PROVEN, SIZE, STATUS, TOTAL, prove
from games.bits.locks import unlock
from games.bits.words import lowest
from games.gdl.running.goals import evaluate_goals, read_goals
from games.gdl.running.kernels import ONE, ZERO
from games.gdl.running.layout import FIRST_FLUENT


@njit(cache=True, nogil=True, inline="always")
def back_up(tree, lanes, lane, side, goals, bit, played, parameters):
    """Adds a finished match's goals (0..1 per role) along its path, and proves what can be proven, leaf to root.

    `bit` is the lane's bit in the words of `played`, or 0 where the path ended in a proven node and nothing was played
    out. Above a node that a proven child settles, that child's goals count (`goals` is overwritten).
    """
    roles = len(goals)
    depth = lanes.depth[side, lane]
    leaf = lanes.leaf[side, lane]
    if leaf >= 0 and tree.node[leaf, STATUS] != PROVEN:
        for role in range(roles):
            tree.value[leaf, GOAL + 4 * role] = goals[role]
        tree.node[leaf, STATUS] = PROVEN
    like = parameters.like_weight > 0.0 and bit != ZERO
    proving = leaf >= 0 or bit == ZERO
    for d in range(depth - 1, -1, -1):
        node = lanes.node[side, lane, d]
        settled = lanes.settled[side, lane, d]
        for role in range(roles):
            if tree.node[node, SIZE + 4 * role] > 1:
                tree.edge[lanes.edge[side, lane, d, role]].won += goals[role]
                if like:
                    begin = tree.node[node, FIRST + 4 * role]
                    for edge in range(begin, begin + tree.node[node, SIZE + 4 * role]):
                        if played[tree.edge[edge].move] & bit != ZERO:
                            tree.edge[edge].like_tried += np.float32(1.0)
                            tree.edge[edge].like_won += np.float32(goals[role])
        for role in range(roles):
            if settled >= 0:
                goals[role] = tree.value[settled, GOAL + 4 * role]
            tree.value[node, TOTAL + 4 * role] += goals[role]
        if proving:
            proving = prove(tree, node, parameters.best_goal, parameters.random_role)
    tree.counts[N_PLAYOUTS] += 1


@njit(cache=True, nogil=True)
def _note_best_line(tree, lanes, lane, side, goal):
    """Keeps the whole match of a single player if it is the best so far."""
    if goal <= lanes.best_goal[0]:
        return
    # Another thread may read the line at any time: it is empty while it is written.
    lanes.best_line[0] = 0
    n = 0
    for d in range(lanes.depth[side, lane]):
        lanes.best_line[n + 1] = tree.edge[lanes.edge[side, lane, d, 0]].move
        n += 1
    for i in range(lanes.trail_size[side, lane]):
        lanes.best_line[n + 1] = lanes.trail[side, lane, i]
        n += 1
    lanes.best_goal[0] = goal
    lanes.best_line[0] = n


@njit(cache=True, nogil=True, inline="always")
def collect(programs, tree, lanes, parameters, goals):
    """Evaluates the goals of all held matches and backs them up."""
    held = lanes.mask[HELD]
    if held == ZERO:
        return
    evaluate_goals(programs, lanes.goal_slots, WIDTH)
    lock(tree)
    rest = held
    while rest != ZERO:
        lane = lowest(rest)
        bit = ONE << np.uint64(lane)
        rest &= ~bit
        read_goals(programs, lanes.goal_slots, lane, 0, goals)
        for role in range(len(goals)):
            goals[role] /= 100.0
        side = 1 - lanes.side[lane]
        if lanes.trail.shape[2] > 0:
            _note_best_line(tree, lanes, lane, side, goals[0])
        back_up(tree, lanes, lane, side, goals, bit, lanes.held_played, parameters)
    unlock(tree.counts, LOCK)
    lanes.mask[HELD] = ZERO


@njit(cache=True, nogil=True, inline="always")
def judge_lanes(tree, lanes, parameters, due, goals, sums):
    """Backs up what the judge makes of the states of these lanes, and ends their matches.

    `goals` (float64[roles]) and `sums` (float64[64, roles]) are scratch.
    """
    roles = len(goals)
    weights = parameters.judge_weights
    sums[:] = parameters.judge_bias
    for f in range(len(weights)):
        rest = lanes.slots[FIRST_FLUENT + f] & due
        while rest != ZERO:
            lane = lowest(rest)
            rest &= rest - ONE
            for role in range(roles):
                sums[lane, role] += weights[f, role]
    lock(tree)
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
        back_up(tree, lanes, lane, lanes.side[lane], goals, bit, lanes.played, parameters)
        lanes.work[0] += 1.0
    unlock(tree.counts, LOCK)
    for move in range(len(lanes.played)):
        lanes.played[move] &= ~due
    lanes.mask[ACTIVE] &= ~due
