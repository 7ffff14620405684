"""Evidence of a match's steps: from a possible state before a step to the possible states after it.

Each successor has a likelihood: that of the joint move, as drawn from the legal ones, times that of the message given
this joint move.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TypeAlias

from agent.playing.messages import JointMove
from agent.playing.situation import legal_moves
from games.machine import NO_MOVE, IllegalMoveError, State, StateMachine, Term

REPLACED = 0.05
"""Likelihood that a manager makes another move for us although ours was legal, but came too late or was lost."""

MOST_JOINT_MOVES = 2000
"""Most joint moves of a state that are all enumerated."""

SAMPLED_JOINT_MOVES = 300
"""Joint moves drawn from a state with more than `MOST_JOINT_MOVES`."""

MOST_CACHED = 10_000
"""States whose legal moves are kept, and states that follow: a bound on memory."""

NONE_MISSED = (1.0,)
SOME_MISSED = (0.0, 1.0, 1.0, 1.0, 1.0)
ANY_MISSED = (1.0, 1.0, 1.0, 1.0, 1.0)
"""Prior likelihoods of each number of missed joint moves. More than four are not considered: the number of states grows
exponentially."""

Successors: TypeAlias = list[tuple[State, float]]
"""States with their likelihoods. A state may occur several times."""

Perceive: TypeAlias = Callable[[frozenset[Term], JointMove], frozenset[Term]]
"""Gives the own role's percepts of a joint move in the state of these facts."""


class RoleView:
    """A machine from one role's view, with a cache: the same histories are walked again and again."""

    def __init__(self, machine: StateMachine, role: int, perceive: Perceive | None, rng: random.Random) -> None:
        self.machine = machine
        self.role = role
        self.perceive = perceive
        self.rng = rng
        self.complete = True
        """Whether no history was left out since this was last set."""
        self.legal = lru_cache(MOST_CACHED)(partial(legal_moves, machine))
        """Returns the legal moves of every role; empty if a role has none."""
        self.next = lru_cache(MOST_CACHED)(machine.next)
        """See `StateMachine.next`."""

    def forget(self) -> None:
        """Empties the cache."""
        self.legal.cache_clear()
        self.next.cache_clear()


@dataclass(frozen=True, slots=True)
class Told:
    """The joint move itself, before which others may have been missed."""

    moves: JointMove
    answered: Term | None = None
    """Our answer, meant for the first joint move that was missed, or else for this one; None if unknown."""
    missed: tuple[float, ...] = NONE_MISSED
    """Prior likelihood of each number of missed joint moves."""
    outage: bool = False
    """Whether there was an outage before it: more may have been missed than `missed` says."""

    def weaker(self) -> Told:
        """Returns the same with weaker assumptions."""
        return replace(self, answered=None, missed=ANY_MISSED) if self.outage else self

    def successors(self, view: RoleView, state: State, most: int) -> Successors:
        """Returns the state that follows from this one if nothing was missed; none if it does not fit."""
        likelihood = self._likelihood(view, state)
        if not likelihood:
            return []
        try:
            return [(view.next(state, self.moves), likelihood)]
        except IllegalMoveError:
            return []

    def _likelihood(self, view: RoleView, state: State) -> float:
        if view.machine.terminal(state):
            return 0.0
        likelihood = 1.0
        for role, (move, moves) in enumerate(zip(self.moves, view.legal(state), strict=True)):
            if not moves:
                continue
            if move not in moves:
                return 0.0
            if role != view.role or self.answered is None:
                likelihood /= len(moves)
            elif move != self.answered:
                # Our answer was illegal, which tells of the state, or it was lost.
                likelihood *= (REPLACED if self.answered in moves else 1.0) / len(moves)
        return likelihood


@dataclass(frozen=True, slots=True)
class Hidden:
    """A joint move of which the own part is known at most, with the percepts."""

    own: Term | None = None
    """The own move; None if unknown."""
    percepts: frozenset[Term] | None = None
    """The percepts; None if unknown."""

    def successors(self, view: RoleView, state: State, most: int) -> Successors:
        """Returns the states that may follow this one, or a sample of `most`; none if it does not fit."""
        machine, perceive = view.machine, view.perceive
        if machine.terminal(state):
            return []
        legal = [moves or [NO_MOVE] for moves in view.legal(state)]
        likelihood = 1.0
        if self.own is not None:
            if self.own in legal[view.role]:
                legal[view.role] = [self.own]
            else:
                likelihood = REPLACED
        count = math.prod(map(len, legal))
        if count <= MOST_JOINT_MOVES:
            joint_moves = list(itertools.product(*legal))
        else:
            view.complete = False
            joint_moves = [tuple(map(view.rng.choice, legal)) for _ in range(SAMPLED_JOINT_MOVES)]
        drawn = len(joint_moves)
        if self.percepts is not None and perceive is not None:
            facts = machine.facts(state)
            joint_moves = [joint_move for joint_move in joint_moves if perceive(facts, joint_move) == self.percepts]
        likelihood *= len(joint_moves) / drawn
        if len(joint_moves) > most:
            view.complete = False
            joint_moves = view.rng.sample(joint_moves, most)
        return [(view.next(state, joint_move), likelihood / len(joint_moves)) for joint_move in joint_moves]


Step: TypeAlias = Told | Hidden
"""Evidence of one joint move."""
