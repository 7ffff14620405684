"""Evidence of a match's steps: from a possible state before a step to the possible states after it.

Each successor has a likelihood: that of the joint move, as drawn from the legal ones, times that of the message given
this joint move.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from agent.playing.messages import JointMove
from games.machine import NO_MOVE, IllegalMoveError, State, StateMachine, Term

REPLACED = 0.05
"""Likelihood that a manager makes another move for us although ours was legal, but came too late or was lost."""

MOST_JOINT_MOVES = 2000
"""Most joint moves of a state that are all enumerated."""

SAMPLED_JOINT_MOVES = 300
"""Joint moves drawn from a state with more than `MOST_JOINT_MOVES`."""

MOST_MISSED = 4
"""Most joint moves missed in a row that are considered: the number of states grows exponentially."""

FEWER = 1.5
"""Loss of log-likelihood for each joint move fewer than the time passed tells."""

MORE = 0.8
"""Loss of log-likelihood for each joint move more. Less than `FEWER`: a manager may not wait for a player that it
cannot reach."""

Successors: TypeAlias = Iterable[tuple[State, float]]
"""States with their likelihoods. A state may occur several times."""

Perceive: TypeAlias = Callable[[frozenset[Term], JointMove], frozenset[Term]]
"""Gives the own role's percepts of a joint move in the state of these facts."""


class RoleView:
    """A machine from one role's view, with a cache of legal moves."""

    def __init__(self, machine: StateMachine, role: int, perceive: Perceive | None, rng: random.Random) -> None:
        self.machine = machine
        self.role = role
        self.perceive = perceive
        self.rng = rng
        self.sampled = False
        """Whether some joint moves were left out since the last reset."""
        self._legal: dict[State, list[list[Term]]] = {}

    def legal(self, state: State) -> list[list[Term]]:
        """Returns the legal moves of every role; empty if a role has none."""
        found = self._legal.get(state)
        if found is None:
            roles = range(len(self.machine.roles))
            found = self._legal[state] = [self.machine.legal(state, role) for role in roles]
        return found

    def forget(self) -> None:
        """Empties the cache."""
        self._legal.clear()


class BeliefStep(Protocol):
    """Evidence of one step."""

    def successors(self, view: RoleView, state: State) -> Successors:
        """Returns the states that may follow this one; none if it does not fit."""


@dataclass(frozen=True, slots=True)
class Told:
    """The joint move itself."""

    moves: JointMove
    answered: Term | None
    """Our answer; None if unknown."""

    def successors(self, view: RoleView, state: State) -> list[tuple[State, float]]:
        likelihood = self._likelihood(view, state)
        if not likelihood:
            return []
        try:
            return [(view.machine.next(state, self.moves), likelihood)]
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

    own: Term | None
    """The own move; None if unknown."""
    percepts: frozenset[Term] | None
    """The percepts; None if unknown."""

    def successors(self, view: RoleView, state: State) -> Successors:
        machine = view.machine
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
        joint_moves: Iterator[JointMove] = itertools.product(*legal)
        if count > MOST_JOINT_MOVES:
            view.sampled = True
            count = SAMPLED_JOINT_MOVES
            joint_moves = (tuple(map(view.rng.choice, legal)) for _ in range(count))
        looking = self.percepts is not None and view.perceive is not None
        facts = machine.facts(state) if looking else frozenset()
        found: list[tuple[State, float]] = []
        for joint_move in joint_moves:
            if looking and view.perceive is not None and view.perceive(facts, joint_move) != self.percepts:
                continue
            found.append((machine.next(state, joint_move), likelihood / count))
        return found


@dataclass(frozen=True, slots=True)
class Resumed:
    """A joint move before which others may have been missed."""

    told: Told
    expected: float
    """Number of missed joint moves, by the time passed."""
    least: int = 0
    """Least number of missed joint moves."""
    more: int = 2
    """Largest excess over `expected` that is considered."""

    @property
    def most(self) -> int:
        """Largest number of missed joint moves."""
        return max(self.least, min(MOST_MISSED, math.ceil(self._expected) + self.more))

    def prior(self, missed: int) -> float:
        """Returns the prior likelihood of a number of missed joint moves."""
        more = missed - self._expected
        return math.exp(-MORE * more if more > 0 else FEWER * more)

    def steps(self, missed: int) -> list[BeliefStep]:
        """Returns the steps with a number of missed joint moves. Our answer was meant for the first of them."""
        if not missed:
            return [self.told]
        hidden = [Hidden(self.told.answered if step == 0 else None, None) for step in range(missed)]
        return [*hidden, Told(self.told.moves, None)]

    def doubted(self) -> Resumed:
        """Returns the same with weaker assumptions: our answer is unknown, and the time passed tells little."""
        return replace(self, told=replace(self.told, answered=None), least=0, more=self.more + 1)

    @property
    def _expected(self) -> float:
        return min(self.expected, MOST_MISSED)


Evidence: TypeAlias = BeliefStep | Resumed
"""Evidence from one message."""
