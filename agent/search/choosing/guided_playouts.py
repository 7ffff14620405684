"""Gain of choosing by move averages in playouts, against a role that moves at random.

Where one role gains much, playouts in which both choose so are mostly better. This shows within a second, long before
matches of two searches decide.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from agent.search.engine import Limit, StopFlag, consider
from agent.search.tree.engine import TreeSearch
from agent.search.tree.move_averages import DRAWS
from games.machine import State

LEARNING = 0.6
"""Share of the time before results count: a search first learns the averages."""


def gain_by_averages(
    make_tree: Callable[[int, Random], TreeSearch], state: State, seconds: float, stop: StopFlag, random: Random
) -> float | None:
    """Returns the share of all points, -1..1, by which a role is ahead on average if it alone chooses by move averages.

    Searches `state`, a game of two roles, once for each role, for that many seconds together. None if it is stopped, or
    a search had no results.
    """
    ahead = 0.0
    for role in (0, 1):
        tree = make_tree(0, random)
        tree.draw(DRAWS, only=role)
        tree.begin(state)
        counts, totals = [], []
        for share in (LEARNING, 1.0 - LEARNING):
            # The move does not matter.
            consider(tree, [()], Limit(share * seconds / 2), stop)
            count, total = tree.results()
            counts.append(count)
            totals.append(total)
        if stop[0] or counts[1] == counts[0]:
            return None
        goals = (totals[1] - totals[0]) / (counts[1] - counts[0])
        ahead += (goals[role] - goals[1 - role]) / 2
    return float(ahead)
