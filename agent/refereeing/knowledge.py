"""A person's knowledge of a match in a game of imperfect information."""

from __future__ import annotations

from agent.playing.belief import Belief
from agent.playing.evidence import Hidden, Perceive
from agent.record.match import Sight
from games.machine import State, StateMachine, Term

SECONDS = 0.5
"""Seconds for finding the states that fit a step."""


class Knowledge:
    """The knowledge of one role, from its own moves and percepts alone."""

    def __init__(self, machine: StateMachine, state: State, role: int, perceive: Perceive) -> None:
        """`state` is the first one, which all roles know; `perceive` gives the role's percepts."""
        self._machine = machine
        # A state that is almost certain is no certainty.
        self._belief: Belief | None = Belief(machine, role, {state: 1.0}, perceive, dominant=1.0)

    def follow(self, move: Term, percepts: tuple[Term, ...]) -> Sight:
        """Takes in a step: the own move, and what was seen of the joint move. Raises `GameError`."""
        if self._belief is not None and not self._belief.follow([Hidden(move, frozenset(percepts))], SECONDS):
            # There are too many states to find one that fits.
            self._belief = None
        return self.sight()

    def sight(self) -> Sight:
        """Returns what is known now. Raises `GameError`."""
        if self._belief is None:
            return Sight(None, 0, sure=False)
        states = [frozenset(self._machine.facts(state)) for state in self._belief.weights]
        return Sight(frozenset.intersection(*states), len(states), self._belief.exhaustive)
