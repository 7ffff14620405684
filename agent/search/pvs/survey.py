"""Whether a game suits alpha-beta: two players who take turns and do not win together."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from agent.search.pvs.workspace import MAX_CHILDREN
from games.gdl.running.machine import CircuitMachine
from games.roles import are_two_players

OPPOSED, UNRELATED = -0.5, 0.1
"""Highest correlation of both roles' goals at which the game counts as one role against the other, and at which it does
if goals never add up to more than TOTAL. Random play correlates little where draws are worth nothing, or both collect
points."""
TOTAL = 100
"""Highest sum of worths in a game of UNRELATED goals. With larger sums a search for the difference would give away
points for nothing."""
MATCHES = 64
"""Most random matches looked at."""
MAX_PLIES = 400
"""Limit on the plies of a match, for the survey and for all matches played to learn or to compare."""


class Survey(NamedTuple):
    """Findings of random matches of a game."""

    turns: bool
    """Whether two roles never had a choice at once."""
    opposed: bool
    """Whether the roles play against one another."""
    branching: float
    """Mean number of moves where there is a choice."""
    most_moves: int
    plies: float
    """Mean length of a match."""

    @property
    def suits(self) -> bool:
        """Whether alpha-beta can play the game."""
        return self.turns and self.opposed and self.most_moves <= MAX_CHILDREN


Goal = TypeVar("Goal", float, NDArray[np.float64])


def share_of_points(first: Goal, second: Goal) -> Goal:
    """Returns role 0's share of a match's points, 0..1, by the difference of both roles' worths (0..100)."""
    return 0.5 + (first - second) / 200


def survey(machine: CircuitMachine) -> Survey | None:
    """Looks at random matches; None unless the game has two players, and no random role."""
    if not are_two_players(machine.roles):
        return None
    positions = machine.sample.first(MATCHES)
    legal, _ = machine.legal_of(positions.states[~positions.terminal])
    middle = int(machine.programs.role_start[1])
    counts = np.stack([legal[:, :middle].sum(axis=1), legal[:, middle:].sum(axis=1)])
    ends = positions.states[positions.terminal]
    chosen = counts.max(axis=0)
    chosen = chosen[chosen > 1]
    return Survey(
        bool((counts.min(axis=0) <= 1).all()),
        _opposed(machine.worths_of(ends)),
        float(chosen.mean()) if len(chosen) else 1.0,
        int(chosen.max(initial=1)),
        len(positions.states) / len(np.unique(positions.match)),
    )


def _opposed(goals: NDArray[np.float64]) -> bool:
    """Whether going for the difference of goals suits both roles, by the worths (n, 2) of finished matches."""
    if not len(goals):
        return False
    limited = bool((goals.sum(axis=1) <= TOTAL).all())
    deviation = goals.std(axis=0)
    if deviation.min() == 0:
        return limited
    covariance = float(((goals[:, 0] - goals[:, 0].mean()) * (goals[:, 1] - goals[:, 1].mean())).mean())
    return covariance <= (UNRELATED if limited else OPPOSED) * float(deviation.prod())
