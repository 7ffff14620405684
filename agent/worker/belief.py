"""The states that a match may be in, where it is not known in which it is.

Two reasons: PLAYs were missed, and managers send only the last joint move; or the game is one of imperfect information
(GDL-II). Either way the match is followed as the set of states that fit everything that was told since a state was
known for sure, each with its probability (Bayes; others are taken to move by chance). It is enumerated as long as it is
small enough and there is time, then sampled. Where a sample turns out to hold no state that fits, histories are
searched from the sure state on, depth first and in random order, with backtracking (as HyperPlay does: Schofield,
Cerexhe, Thielscher: HyperPlay, a solution to general game playing with imperfect information, AAAI 2012).
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TypeAlias

from agent.worker.evidence import Evidence, Perceive, Resumed, View
from games.machine import Interrupted, State, StateMachine, Term

Weights: TypeAlias = dict[State, float]
"""States with their probabilities, or numbers in proportion to them."""

LIMIT = 1000
"""States that are kept; beyond, they are sampled. Set by hand; not tuned."""

ENOUGH = 50
"""Histories that a search looks for. Set by hand; not tuned."""

NEGLIGIBLE = 0.02
"""Probability below which it is not followed any further that some number of joint moves was missed. Set by hand; not
tuned."""

REFINED = LIMIT
"""States that a sample is extended to while there is time to think. Set by hand; not tuned."""

FEW = 20
"""States of a sample below which others that fit are searched for. Set by hand; not tuned."""

SUPPORT = 0.005
"""Moves are legal in as many states as the best of them if the probabilities differ by no more. Set by hand; not
tuned."""


class Belief:
    """The possible states of a match, for one role."""

    def __init__(
        self,
        machine: StateMachine,
        role: int,
        state: State,
        perceive: Perceive | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """Begins with a state that is known for sure."""
        self._view = View(machine, role, perceive, rng or random.Random())
        self._rng = self._view.rng
        self.root = state
        """The last state that was known for sure."""
        self._evidence: list[Evidence] = []
        """What was told since then."""
        self.weights: Weights = {state: 1.0}
        """The possible states, with probabilities whose sum is 1."""
        self.exhaustive = True
        """Whether no possible state is missing."""

    @property
    def sure(self) -> bool:
        """Whether the state is known."""
        return not self._evidence

    @property
    def likeliest(self) -> State:
        """The most probable state."""
        return max(self.weights, key=self.weights.__getitem__)

    def follow(self, evidence: Evidence, seconds: float) -> bool:
        """Takes one more step in; whether it fits. Where it does not, nothing has changed.

        Takes about `seconds`, and as much again where few states are left, but always follows at least one state.
        """
        deadline = time.monotonic() + seconds
        self._view.forget()
        self._view.sampled = False
        if isinstance(evidence, Resumed):
            weights, complete = self._resume(evidence, deadline)
        else:
            weights, complete = self._advance(self.weights, evidence, deadline)
        complete = complete and self.exhaustive and not self._view.sampled
        if not complete and len(weights) < FEW:
            # The true state may be among those that are missing.
            found = self._search([*self._evidence, evidence], time.monotonic() + seconds)
            complete = self._agree(weights, found)
            weights = found or weights
        if not weights:
            return False
        self._evidence.append(evidence)
        self._take(weights, complete)
        return True

    def refine(self, stopped: Callable[[], bool]) -> bool:
        """Looks for further states that fit, where the present ones are a sample, until there are enough of them or it
        is `stopped`; whether any were found."""
        if self.exhaustive:
            return False
        before = len(self.weights)
        counts = dict.fromkeys(self.weights, 1.0)
        for _ in range(REFINED):
            if len(counts) >= REFINED or stopped():
                break
            state = self._find_history(self._evidence, stopped)
            if state is not None:
                counts[state] = counts.get(state, 0.0) + 1.0
        self._take(counts, False)
        return len(counts) > before

    def moves(self, seconds: float) -> list[tuple[Term, float]]:
        """The own moves that are legal in some state, each with the probability that it is, the highest first.

        Looks at as many states as there is time for, the most probable first, and at one at least.
        """
        deadline = time.monotonic() + seconds
        view, machine = self._view, self._view.machine
        support: dict[Term, float] = {}
        total = 0.0
        for state, weight in self._by_weight(self.weights):
            if total and time.monotonic() > deadline:
                break
            if not machine.terminal(state):
                total += weight
                for move in view.legal(state)[view.role]:
                    support[move] = support.get(move, 0.0) + weight
        return sorted(((move, weight / total) for move, weight in support.items()), key=lambda pair: -pair[1])

    def safest_moves(self, seconds: float) -> tuple[list[Term], float]:
        """The own moves that are most probably legal, and how probable that is."""
        moves = self.moves(seconds)
        if not moves:
            return [], 1.0
        best = moves[0][1]
        return [move for move, weight in moves if weight >= best - SUPPORT], best

    def is_over(self) -> bool:
        """Whether the match is over in all states."""
        return all(map(self._view.machine.terminal, self.weights))

    def know(self, state: State) -> None:
        """Takes a state for sure."""
        self.root = state
        self.weights = {state: 1.0}
        self._evidence.clear()
        self._view.forget()
        self.exhaustive = True

    # --- following

    def _take(self, weights: Weights, complete: bool) -> None:
        total = sum(weights.values())
        self.weights = {state: weight / total for state, weight in weights.items()}
        self.exhaustive = complete
        if len(weights) == 1 and complete:
            self.know(*weights)

    @staticmethod
    def _agree(weights: Weights, found: Weights) -> bool:
        """Whether a search has found one state only, again and again: there is no other, as far as can be told."""
        return len(found) == 1 and sum(found.values()) >= ENOUGH and weights.keys() <= found.keys()

    def _advance(self, weights: Weights, evidence: Evidence, deadline: float) -> tuple[Weights, bool]:
        """The states after a step, and whether they are all. Their weights add up to the step's likelihood."""
        after: Weights = {}
        done, total = 0.0, sum(weights.values())
        for state, weight in self._by_weight(weights):
            # One state is followed in any case.
            until = deadline if done else None
            if done and (time.monotonic() > deadline or len(after) > 4 * LIMIT):
                break
            try:
                with self._interrupted(until):
                    successors = evidence.successors(self._view, state)
            except Interrupted:
                break
            for successor, likelihood in successors:
                after[successor] = after.get(successor, 0.0) + weight * likelihood
            done += weight
        complete = done >= total * (1 - 1e-9)
        if not complete:
            after = {state: weight * total / done for state, weight in after.items()}
        if len(after) > LIMIT:
            after, complete = self._sample(after), False
        return after, complete

    def _resume(self, evidence: Resumed, deadline: float) -> tuple[Weights, bool]:
        """The same where nobody knows how many steps there were: for each number that may be, all paths or, where these
        are too many, random ones."""
        counts = range(evidence.least, evidence.most() + 1)
        classes: list[tuple[Weights, bool, float]] = []
        layer: Weights | None = self.weights
        """The states after so many steps that were missed; None where they are too many."""
        for missed in range(evidence.most() + 1):
            *hidden, told = evidence.steps(missed)
            now = time.monotonic()
            until = now + (deadline - now) / (evidence.most() + 1 - missed)
            if hidden and layer is not None:
                # Our answer is part of the first one only.
                layer = self._next_layer(layer, hidden[-1], until)
            if missed < evidence.least:
                continue
            if layer is not None:
                weights, complete = self._advance(layer, told, until)
            if layer is None or not complete:
                weights, complete = self._walk(evidence, missed, until), False
            prior = evidence.prior(missed)
            weights = {state: prior * weight for state, weight in weights.items()}
            # What was not all looked at may be as likely as it was before.
            known = complete or prior < NEGLIGIBLE * sum(map(evidence.prior, counts))
            classes.append((weights, known, sum(weights.values())))
        total = sum(mass for _, _, mass in classes)
        together: Weights = {}
        for weights, _, mass in classes:
            if mass > NEGLIGIBLE * total:
                for state, weight in weights.items():
                    together[state] = together.get(state, 0.0) + weight
        complete = all(known for _, known, _ in classes)
        if len(together) > LIMIT:
            together, complete = self._sample(together), False
        return together, complete

    def _next_layer(self, layer: Weights, step: Evidence, deadline: float) -> Weights | None:
        """All states after one more step; None where they are more than `LIMIT`, or more than there is time for."""
        if not layer:
            return layer
        branching = math.prod(max(1, len(moves)) for moves in self._view.legal(next(iter(layer))))
        if branching * len(layer) > 4 * LIMIT:
            return None
        after, complete = self._advance(layer, step, deadline)
        return after if complete else None

    def _walk(self, evidence: Resumed, missed: int, deadline: float) -> Weights:
        """The states at the ends of random paths that fit; their weights add up to about the evidence's likelihood."""
        states, cumulative = list(self.weights), list(itertools.accumulate(self.weights.values()))
        found: Weights = {}
        paths = 0
        with contextlib.suppress(Interrupted), self._interrupted(deadline):
            while paths < LIMIT and time.monotonic() < deadline:
                (state,) = self._rng.choices(states, cum_weights=cumulative)
                end = evidence.random_path(self._view, state, missed)
                paths += 1
                if end is not None:
                    found[end[0]] = found.get(end[0], 0.0) + end[1]
        return {state: weight / paths for state, weight in found.items()}

    def _search(self, evidence: list[Evidence], deadline: float) -> Weights:
        """States at the end of histories that fit, from the sure state on."""
        found: Weights = {}
        for _ in range(ENOUGH):
            state = self._find_history(evidence, lambda: time.monotonic() > deadline)
            if state is None:
                break
            found[state] = found.get(state, 0.0) + 1.0
        return found

    def _find_history(self, evidence: list[Evidence], stopped: Callable[[], bool]) -> State | None:
        def branches(state: State, step: int) -> Iterator[State]:
            successors = evidence[step].successors(self._view, state)
            if isinstance(successors, list):
                self._rng.shuffle(successors)
            return (successor for successor, _ in successors)

        try:
            with self._view.machine.interruptible(stopped):
                open_branches = [branches(self.root, 0)]
                while open_branches and not stopped():
                    state = next(open_branches[-1], None)
                    if state is None:
                        open_branches.pop()
                    elif len(open_branches) == len(evidence):
                        return state
                    else:
                        open_branches.append(branches(state, len(open_branches)))
        except Interrupted:
            pass
        return None

    def _by_weight(self, weights: Weights) -> list[tuple[State, float]]:
        """The most probable first, equals in random order."""
        pairs = list(weights.items())
        if len(pairs) > 1:
            self._rng.shuffle(pairs)
            pairs.sort(key=lambda pair: -pair[1])
        return pairs

    def _sample(self, weights: Weights) -> Weights:
        """`LIMIT` of the states, chosen with their probabilities (Efraimidis and Spirakis: Weighted random sampling
        with a reservoir, 2006)."""
        keys = {state: math.log(1.0 - self._rng.random()) / weight for state, weight in weights.items() if weight > 0}
        chosen = sorted(keys, key=keys.__getitem__)[-LIMIT:]
        factor = sum(weights.values()) / sum(weights[state] for state in chosen)
        return {state: factor * weights[state] for state in chosen}

    def _interrupted(self, deadline: float | None) -> AbstractContextManager[None]:
        stop: Callable[[], bool] = (lambda: False) if deadline is None else (lambda: time.monotonic() > deadline)
        return self._view.machine.interruptible(stop)
