"""The one reader of a circuit's goal values: a role has a goal where exactly one of its values holds.

A sheet may derive no value for a role, or several at once; either way the role has no goal (see `StateMachine.goal`).
`evaluate_goals` leaves in each lane the values that are goals, in slots of their own; all others read only these.
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
    """Evaluates the goal program on `goal_slots` (uint64[n_goal_slots * W]), then enters which values are goals.

    `program` and the next three are `goal`, `goal_slot`, `first_goal` and `goal_role` of `CircuitPrograms`. One pass
    over a role's values finds the lanes in which two or more of them hold; there none of them is a goal.
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
    """The goal of each role in one lane, after `evaluate_goals` at W = 1; 0 for a role without.

    The first three are those of `CircuitPrograms`; `goal_slots` is uint64[n_goal_slots], `goals` float64[roles].
    """
    for role in range(len(goals)):
        goals[role] = 0.0
    bit = np.uint64(lane)
    for i in range(len(goal_value)):
        if (goal_slots[first_goal + i] >> bit) & ONE != ZERO:
            goals[goal_role[i]] = goal_value[i]


@inner_kernel()
def add_goals(first_goal, goal_role, goal_value, goal_slots, width, lanes, sums, squares):
    """Adds up the goals, and their squares, of the lanes of `lanes` (uint64[W]), after `evaluate_goals`.

    The first three are those of `CircuitPrograms`; `goal_slots` is uint64[n_goal_slots * W]; `sums` and `squares` are
    float64[roles]. A role without a goal gets 0 points.
    """
    words = len(width)
    for i in range(len(goal_value)):
        count = 0
        for w in range(words):
            count += popcount(goal_slots[(first_goal + i) * words + w] & lanes[w])
        sums[goal_role[i]] += count * goal_value[i]
        squares[goal_role[i]] += count * goal_value[i] * goal_value[i]
