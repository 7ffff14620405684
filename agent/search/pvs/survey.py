"""Whether a game is one for alpha-beta: two players who take turns, and do not win together."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from agent.search.pvs.workspace import MAX_CHILDREN
from games.gdl.running.machine import CircuitMachine
from games.roles import is_random_role

MATCHES = 64
"""Random matches that are looked at. Set by hand; not tuned."""
OPPOSED, UNRELATED = -0.5, 0.1
"""Highest correlations of the goals of both roles at which one wins what the other loses, and at which each plays for
itself. In random play it is near 0 where draws are worth nothing, or both collect points. Set by hand; not tuned."""
TOTAL = 100
"""Where goals are not opposed, no end may be worth more to both together: what one could get is then not given to the
other for nothing by a search that goes for the difference."""
MAX_PLIES = 400
"""Longer matches are looked at up to here, by the survey and by all who play matches to learn or to compare. Set by
hand; not tuned."""


class Survey(NamedTuple):
    """What random matches have shown of a game."""

    turns: bool
    """Whether never two roles had a choice at once."""
    opposed: bool
    """Whether the roles play against one another."""
    branching: float
    """Mean number of moves where there was a choice."""
    most_moves: int
    plies: float
    """Mean length of a match."""

    @property
    def suits(self) -> bool:
        """Whether alpha-beta can play the game."""
        return self.turns and self.opposed and self.most_moves <= MAX_CHILDREN


Goal = TypeVar("Goal", float, NDArray[np.float64])


def share_of_points(first: Goal, second: Goal) -> Goal:
    """What role 0 gets of a match, 0..1, by the difference of the goals (0..100) of both roles."""
    return 0.5 + (first - second) / 200


def survey(machine: CircuitMachine, seed: int = 1) -> Survey | None:
    """Plays random matches; None for a game that has not two players (nature being none)."""
    if len(machine.roles) != 2 or any(map(is_random_role, machine.roles)):
        return None
    positions = machine.random_matches(MATCHES, seed, max_plies=MAX_PLIES)
    legal, _ = machine.legal_of(positions.states[~positions.terminal])
    middle = int(machine.programs.role_start[1])
    counts = np.stack([legal[:, :middle].sum(axis=1), legal[:, middle:].sum(axis=1)])
    ends = positions.states[positions.terminal]
    chosen = counts.max(axis=0)
    chosen = chosen[chosen > 1]
    return Survey(
        bool((counts.min(axis=0) <= 1).all()),
        _opposed(np.maximum(machine.goals_of(ends), 0).astype(np.float64)),
        float(chosen.mean()) if len(chosen) else 1.0,
        int(chosen.max(initial=1)),
        len(positions.states) / MATCHES,
    )


def _opposed(goals: NDArray[np.float64]) -> bool:
    """Whether goals (n, 2) of finished matches are such that going for the difference is what each role should do."""
    if not len(goals):
        return False
    limited = bool((goals.sum(axis=1) <= TOTAL).all())
    deviation = goals.std(axis=0)
    if deviation.min() == 0:
        return limited
    covariance = float(((goals[:, 0] - goals[:, 0].mean()) * (goals[:, 1] - goals[:, 1].mean())).mean())
    return covariance <= (UNRELATED if limited else OPPOSED) * float(deviation.prod())
