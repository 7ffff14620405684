"""The states that a match may be in, where it is not known in which it is.

Two reasons: PLAYs were missed, and managers send only the last joint move; or the game is one of imperfect information
(GDL-II). Either way the match is followed as the set of states that fit everything that was told since a state was
known for sure, each with its probability (Bayes; others are taken to move by chance). It is enumerated as far as there
is time, from the sure state on (`agent.worker.hypotheses`); what was not looked at yet is looked at later. A state is
known for sure again where there is hardly any other, nor hardly anything left to look at.

Even so it may be wrong: more was missed than was reckoned with, or our answer was not what the manager took. So what
was told is kept for some time, and all of it is gone through once more, with less taken for granted, where it turns out
that it does not fit (`Belief.reconsider`).
"""

from __future__ import annotations

import contextlib
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.worker.evidence import Evidence, Perceive, Resumed, Told, View
from agent.worker.hypotheses import Hypothesis, Weights, most_promising, unexplored
from games.machine import GameError, Interrupted, State, StateMachine, Term

LIMIT = 1000
"""States that are looked for; as long as there are so many, no others are. Set by hand; not tuned."""

NEGLIGIBLE = 0.002
"""Share of all histories, by probability, that may be left to look at where a state is taken to be known. Set by hand,
well below one in the number of turns of a match; not tuned."""

DOMINANT = 0.995
"""Probability from which on a state is taken to be known, though there are others. Set by hand: where this is wrong, an
illegal move shows it (`Belief.reconsider`); not tuned."""

IMPROBABLE = 1e-4
"""Probability below which a hypothesis is not followed any further, where there are many. Set by hand; not tuned."""

HYPOTHESES = 12
"""That are followed at most. Set by hand; not tuned."""

SUPPORT = 0.0003
"""Moves are legal in as many states as the best of them if the probabilities differ by no more. Set by hand, so that
over all turns of a match it is improbable that one is illegal; not tuned."""

TOO_SMALL = 1e-30
"""Likelihoods are multiplied where all together are no larger."""

PAST = 100
"""Steps after a doubt was settled for which it is remembered. Set by hand; not tuned."""

LOOK = 8
"""States that are followed before it is asked again where to go on. Set by hand; not tuned."""


@dataclass
class _Past:
    """A doubt that was settled."""

    root: State
    evidence: list[Evidence]
    """What was told since the root, first of all what made for the doubt."""
    turn: int
    """The number of joint moves before the root."""
    settled: int = 0
    """How much of the evidence there was when the doubt was settled."""


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
        """Begins with a state that is known for sure. `clock` is what deadlines are measured by, in seconds."""
        self._view = View(machine, role, perceive, rng or random.Random())
        self._rng = self._view.rng
        self._clock = clock
        self.root = state
        """The last state that was known for sure."""
        self.root_turn = 0
        """The number of joint moves received until then, for whoever sets it."""
        self._evidence: list[Evidence] = []
        """What was told since then."""
        self._past: _Past | None = None
        self._hypotheses = [Hypothesis({state: 1.0})]
        self.weights: Weights = {state: 1.0}
        """The possible states, with probabilities whose sum is 1."""
        self.exhaustive = True
        """Whether hardly any possible state is missing."""

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

        Takes about `seconds`, and as much again as long as nothing was found that fits, but always looks at one state.
        """
        hypotheses = self._extended(self._normalised(), evidence)
        return self._try([*self._evidence, evidence], hypotheses, seconds, self._past)

    def reconsider(self, evidence: Evidence, seconds: float) -> bool:
        """The same, but taking less for granted of what made for the doubt, be it settled by now: for what fits nothing
        that is thought possible, or hardly. False, too, where no doubt is remembered."""
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
        """Looks for further states that fit, where not all are known, until there are enough of them or it is
        `stopped`; whether any were found."""
        if self.sure or (self.exhaustive and not any(hypothesis.open for hypothesis in self._hypotheses)):
            return False
        before = len(self.weights)
        self._work(self._hypotheses, stopped)
        self._take()
        return len(self.weights) > before

    def moves(self, seconds: float) -> list[tuple[Term, float]]:
        """The own moves that are legal in some state, each with the probability that it is, the highest first.

        Looks at as many states as there is time for, the most probable first, and at one at least.
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
        """The own moves that are most probably legal, and how probable that is."""
        moves = self.moves(seconds)
        if not moves:
            return [], 1.0
        best = moves[0][1]
        return [move for move, weight in moves if weight >= best - SUPPORT], best

    def is_over(self) -> bool:
        """Whether the match is over in all states."""
        return all(map(self._view.machine.terminal, self.weights))

    def know(self, state: State, evidence: Evidence | None = None) -> None:
        """Takes a state for sure; where it was so before, `evidence` is what has led there, and `Resumed` where that is
        not beyond doubt."""
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
        """The hypotheses with one more step: with each number of joint moves that may have been missed before it."""
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
        """Takes hypotheses over if they have states that fit; `past` is the doubt that was settled before."""
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
        """Where there was no time to find a state that fits: states after a joint move that may not have been legal in
        them. It is better known who is to move, then, than if it were ignored."""
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
        """The hypotheses; weights that become too small to be told from 0 are multiplied."""
        total = sum(self._masses())
        if total > TOO_SMALL:
            return self._hypotheses
        return [hypothesis.extended([], 1 / total if total else 1.0) for hypothesis in self._hypotheses]

    def _work(self, hypotheses: Sequence[Hypothesis], stopped: Callable[[], bool]) -> None:
        """Goes through histories until there are enough, or none is left."""
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
        """Concludes from the hypotheses which states are possible; where none was found yet, nothing."""
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
            together = self._sample(together)
            total = sum(together.values())
        self.weights = {state: weight / total for state, weight in together.items()}
        self._forget_improbable()

    def _masses(self) -> list[float]:
        """About what the weights of all ends of each hypothesis add up to, found or not."""
        missing = unexplored(self._hypotheses)
        return [hypothesis.ends.pending + mass for hypothesis, mass in zip(self._hypotheses, missing, strict=True)]

    def _forget_improbable(self) -> None:
        """Drops hypotheses in which hardly anything fits, and bounds their number."""
        masses = self._masses()
        least = IMPROBABLE * sum(masses)
        ranked = sorted(zip(masses, self._hypotheses, strict=True), key=lambda pair: -pair[0])
        self._hypotheses = [hypothesis for mass, hypothesis in ranked[:HYPOTHESES] if mass > least]

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
        return {state: weights[state] for state in chosen}
