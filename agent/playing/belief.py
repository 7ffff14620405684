"""The possible states of a match whose state is not known.

There are two reasons: PLAYs were missed, and managers send only the last joint move; or the game is one of imperfect
information (GDL-II). The match is followed as a set of weighted states, or particles, that fit all evidence since the
last known state (Bayes; the others are taken to move at random). Few states are all enumerated; of many, a sample is
followed (a particle filter; for such games see Schofield, Cerexhe, Thielscher: HyperPlay, a solution to general game
playing with imperfect information, AAAI 2012), and completed later by walks from the last known state. A state is known
again when almost nothing else is possible.

It may still be wrong: more PLAYs were missed than considered, or our answer was not executed. So the evidence is kept
for some time. If a later message contradicts the state, all of it is considered again, with weaker assumptions
(`Belief.reconsider`; for its benefit see docs/experiments.md).
"""

from __future__ import annotations

import contextlib
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from agent.playing.evidence import Hidden, Perceive, RoleView, Step, Told
from games.machine import GameError, Interrupted, State, StateMachine, Term

Weights: TypeAlias = dict[State, float]
"""States with their probabilities, or with numbers in proportion to them."""

LIMIT = 1000
"""Number of states at which the search for further ones stops."""

MOST = 1 << 14
"""Number of states followed by all walks together at which there is no further one."""

DOMINANT = 0.995
"""Probability at which players take a state to be known. An illegal move shows if it is wrong (`Belief.reconsider`)."""

SUPPORT = 0.0003
"""Largest difference in the probability of being legal between a move to choose from and the safest one. Over all turns
of a match, an illegal move stays improbable."""

PAST = 100
"""Steps for which an outage is remembered."""

GUESSED = 1e-9
"""Weight of a guess, in states followed."""


@dataclass(slots=True)
class _Evidence:
    """A step, and what keeps the weights of all walks comparable."""

    step: Step
    scale: float | None = None
    """Factor for the weights after the step; None until a state was found there."""


class Belief:
    """The possible states of a match, for one role."""

    def __init__(
        self,
        machine: StateMachine,
        role: int,
        weights: Weights,
        perceive: Perceive | None = None,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
        dominant: float = DOMINANT,
    ) -> None:
        """See `begin`. `clock`, in seconds, measures deadlines; `dominant` is the probability at which a state is taken
        to be known."""
        self._dominant = dominant
        self._rng = rng or random.Random()
        self._view = RoleView(machine, role, perceive, self._rng)
        self._clock = clock
        self.weights: Weights
        """Possible states with their probabilities, whose sum is 1."""
        self.exhaustive: bool
        """Whether no possible state is missing."""
        self.begin(weights)

    @property
    def sure(self) -> bool:
        """Whether the state is known."""
        return self.exhaustive and len(self.weights) == 1

    @property
    def likeliest(self) -> State:
        """Most probable state."""
        return max(self.weights, key=self.weights.__getitem__)

    def legal(self, state: State) -> list[list[Term]]:
        """Returns the legal moves of every role in a state."""
        return self._view.legal(state)

    def begin(self, weights: Weights) -> None:
        """Begins anew with a known state, or with some that are taken to be all."""
        total = sum(weights.values())
        self._roots = {state: weight / total for state, weight in weights.items()}
        """Last known state, or states; an earlier one while an outage is remembered."""
        self._evidence: list[_Evidence] = []
        """Evidence since then."""
        self._effort = 1.0
        """States followed by now, by which the weights are compared with those of further walks."""
        self.weights, self.exhaustive = self._roots, True
        self._view.forget()

    def follow(self, steps: Sequence[Step], seconds: float) -> bool:
        """Takes steps in; returns whether they fit. Changes nothing if not.

        Takes about `seconds`, and twice as long where none of the known states seems to fit, but always follows one.
        """
        new = list(map(_Evidence, steps))
        found, walked, complete = self._search(self.weights, new, self._limit(seconds), least=1)
        evidence = [*self._evidence, *new]
        if not found:
            return not (complete and self.exhaustive) and self._restart(evidence, seconds)
        self._evidence = evidence
        if not self.exhaustive:
            scale = self._effort / walked
            found = {state: weight * scale for state, weight in found.items()}
        self._take(found, complete and self.exhaustive)
        return True

    def reconsider(self, step: Told, seconds: float) -> bool:
        """Takes in a step that contradicts the belief: considers all that is remembered again, with weaker assumptions.

        Returns whether it fits; False, too, if no outage is remembered.
        """
        steps = [*(evidence.step for evidence in self._evidence), step]
        if not any(isinstance(step, Told) and step.outage for step in steps):
            return False
        weaker = [step.weaker() if isinstance(step, Told) else step for step in steps]
        return self._restart(list(map(_Evidence, weaker)), seconds)

    def refine(self, stopped: Callable[[], bool]) -> bool:
        """Looks for further states that fit, until there are enough or `stopped`; returns whether it found any."""
        if self.exhaustive:
            return False
        before = len(self.weights)
        found, _, complete = self._search(self._roots, self._evidence, stopped)
        if not complete:
            for state, weight in self.weights.items():
                found[state] = found.get(state, 0.0) + weight * self._effort
        if found:
            self._take(found, complete)
        return self.exhaustive or len(self.weights) > before

    def moves(self, seconds: float) -> list[tuple[Term, float]]:
        """Returns the own moves with the probability that they are legal, highest first.

        Visits as many states as there is time for, the most probable first, and one at least.
        """
        deadline = self._clock() + seconds
        view, machine = self._view, self._view.machine
        support: dict[Term, float] = {}
        total = 0.0
        for state, weight in sorted(_shuffled(self.weights, self._rng), key=lambda pair: -pair[1]):
            if total and self._clock() > deadline:
                break
            if not machine.terminal(state):
                total += weight
                for move in view.legal(state)[view.role]:
                    support[move] = support.get(move, 0.0) + weight
        return sorted(((move, weight / total) for move, weight in support.items()), key=lambda pair: -pair[1])

    def safest_moves(self, seconds: float) -> tuple[list[Term], float]:
        """Returns the own moves that are most probably legal, and that probability."""
        moves = self.moves(seconds)
        if not moves:
            return [], 1.0
        best = moves[0][1]
        return [move for move, weight in moves if weight >= best - SUPPORT], best

    def sample(self, most: int) -> list[tuple[State, float]]:
        """Returns the possible states with their probabilities, some of them drawn at random where there are more."""
        # Asking changes nothing, so the belief's own generator is not used.
        return _shuffled(self.weights, random.Random(0))[:most]

    def is_over(self) -> bool:
        """Returns whether the match is over in all states."""
        return all(map(self._view.machine.terminal, self.weights))

    # --- following

    def _take(self, found: Weights, complete: bool) -> None:
        """Takes over the states found."""
        self._effort = sum(found.values())
        kept = found if len(found) <= LIMIT else dict(_shuffled(found, self._rng)[:LIMIT])
        total = sum(kept.values())
        self.weights = {state: weight / total for state, weight in kept.items()}
        self.exhaustive = complete and kept is found
        state = self.likeliest
        if self.exhaustive and self.weights[state] >= self._dominant:
            self.weights = {state: 1.0}
            steps = [evidence.step for evidence in self._evidence[-PAST:]]
            if not any(isinstance(step, Told) and step.outage for step in steps):
                self.begin(self.weights)

    def _restart(self, evidence: list[_Evidence], seconds: float) -> bool:
        """Follows the evidence from the root; returns whether it fits. Changes nothing if not."""
        found, _, complete = self._search(self._roots, evidence, self._limit(seconds))
        step = evidence[-1].step
        if not found and not complete and isinstance(step, Told):
            # Time was too short. The state after an illegal joint move tells at least which role is on turn.
            with contextlib.suppress(GameError):
                found = {self._view.next(self.likeliest, step.moves): GUESSED}
        if not found:
            return False
        self._evidence = evidence
        self._take(found, complete)
        return True

    def _limit(self, seconds: float) -> Callable[[], bool]:
        end = self._clock() + seconds
        return lambda: self._clock() > end

    def _search(
        self, start: Weights, evidence: Sequence[_Evidence], stopped: Callable[[], bool], least: int = 0
    ) -> tuple[Weights, int, bool]:
        """Follows the evidence in walk after walk, each of twice as many states, until none is left out, there are
        enough, or it is `stopped`; but `least` states in any case.

        Returns the states found, the number of those followed, by which their weights were multiplied, and whether they
        are all; then the weights are those of one walk.
        """
        found: Weights = {}
        walked = 0

        def interrupted() -> bool:
            return walked >= least and stopped()

        with contextlib.suppress(Interrupted), self._view.machine.interruptible(interrupted):
            while walked < MOST and len(found) < LIMIT:
                after, complete = self._walk(start, evidence, walked + 1, interrupted)
                if complete:
                    return after, 1, True
                for state, weight in after.items():
                    found[state] = found.get(state, 0.0) + weight * (walked + 1)
                walked += walked + 1
        return found, walked, False

    def _walk(
        self, weights: Weights, evidence: Sequence[_Evidence], most: int, stopped: Callable[[], bool]
    ) -> tuple[Weights, bool]:
        """Returns the states after the evidence, following about `most` states over each step, and whether none was
        left out. Raises `Interrupted` when `stopped`."""
        self._view.complete = True
        for one in evidence:
            weights = self._advance(weights, one.step, most, stopped)
            if not weights:
                break
            if one.scale is None:
                one.scale = 1 / sum(weights.values())
            weights = {state: weight * one.scale for state, weight in weights.items()}
        return weights, self._view.complete

    def _advance(self, weights: Weights, step: Step, most: int, stopped: Callable[[], bool]) -> Weights:
        """Returns the states after a step, with as many joint moves before it as may have been missed."""
        if isinstance(step, Hidden):
            return self._follow(weights, step, most, stopped)
        after: Weights = {}
        total = sum(step.missed)
        for missed, prior in enumerate(step.missed):
            if missed:
                weights = self._follow(weights, Hidden(step.answered), most, stopped)
                step = replace(step, answered=None)
            for state, weight in self._follow(weights, step, most, stopped).items() if prior else ():
                after[state] = after.get(state, 0.0) + weight * prior / total
        return after

    def _follow(self, weights: Weights, step: Step, most: int, stopped: Callable[[], bool]) -> Weights:
        """Returns the states after one joint move."""
        view = self._view
        after: Weights = {}
        total, followed = sum(weights.values()), 0.0
        for count, (state, weight) in enumerate(_shuffled(weights, self._rng)):
            if stopped():
                raise Interrupted
            if count >= most:
                view.complete = False
                break
            for successor, likelihood in step.successors(view, state, max(1, round(most * weight / total))):
                after[successor] = after.get(successor, 0.0) + weight * likelihood
            followed += weight
        return {state: weight * total / followed for state, weight in after.items()}


def _shuffled(weights: Weights, rng: random.Random) -> list[tuple[State, float]]:
    """Returns states and weights in random order, the heavier ones rather at the beginning (Efraimidis and Spirakis:
    Weighted random sampling with a reservoir, 2006)."""
    if len(weights) == 1:
        return list(weights.items())
    keys = {state: math.log(1.0 - rng.random()) / weight for state, weight in weights.items() if weight > 0}
    return [(state, weights[state]) for state in sorted(keys, key=keys.__getitem__, reverse=True)]
