"""The possible states of a match whose state is not known.

There are two reasons: PLAYs were missed, and managers send only the last joint move; or the game is one of imperfect
information (GDL-II). The match is followed as the set of states that fit all evidence since the last known state, with
their probabilities (Bayes; the others are taken to move at random). The set is enumerated from that state as far as
there is time, and completed later (`agent.playing.hypotheses`). A state is known again when almost nothing else is
possible.

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
from dataclasses import dataclass

from agent.playing.evidence import BeliefStep, Evidence, Hidden, Perceive, Resumed, RoleView, Told
from agent.playing.hypotheses import Hypothesis, Weights, most_promising, unexplored
from games.machine import GameError, Interrupted, State, StateMachine, Term

LIMIT = 1000
"""Number of states at which the search for further ones stops."""

NEGLIGIBLE = 0.002
"""Most probability of unexplored histories where the set of states is taken to be complete. Well below one over the
number of a match's turns."""

DOMINANT = 0.995
"""Probability at which a state is taken to be known. An illegal move shows if it is wrong (`Belief.reconsider`)."""

IMPROBABLE = 1e-4
"""Probability below which a hypothesis is dropped."""

HYPOTHESES = 12
"""Most hypotheses to follow."""

SUPPORT = 0.0003
"""Largest difference in the probability of being legal between a move to choose from and the safest one. Over all turns
of a match, an illegal move stays improbable."""

TOO_SMALL = 1e-30
"""Total likelihood at which the weights are scaled up."""

PAST = 100
"""Steps for which a settled doubt is remembered."""

LOOK = 8
"""States to follow before choosing the next hypothesis."""


@dataclass
class _Past:
    """A doubt that was settled."""

    root: State
    """Last state known before the doubt."""
    evidence: list[Evidence]
    """Evidence since the root; the first caused the doubt."""
    turn: int
    """Number of joint moves before the root."""
    settled: int = 0
    """Length of the evidence when the doubt was settled."""


class Belief:
    """The possible states of a match, for one role."""

    def __init__(
        self,
        machine: StateMachine,
        role: int,
        state: State,
        perceive: Perceive | None = None,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begins with a known state. `clock`, in seconds, measures deadlines."""
        self._view = RoleView(machine, role, perceive, rng or random.Random())
        self._rng = self._view.rng
        self._clock = clock
        self.root = state
        """Last known state."""
        self.root_turn = 0
        """Number of joint moves received up to the root; the caller sets it."""
        self._evidence: list[Evidence] = []
        self._past: _Past | None = None
        self._hypotheses = [Hypothesis({state: 1.0})]
        self.weights: Weights = {state: 1.0}
        """Possible states with their probabilities, whose sum is 1."""
        self.exhaustive = True
        """Whether almost no possible state is missing."""

    @property
    def sure(self) -> bool:
        """Whether the state is known."""
        return not self._evidence

    @property
    def likeliest(self) -> State:
        """Most probable state."""
        return max(self.weights, key=self.weights.__getitem__)

    def follow(self, evidence: Evidence, seconds: float, missed: int = 0) -> bool:
        """Takes one more step in, after `missed` others of which nothing is known; returns whether it fits. Changes
        nothing if not.

        Takes about `seconds`, twice as long if nothing fits by then, and always follows one state at least.
        """
        hypotheses = self._normalised()
        unknown: list[BeliefStep] = [Hidden(None, None) for _ in range(missed)]
        if unknown:
            hypotheses = [hypothesis.extended(unknown) for hypothesis in hypotheses]
        hypotheses = self._extended(hypotheses, evidence)
        return self._try([*self._evidence, *unknown, evidence], hypotheses, seconds, self._past)

    def reconsider(self, evidence: Evidence, seconds: float) -> bool:
        """Takes in a step that contradicts the belief: considers the last doubt's evidence again, settled or not, with
        weaker assumptions.

        Returns whether it fits; False, too, if no doubt is remembered.
        """
        past = self._past or _Past(self.root, [], self.root_turn)
        known = [*past.evidence, *self._evidence, evidence]
        if not any(isinstance(step, Resumed) for step in known):
            return False
        told = [step.doubted() if isinstance(step, Resumed) else step for step in known]
        hypotheses = [Hypothesis({past.root: 1.0})]
        for step in told:
            hypotheses = self._extended(hypotheses, step)
        if not self._try(told, hypotheses, seconds, _Past(past.root, [], past.turn)):
            return False
        if not self.sure:
            self.root, self.root_turn, self._past = past.root, past.turn, None
        return True

    def refine(self, stopped: Callable[[], bool]) -> bool:
        """Looks for further states that fit, until there are enough or `stopped`; returns whether it found any."""
        if self.sure or (self.exhaustive and not any(hypothesis.open for hypothesis in self._hypotheses)):
            return False
        before = len(self.weights)
        self._work(self._hypotheses, stopped)
        self._take()
        return len(self.weights) > before

    def moves(self, seconds: float) -> list[tuple[Term, float]]:
        """Returns the own moves with the probability that they are legal, highest first.

        Visits as many states as there is time for, the most probable first, and one at least.
        """
        deadline = self._clock() + seconds
        view, machine = self._view, self._view.machine
        support: dict[Term, float] = {}
        total = 0.0
        for state, weight in self._by_weight(self.weights):
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
        weights = self.weights if len(self.weights) <= most else _drawn(self.weights, most, random.Random(0))
        return list(weights.items())

    def is_over(self) -> bool:
        """Returns whether the match is over in all states."""
        return all(map(self._view.machine.terminal, self.weights))

    def know(self, state: State, evidence: Evidence | None = None) -> None:
        """Takes a state as known. `evidence` led there from the last known state; it is `Resumed` if in doubt."""
        past = self._past
        if past is None:
            if isinstance(evidence, Resumed):
                self._past = _Past(self.root, [evidence], self.root_turn, 1)
        elif evidence is None or len(past.evidence) - past.settled >= PAST:
            self._past = None
        else:
            past.evidence.append(evidence)
        self._settle(state)

    # --- following

    def _settle(self, state: State) -> None:
        self.root = state
        self.weights = {state: 1.0}
        self._hypotheses = [Hypothesis(self.weights)]
        self._evidence = []
        self._view.forget()
        self.exhaustive = True

    def _extended(self, hypotheses: Sequence[Hypothesis], evidence: Evidence) -> list[Hypothesis]:
        """Returns the hypotheses with one more step, for each number of joint moves that may have been missed."""
        if not isinstance(evidence, Resumed):
            return [hypothesis.extended([evidence]) for hypothesis in hypotheses]
        counts = range(evidence.least, evidence.most + 1)
        total = sum(map(evidence.prior, counts))
        extended: list[Hypothesis] = []
        for hypothesis in hypotheses:
            for count in counts:
                extended.append(hypothesis.extended(evidence.steps(count), evidence.prior(count) / total))
                extended[-1].preview(self._view)
        return extended

    def _try(self, evidence: list[Evidence], hypotheses: list[Hypothesis], seconds: float, past: _Past | None) -> bool:
        """Adopts hypotheses if some states fit; returns whether it did. `past` is the last settled doubt."""
        self._view.forget()
        begun = self._clock()

        def stopped() -> bool:
            found = any(len(hypothesis.ends) for hypothesis in hypotheses)
            return self._clock() - begun > (seconds if found else 2 * seconds)

        self._work(hypotheses, stopped)
        found = any(len(hypothesis.ends) for hypothesis in hypotheses)
        unfinished = any(hypothesis.open for hypothesis in hypotheses)
        guessed = self._guess(evidence[-1]) if unfinished and not found else {}
        if not (found or guessed):
            return False
        self._evidence, self._hypotheses = evidence, hypotheses
        if guessed:
            self.weights, self.exhaustive = guessed, False
            return True
        self._take()
        state = self.likeliest
        if self.exhaustive and self.weights[state] >= DOMINANT:
            past = past or _Past(self.root, [], self.root_turn)
            known = [*past.evidence, *evidence]
            self._past = _Past(past.root, known, past.turn, len(known))
            self._settle(state)
        return True

    def _guess(self, evidence: Evidence) -> Weights:
        """Returns states after a joint move that may have been illegal in them, where time was too short to find any
        that fit.

        They tell better than the former states which role is on turn.
        """
        guessed: Weights = {}
        told = evidence.told if isinstance(evidence, Resumed) else evidence
        if isinstance(told, Told):
            for state, weight in self._by_weight(self.weights)[:LOOK]:
                with contextlib.suppress(GameError):
                    after = self._view.machine.next(state, told.moves)
                    guessed[after] = guessed.get(after, 0.0) + weight
        total = sum(guessed.values())
        return {state: weight / total for state, weight in guessed.items()}

    def _normalised(self) -> list[Hypothesis]:
        """Returns the hypotheses, with weights scaled up if they get too close to 0."""
        total = sum(self._masses())
        if total > TOO_SMALL:
            return self._hypotheses
        return [hypothesis.extended([], 1 / total if total else 1.0) for hypothesis in self._hypotheses]

    def _work(self, hypotheses: Sequence[Hypothesis], stopped: Callable[[], bool]) -> None:
        """Follows histories until there are enough states, no history is left, or time is up."""
        view = self._view
        view.sampled = False
        worked: Hypothesis | None = None
        try:
            with view.machine.interruptible(lambda: worked is not None and stopped()):
                while sum(len(hypothesis.ends) for hypothesis in hypotheses) < LIMIT:
                    hypothesis = most_promising(hypotheses)
                    if hypothesis is None:
                        break
                    for _ in range(LOOK):
                        if worked is not None and stopped():
                            return
                        hypothesis.work(view)
                        worked = hypothesis
                        if view.sampled:
                            hypothesis.lost, view.sampled = True, False
                        if not hypothesis.open or len(hypothesis.ends) >= LIMIT:
                            break
        except Interrupted:
            pass

    def _take(self) -> None:
        """Takes the possible states over from the hypotheses, if there are any."""
        together: Weights = {}
        for hypothesis in self._hypotheses:
            scale = hypothesis.scale
            for state, weight in hypothesis.ends.weights.items():
                together[state] = together.get(state, 0.0) + scale * weight
        if not together:
            return
        total = sum(together.values())
        missing = sum(unexplored(self._hypotheses))
        lost = any(hypothesis.lost for hypothesis in self._hypotheses)
        self.exhaustive = not lost and len(together) <= LIMIT and missing <= NEGLIGIBLE * total
        if len(together) > LIMIT:
            together = _drawn(together, LIMIT, self._rng)
            total = sum(together.values())
        self.weights = {state: weight / total for state, weight in together.items()}
        self._forget_improbable()

    def _masses(self) -> list[float]:
        """Returns an estimate of the weight of all ends of each hypothesis, found or not."""
        missing = unexplored(self._hypotheses)
        return [hypothesis.ends.pending + mass for hypothesis, mass in zip(self._hypotheses, missing, strict=True)]

    def _forget_improbable(self) -> None:
        masses = self._masses()
        least = IMPROBABLE * sum(masses)
        ranked = sorted(zip(masses, self._hypotheses, strict=True), key=lambda pair: -pair[0])
        self._hypotheses = [hypothesis for mass, hypothesis in ranked[:HYPOTHESES] if mass > least]

    def _by_weight(self, weights: Weights) -> list[tuple[State, float]]:
        """Returns states and weights, the most probable first, equals in random order."""
        pairs = list(weights.items())
        if len(pairs) > 1:
            self._rng.shuffle(pairs)
            pairs.sort(key=lambda pair: -pair[1])
        return pairs


def _drawn(weights: Weights, count: int, rng: random.Random) -> Weights:
    """Returns some of the states, drawn by their weights (Efraimidis and Spirakis: Weighted random sampling with a
    reservoir, 2006)."""
    keys = {state: math.log(1.0 - rng.random()) / weight for state, weight in weights.items() if weight > 0}
    chosen = sorted(keys, key=keys.__getitem__)[-count:]
    return {state: weights[state] for state in chosen}
