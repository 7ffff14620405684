"""The only reader of a circuit's goal values: a role has a goal where exactly one of its values holds.

Where a sheet derives no value for a role, or several, the role has no goal (see `StateMachine.goal`). In slots of
their own, `evaluate_goals` marks the values that are goals; all else reads only these.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits.compiling import KERNEL
from games.bits.inner import inner_kernel
from games.bits.words import popcount
from games.gdl.running.kernels import ONE, ZERO, evaluate


@njit(**KERNEL)
def evaluate_goals(program, goal_slot, first_goal, goal_role, goal_slots, width):
    """Evaluates the goal program on `goal_slots` (uint64[n_goal_slots * W]), then marks the values that are goals.

    `program` and the next three are `goal`, `goal_slot`, `first_goal` and `goal_role` of `CircuitPrograms`. In lanes
    where two or more of a role's values hold, none of them is a goal.
    """
    evaluate(program, goal_slots, width)
    words = len(width)
    n = len(goal_slot)
    begin = np.int64(0)
    while begin < n:
        end = begin + 1
        while end < n and goal_role[end] == goal_role[begin]:
            end += 1
        for w in range(words):
            once = ZERO
            twice = ZERO
            for i in range(begin, end):
                word = goal_slots[goal_slot[i] * words + w]
                twice |= once & word
                once |= word
            for i in range(begin, end):
                goal_slots[(first_goal + i) * words + w] = goal_slots[goal_slot[i] * words + w] & ~twice
        begin = end


@inner_kernel()
def read_goals(first_goal, goal_role, goal_value, goal_slots, lane, goals):
    """Reads each role's goal in one lane, after `evaluate_goals` at W = 1; the last value for a role without.

    The first three are those of `CircuitPrograms`; `goal_slots` is uint64[n_goal_slots], `goals` float64[roles].
    """
    for role in range(len(goals)):
        goals[role] = goal_value[len(goal_role)]
    bit = np.uint64(lane)
    for i in range(len(goal_role)):
        if (goal_slots[first_goal + i] >> bit) & ONE != ZERO:
            goals[goal_role[i]] = goal_value[i]


@inner_kernel()
def add_goals(first_goal, goal_role, goal_value, goal_slots, width, lanes, sums, squares):
    """Adds the goals of the lanes in `lanes` (uint64[W]), and their squares, after `evaluate_goals`.

    The first three are those of `CircuitPrograms`; `goal_slots` is uint64[n_goal_slots * W]; `sums` and `squares` are
    float64[roles]. A role without a goal gets 0 points.
    """
    words = len(width)
    for i in range(len(goal_role)):
        count = 0
        for w in range(words):
            count += popcount(goal_slots[(first_goal + i) * words + w] & lanes[w])
        sums[goal_role[i]] += count * goal_value[i]
        squares[goal_role[i]] += count * goal_value[i] * goal_value[i]
