"""How much better a role does in playouts that chooses by move averages, where the other one moves at random.

Where it does much better, playouts in which both choose by them are worth more, mostly. That shows within a
second, long before matches of two searches can tell which one is the better.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from agent.search.engine import Limit, StopFlag, consider
from agent.search.tree.engine import TreeSearch
from agent.search.tree.move_averages import DRAWS
from games.machine import State

LEARNING = 0.6
"""Share of the time after which results count: a search begins by getting to know the moves. Set by hand; not tuned."""


def gain_by_averages(
    make_tree: Callable[[int, Random], TreeSearch], state: State, seconds: float, stop: StopFlag, random: Random
) -> float | None:
    """The share of all points by which a role is ahead on average as it chooses by move averages alone, -1..1.

    From two searches of `state`, a game of two roles, that take so many seconds together; each role is the one that
    chooses in one of them. None where it is stopped, or a search had no results.
    """
    ahead = 0.0
    for role in (0, 1):
        tree = make_tree(0, random)
        tree.draw(DRAWS, only=role)
        tree.begin(state)
        counts, totals = [], []
        for share in (LEARNING, 1.0 - LEARNING):
            # What it would play does not matter.
            consider(tree, [()], Limit(share * seconds / 2), stop)
            count, total = tree.results()
            counts.append(count)
            totals.append(total)
        if stop[0] or counts[1] == counts[0]:
            return None
        goals = (totals[1] - totals[0]) / (counts[1] - counts[0])
        ahead += (goals[role] - goals[1 - role]) / 2
    return float(ahead)
