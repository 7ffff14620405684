"""The histories that a match may have had since a state was known, enumerated as far as there is time.

A hypothesis is one assumption on how many joint moves were missed: a sequence of steps, hidden or told. Its histories
form a tree, which is searched in no fixed order, states that are reached in several ways being merged where they meet.
What was not searched yet stays pending, with its probability, so that it is known how much may be missing, and the
search goes on where it was left as evidence comes in and there is time. That is HyperPlay's search for histories
(Schofield, Cerexhe, Thielscher: HyperPlay, a solution to general game playing with imperfect information, AAAI 2012),
made exhaustive and weighted by likelihood.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeAlias

from agent.worker.evidence import Step, Told, View
from games.machine import NO_MOVE, State

Weights: TypeAlias = dict[State, float]
"""States with their probabilities, or numbers in proportion to them."""

BREADTH = 200
"""States of one layer up to which it is filled before the search goes deeper: the more, the more of those that are
reached in several ways are merged before they are followed. Set by hand; not tuned."""

DEEP = 0.5
"""Share of the work that goes into what is nearest to its end. Set by hand; not tuned."""

PREVIEWS = 3
"""Random ways that are gone to see who is on turn at the end. Set by hand; not tuned."""

UNPROMISING = 3000
"""States that are taken to have failed where somebody else seems to be on turn. Set by hand; not tuned."""

MOST_PENDING = 20_000
"""States of one hypothesis that are kept for later: a bound on memory. Set by hand; not tuned."""


SMALLEST_SHARE = 1e-6
"""Of the histories, for which the others are taken to be like those that were found."""


class Layer:
    """States after so many steps, drawn at random."""

    __slots__ = ("_order", "arrived", "pending", "weights")

    def __init__(self, weights: Weights | None = None) -> None:
        self.weights: Weights = {}
        self._order: list[State] = []
        self.pending = 0.0
        """The sum of the weights."""
        self.arrived = 0.0
        """The same with those that were drawn."""
        for state, weight in (weights or {}).items():
            self.add(state, weight)

    def __len__(self) -> int:
        return len(self._order)

    def add(self, state: State, weight: float) -> None:
        """Adds to a state's weight."""
        before = self.weights.get(state)
        if before is None:
            self._order.append(state)
            self.weights[state] = weight
        else:
            self.weights[state] = before + weight
        self.pending += weight
        self.arrived += weight

    def draw(self, rng: random.Random) -> tuple[State, float]:
        """Takes some state out, each with the same probability."""
        order = self._order
        index = rng.randrange(len(order))
        order[index], order[-1] = order[-1], order[index]
        state = order.pop()
        weight = self.weights.pop(state)
        self.pending = self.pending - weight if order else 0.0
        return state, weight

    def put_back(self, state: State, weight: float) -> None:
        """Undoes `draw`."""
        self.add(state, weight)
        self.arrived -= weight

    def copy(self, factor: float = 1.0) -> Layer:
        """The same with all weights multiplied."""
        layer = Layer()
        layer.weights = {state: weight * factor for state, weight in self.weights.items()}
        layer._order = list(self._order)
        layer.pending, layer.arrived = self.pending * factor, self.arrived * factor
        return layer

    @property
    def explored(self) -> float:
        """The share of what arrived that was drawn."""
        return 1.0 if not self._order else max(0.0, 1 - self.pending / self.arrived)


class Hypothesis:
    """Histories of the same steps."""

    def __init__(self, weights: Weights) -> None:
        """Begins with states that are all there may be."""
        self.steps: list[Step] = []
        self.layers = [Layer(weights)]
        """[steps + 1]: the states after so many steps; all but the last are pending."""
        self.passed: list[list[float]] = []
        """[steps][3]: the weight of what was drawn before a step and of what came of it, and of how many states."""
        self.expanded = 0
        """States followed over one step since the last one was added."""
        self.lost = False
        """Whether some histories were given up."""

    def extended(self, steps: list[Step], factor: float = 1.0) -> Hypothesis:
        """A copy that goes on with these steps, its probability multiplied."""
        other = Hypothesis({})
        # Where nothing is pending any more, nothing needs to be kept.
        first = next((at for at, layer in enumerate(self.layers) if len(layer)), len(self.steps))
        other.steps = [*self.steps[first:], *steps]
        other.layers = [layer.copy(factor) for layer in self.layers[first:]]
        # From here on, the ends are what arrived before the new steps.
        other.layers[-1].arrived = other.layers[-1].pending
        other.layers += [Layer() for _ in steps]
        other.passed = [[came * factor, left * factor, count] for came, left, count in self.passed[first:]]
        other.passed += [[0.0, 0.0, 0] for _ in steps]
        other.lost = self.lost
        return other

    def preview(self, view: View) -> None:
        """Goes to the ends on a few random ways: whether another role would be on turn at the last step."""
        if not isinstance(told := self.steps[-1], Told) or not len(self.layers[0]) or len(self.steps) < 2:
            return
        for _ in range(PREVIEWS):
            state, weight = self.layers[0].draw(view.rng)
            self.layers[0].put_back(state, weight)
            for _ in self.steps[:-1]:
                if view.machine.terminal(state):
                    return
                state = view.machine.next(state, [view.rng.choice(moves or [NO_MOVE]) for moves in view.legal(state)])
            forced = zip(told.moves, view.legal(state), strict=True)
            if not any(len(moves) == 1 and move not in moves for move, moves in forced):
                return
        self.passed[-1][2] = UNPROMISING

    @property
    def ends(self) -> Layer:
        """The states after the last step."""
        return self.layers[-1]

    @property
    def open(self) -> bool:
        """Whether there are histories left to look at."""
        return any(map(len, self.layers[:-1]))

    @property
    def scale(self) -> float:
        """By what the ends' weights are to be multiplied to stand for those that were not found yet, too."""
        explored = 1.0
        for layer in self.layers[:-1]:
            explored *= layer.explored
        return 1 / max(explored, SMALLEST_SHARE)

    def work(self, view: View) -> None:
        """Follows one state over one step. Raises `Interrupted`, having changed nothing, where the machine does."""
        at = self._next_layer(view.rng)
        layer, passed = self.layers[at], self.passed[at]
        state, weight = layer.draw(view.rng)
        try:
            successors = list(self.steps[at].successors(view, state))
        except BaseException:
            layer.put_back(state, weight)
            raise
        self.expanded += 1
        passed[0] += weight
        passed[2] += 1
        after = self.layers[at + 1]
        for successor, likelihood in successors:
            after.add(successor, weight * likelihood)
            passed[1] += weight * likelihood
        if len(after) > BREADTH and at + 2 < len(self.layers):
            self._bound()

    def _next_layer(self, rng: random.Random) -> int:
        """Where to go on: as deep as possible as long as no end was found, then as often where the next layer is short
        of states, so that the ends are a fair sample."""
        layers = self.layers
        waiting = [at for at in range(len(layers) - 1) if len(layers[at])]
        if not len(self.ends) or rng.random() < DEEP:
            return waiting[-1]
        return next((at for at in waiting if len(layers[at + 1]) < BREADTH), waiting[-1])

    def _bound(self) -> None:
        if sum(map(len, self.layers[:-1])) > MOST_PENDING:
            self.lost = True
            rng = random.Random(0)
            longest = max(self.layers[:-1], key=len)
            while len(longest) > MOST_PENDING // 2:
                _, weight = longest.draw(rng)
                longest.arrived -= weight


def unexplored(hypotheses: Sequence[Hypothesis]) -> list[float]:
    """[hypotheses]: about what the weights of the ends that were not found yet add up to.

    Of each step as much passes as has until now; where nothing has, at most what one more state is worth; and where
    nothing came, as much as in other hypotheses, for later steps are the same in all of them.
    """
    shared: dict[int, float] = {}
    for hypothesis in hypotheses:
        for step, (came, left, _) in zip(hypothesis.steps, hypothesis.passed, strict=True):
            if came:
                shared[id(step)] = max(shared.get(id(step), 0.0), left / came)
    masses = []
    for hypothesis in hypotheses:
        mass, survival = 0.0, 1.0
        for at in range(len(hypothesis.steps) - 1, -1, -1):
            came, left, count = hypothesis.passed[at]
            if count:
                survival *= max(left / came if came else 0.0, 1 / (count + 1))
            else:
                survival *= shared.get(id(hypothesis.steps[at])) or 1.0
            mass += hypothesis.layers[at].pending * survival
        masses.append(mass)
    return masses


def most_promising(hypotheses: Sequence[Hypothesis]) -> Hypothesis | None:
    """The hypothesis with the most to be found for the work that went into it; None where nothing is pending in any."""
    masses = unexplored(hypotheses)
    waiting = [at for at, hypothesis in enumerate(hypotheses) if hypothesis.open]
    if not waiting:
        return None
    return hypotheses[max(waiting, key=lambda at: masses[at] / (1 + hypotheses[at].expanded))]
