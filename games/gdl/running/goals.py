"""The kernels that read a circuit's goal values: a role's goal is the greatest that holds (see `StateMachine.goal`).

A role's values are in ascending order. The functions read them after the goal program has been evaluated.
"""

from __future__ import annotations

import numpy as np

from games.bits.inner import inner_kernel
from games.bits.words import popcount
from games.gdl.running.kernels import ONE, ZERO


@inner_kernel()
def read_goals(goal_slot, goal_role, goal_value, goal_slots, lane, goals):
    """Reads each role's goal in one lane, at W = 1; the last of `goal_value` for a role without.

    The first three are those of `CircuitPrograms`; `goal_slots` is uint64[n_goal_slots], `goals` float64[roles].
    """
    for role in range(len(goals)):
        goals[role] = goal_value[len(goal_role)]
    bit = np.uint64(lane)
    for i in range(len(goal_role)):
        if (goal_slots[goal_slot[i]] >> bit) & ONE != ZERO:
            goals[goal_role[i]] = goal_value[i]


@inner_kernel()
def add_goals(goal_slot, goal_role, goal_value, goal_slots, width, lanes, sums, squares):
    """Adds the goals of the lanes in `lanes` (uint64[W]), and their squares.

    The first three are those of `CircuitPrograms`; `goal_slots` is uint64[n_goal_slots * W]; `sums` and `squares` are
    float64[roles]. A role without a goal gets 0 points.
    """
    words = len(width)
    for w in range(words):
        rest = ZERO
        for i in range(len(goal_role) - 1, -1, -1):
            role = goal_role[i]
            if i + 1 == len(goal_role) or goal_role[i + 1] != role:
                rest = lanes[w]
            word = goal_slots[goal_slot[i] * words + w] & rest
            rest &= ~word
            total = popcount(word) * goal_value[i]
            sums[role] += total
            squares[role] += total * goal_value[i]
