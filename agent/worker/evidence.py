"""What a player is told about one step of a match, as a step from the states that were possible to those that are.

Each kind of evidence says, for a state before the step, which states may follow, each with its likelihood: that of the
joint move leading there, taken as chosen by chance from what is legal, and of what was told given that joint move.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from agent.worker.messages import JointMove
from games.machine import NO_MOVE, IllegalMoveError, State, StateMachine, Term

REPLACED = 0.05
"""How likely it is that a manager makes another move for us although ours was legal: it came too late, or was lost.
Set by hand; not tuned."""

MOST_JOINT_MOVES = 2000
"""Joint moves of one state that are all looked at; of more, `SAMPLED_JOINT_MOVES` are chosen by chance. Both set by
hand; not tuned."""

SAMPLED_JOINT_MOVES = 300

MOST_MISSED = 4
"""Joint moves that may have been missed one after the other; set by hand, for the number of states grows with each as
that of the positions in a search."""

FEWER = 1.5
"""How much less likely it is, by e to the power of this, that one joint move less was missed than time tells. Set by
hand; not tuned."""

MORE = 0.8
"""The same for one more: less of a surprise, for a manager that cannot reach us may not wait for us. Set by hand; not
tuned."""

Successors: TypeAlias = Iterable[tuple[State, float]]
"""States, each with a likelihood; the same state may be there several times."""

Perceive: TypeAlias = Callable[[frozenset[Term], JointMove], frozenset[Term]]
"""What the own role perceives of a joint move that is made in the state of these facts."""


class View:
    """A machine as one role sees it, with the legal moves of states that were looked at."""

    def __init__(self, machine: StateMachine, role: int, perceive: Perceive | None, rng: random.Random) -> None:
        self.machine = machine
        self.role = role
        self.perceive = perceive
        self.rng = rng
        self.sampled = False
        """Whether some joint moves were left out since this was last reset."""
        self._legal: dict[State, list[list[Term]]] = {}

    def legal(self, state: State) -> list[list[Term]]:
        """The legal moves of every role; empty for one to which the rules leave none."""
        found = self._legal.get(state)
        if found is None:
            roles = range(len(self.machine.roles))
            found = self._legal[state] = [self.machine.legal(state, role) for role in roles]
        return found

    def forget(self) -> None:
        """Drops the legal moves of states that are past."""
        self._legal.clear()


class Step(Protocol):
    """What was told about one step."""

    def successors(self, view: View, state: State) -> Successors:
        """The states that may follow this one; none where it does not fit."""


@dataclass(frozen=True, slots=True)
class Told:
    """The joint move itself."""

    moves: JointMove
    answered: Term | None
    """What we had answered; None where that is not known."""

    def successors(self, view: View, state: State) -> list[tuple[State, float]]:
        likelihood = self._likelihood(view, state)
        if not likelihood:
            return []
        try:
            return [(view.machine.next(state, self.moves), likelihood)]
        except IllegalMoveError:
            return []

    def _likelihood(self, view: View, state: State) -> float:
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
                # Either our answer was illegal in this state, which shows which state it was, or it was lost.
                likelihood *= (REPLACED if self.answered in moves else 1.0) / len(moves)
        return likelihood


@dataclass(frozen=True, slots=True)
class Hidden:
    """The own move at most, and what was perceived of the others'."""

    own: Term | None
    """None where not even that is known."""
    percepts: frozenset[Term] | None
    """None where that is not known."""

    def successors(self, view: View, state: State) -> Successors:
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
    """How many, as far as the time that passed tells."""
    least: int = 0
    """How many at least."""
    more: int = 2
    """How many more than expected are reckoned with."""

    @property
    def most(self) -> int:
        """How many at most."""
        return max(self.least, min(MOST_MISSED, math.ceil(self._expected) + self.more))

    def prior(self, missed: int) -> float:
        """How likely so many are, before it is looked at what is legal."""
        more = missed - self._expected
        return math.exp(-MORE * more if more > 0 else FEWER * more)

    def steps(self, missed: int) -> list[Step]:
        """The same with so many missed, step by step: of the first, our answer was to be part."""
        if not missed:
            return [self.told]
        hidden = [Hidden(self.told.answered if step == 0 else None, None) for step in range(missed)]
        return [*hidden, Told(self.told.moves, None)]

    def doubted(self) -> Resumed:
        """The same for those who have found that what they took for granted was wrong: nothing is known of what we
        answered, nor was the time that passed worth much."""
        return replace(self, told=replace(self.told, answered=None), least=0, more=self.more + 1)

    @property
    def _expected(self) -> float:
        return min(self.expected, MOST_MISSED)


Evidence: TypeAlias = Step | Resumed
"""What one message tells."""
