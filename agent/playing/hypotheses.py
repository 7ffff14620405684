"""Search for the histories that a match may have had since its last known state.

A hypothesis assumes how many joint moves were missed: it is a sequence of steps, hidden or told. Its histories form a
tree, searched in no fixed order; equal states are merged. States not searched yet stay pending with their probability.
So the share that may be missing is known, and the search goes on with more time or new evidence. This is HyperPlay's
search for histories (Schofield, Cerexhe, Thielscher: HyperPlay, a solution to general game playing with imperfect
information, AAAI 2012), made exhaustive and weighted by likelihood.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeAlias

from agent.playing.evidence import BeliefStep, RoleView, Told
from games.machine import NO_MOVE, State

Weights: TypeAlias = dict[State, float]
"""States with their probabilities, or with numbers in proportion to them."""

BREADTH = 200
"""States of a layer that are collected before the search goes deeper: with more, more equal states are merged."""

DEEP = 0.5
"""Share of the work on the deepest states."""

PREVIEWS = 3
"""Random histories that show which role is on turn at the end."""

UNPROMISING = 3000
"""States counted as failed where another role seems to be on turn."""

MOST_PENDING = 20_000
"""Most pending states of a hypothesis: a bound on memory."""

LEAST_WEIGHT = 1e-200
"""Least weight of a state: after hundreds of hidden steps it would vanish, and sums of weights must not."""

SMALLEST_SHARE = 1e-6
"""Least share of explored histories from which to extrapolate."""


class Layer:
    """Pending states after some number of steps, drawn at random."""

    __slots__ = ("arrived", "order", "pending", "weights")

    def __init__(self, weights: Weights | None = None) -> None:
        self.weights: Weights = {}
        self.order: list[State] = []
        """The states, in no particular order, to draw from."""
        self.pending = 0.0
        """Sum of the weights."""
        self.arrived = 0.0
        """Sum of the weights, with those of the drawn states."""
        for state, weight in (weights or {}).items():
            self.add(state, weight)

    def __len__(self) -> int:
        return len(self.order)

    def add(self, state: State, weight: float) -> None:
        """Adds to a state's weight."""
        before = self.weights.get(state)
        if before is None:
            self.order.append(state)
            self.weights[state] = weight
        else:
            self.weights[state] = before + weight
        self.pending += weight
        self.arrived += weight

    def draw(self, rng: random.Random) -> tuple[State, float]:
        """Takes a random state out, all with the same probability; returns it with its weight."""
        order = self.order
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
        """Returns a copy with all weights multiplied."""
        layer = Layer()
        layer.weights = {state: weight * factor for state, weight in self.weights.items()}
        layer.order = list(self.order)
        layer.pending, layer.arrived = self.pending * factor, self.arrived * factor
        return layer

    @property
    def explored(self) -> float:
        """Share of the arrived weight that was drawn."""
        return 1.0 if not self.order else max(0.0, 1 - self.pending / self.arrived)


class Hypothesis:
    """Histories of the same steps."""

    def __init__(self, weights: Weights) -> None:
        """`weights` are all states at the begin."""
        self.steps: list[BeliefStep] = []
        self.layers = [Layer(weights)]
        """[steps + 1]: states after each number of steps. The last ones are the ends; the others are pending."""
        self.passed: list[list[float]] = []
        """[steps][3]: weight drawn before a step, weight of its successors, and number of states drawn."""
        self.expanded = 0
        """States followed over one step since the last steps were added."""
        self.lost = False
        """Whether some histories were dropped."""

    def extended(self, steps: list[BeliefStep], factor: float = 1.0) -> Hypothesis:
        """Returns a copy with further steps, its probability multiplied."""
        other = Hypothesis({})
        # Layers before the first pending state are not needed any more.
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

    def preview(self, view: RoleView) -> None:
        """Marks the last step as unpromising if another role is on turn there in a few random histories."""
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
        """States after the last step."""
        return self.layers[-1]

    @property
    def open(self) -> bool:
        """Whether states are pending."""
        return any(map(len, self.layers[:-1]))

    @property
    def scale(self) -> float:
        """Factor from the ends' weights to an estimate that includes ends not found yet."""
        explored = 1.0
        for layer in self.layers[:-1]:
            explored *= layer.explored
        return 1 / max(explored, SMALLEST_SHARE)

    def work(self, view: RoleView) -> None:
        """Follows one state over one step. Changes nothing if the machine raises `Interrupted`."""
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
            after.add(successor, max(weight * likelihood, LEAST_WEIGHT))
            passed[1] += weight * likelihood
        if len(after) > BREADTH and at + 2 < len(self.layers):
            self._bound()

    def _next_layer(self, rng: random.Random) -> int:
        """Returns the layer to go on with.

        The deepest until an end is found; then, for a fair sample of ends, as often the first before a short layer.
        """
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
    """Returns an estimate of the weight of each hypothesis's ends that were not found yet.

    The share that survives a step is taken from the states drawn before it; if none survived, it is at most that of one
    further state. Where none was drawn, it is taken from hypotheses that share the step.
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
    """Returns the hypothesis with the most weight to be found for the work done on it; None if nothing is pending."""
    masses = unexplored(hypotheses)
    waiting = [at for at, hypothesis in enumerate(hypotheses) if hypothesis.open]
    if not waiting:
        return None
    return hypotheses[max(waiting, key=lambda at: masses[at] / (1 + hypotheses[at].expanded))]
