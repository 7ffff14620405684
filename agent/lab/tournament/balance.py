"""Balanced openings: those that a short search does not take to be decided."""

from __future__ import annotations

from agent.lab.tournament.openings import Opening, after
from agent.search.engine import Limit, consider
from agent.search.registry import engines_for
from games.machine import StateMachine

JUDGING_SECONDS = 0.25
"""Seconds of search for each opening."""

BALANCE = (40.0, 60.0)
"""Values of a balanced opening for the first role, on the scale 0..100."""


def is_balanced(machine: StateMachine, opening: Opening) -> bool:
    """Whether the engine that the agent plays this game with takes the position after an opening to be even.

    The game is one of two players.
    """
    state = after(machine, opening)
    legal = machine.legal(state, 0)
    if not legal:
        return False
    engine = next(engines_for(machine, 0))
    engine.begin(state)
    score = consider(engine, legal, Limit(JUDGING_SECONDS)).score
    return score is not None and BALANCE[0] <= machine.goal_scale.worth(score.goal) <= BALANCE[1]
