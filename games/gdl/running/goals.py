"""The one reader of a circuit's goal values: a role has a goal where exactly one of its values holds.

A sheet may derive no value for a role, or several at once; either way the role has no goal (see `StateMachine.goal`).
`evaluate_goals` leaves in each lane the values that are goals, in slots of their own; all others read only these.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits.compiling import KERNEL
from games.bits.words import popcount
from games.gdl.running.kernels import ONE, ZERO, evaluate


@njit(**KERNEL)
def evaluate_goals(programs, goal_slots, width):
    """Evaluates the goal program on `goal_slots` (uint64[n_goal_slots * W]), then enters which values are goals.

    One pass over a role's values finds the lanes in which two or more of them hold; there none of them is a goal.
    """
    evaluate(programs.goal, goal_slots, width)
    words = len(width)
    n = len(programs.goal_slot)
    begin = 0
    while begin < n:
        end = begin + 1
        while end < n and programs.goal_role[end] == programs.goal_role[begin]:
            end += 1
        for w in range(words):
            once = ZERO
            twice = ZERO
            for i in range(begin, end):
                word = goal_slots[programs.goal_slot[i] * words + w]
                twice |= once & word
                once |= word
            for i in range(begin, end):
                goal_slots[(programs.first_goal + i) * words + w] = (
                    goal_slots[programs.goal_slot[i] * words + w] & ~twice
                )
        begin = end


@njit(**KERNEL)
def read_goals(programs, goal_slots, lane, missing, goals):
    """The goal of each role in one lane, after `evaluate_goals` at W = 1; `missing` (an integer) for a role without.

    `goals` is [roles], of int32 or float64.
    """
    goals[:] = missing
    for i in range(len(programs.goal_value)):
        if (goal_slots[programs.first_goal + i] >> np.uint64(lane)) & ONE != ZERO:
            goals[programs.goal_role[i]] = programs.goal_value[i]


@njit(**KERNEL)
def add_goals(programs, goal_slots, width, lanes, sums, squares):
    """Adds up the goals, and their squares, of the lanes of `lanes` (uint64[W]), after `evaluate_goals`.

    `sums` and `squares` are float64[roles]. A role without a goal gets 0 points.
    """
    words = len(width)
    for i in range(len(programs.goal_value)):
        count = 0
        for w in range(words):
            count += popcount(goal_slots[(programs.first_goal + i) * words + w] & lanes[w])
        sums[programs.goal_role[i]] += count * programs.goal_value[i]
        squares[programs.goal_role[i]] += count * programs.goal_value[i] * programs.goal_value[i]
