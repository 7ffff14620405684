"""Learns the evaluation from matches of shallow searches: logistic regression of results on the facts that hold.

Policy iteration: the search with the newest evaluation plays against itself, the next one is fitted to how these
matches went, and takes its place if it wins more than half of the points against it. The prior is the evaluation
before, and facts that match a pattern share a part of their weight, as in the fit to random play
(`agent.search.evaluation`), which is the first evaluation.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.engine import StopFlag
from agent.search.evaluation.features import Features
from agent.search.evaluation.logistic import LogisticEvaluation
from agent.search.learning.actors import Actors
from agent.search.learning.foresight import Foresight
from agent.search.learning.lessons import Lesson, LessonTable
from agent.search.learning.pace import FEWEST_MATCHES, MATCHES, LearningPace
from agent.search.learning.ties import Ties
from agent.search.team import Team
from games.gdl.running.batches import facts_in
from games.gdl.running.machine import CircuitMachine
from games.gdl.structure.symmetry import Symmetry

GATE = 32
"""Matches of a new evaluation against the one before. Set by hand; not tuned."""
OWN_SHARE = 0.25
"""Share of a generation's matches that are played here at least, however many helpers there are: theirs come late. Set
by hand; not tuned."""
FACT_DEVIATION, PATTERN_DEVIATION = 0.1, 0.2
"""Prior standard deviations of the change of a fact's own weight and of that which the facts of a pattern share, in log
odds. Set by hand: without the evaluation before as the centre, and with wider ones, new evaluations lost."""
MAX_POSITIONS, MAX_FACTS = 20_000, 4_000_000
"""Positions that are kept at most, and facts of all of them (true or not). Set by hand; not tuned."""
SINGLE_GENERATIONS = 4
"""Only then pairs have weights, too: the first generations make the most difference, and are made in half of the time
without them. Set by hand; not tuned."""
NEWTON_STEPS, MOST_HALVINGS = 3, 8
MOST_ODDS = 8.0
"""Log odds are taken to be no larger where chances are made of them. Set by hand; not tuned."""


class Experience(NamedTuple):
    """Positions of matches that an evaluation is learnt from."""

    facts: NDArray[np.bool_]
    """(n, fluents) which facts hold."""
    targets: NDArray[np.float64]
    """(n) 0..1"""
    fresh: int
    """Matches since the last evaluation was fitted."""


class Learner:
    """Improves the evaluation of a game, one generation at a time."""

    def __init__(
        self,
        machine: CircuitMachine,
        features: Features,
        start: LogisticEvaluation,
        *,
        earlier: int = 0,
        threads: int = 1,
        seed: int = 0,
        symmetries: Sequence[Symmetry] = (),
        team: Team | None = None,
    ) -> None:
        """`start` is the first evaluation, which `earlier` generations of another learner have made; `symmetries` are
        those of the game, or generate them; a `team` plays matches to learn from as well."""
        n = len(machine.game.fluents)
        self._features = features
        self._ties = ties = Ties(features, symmetries)
        self.evaluation = LogisticEvaluation(ties.expand(ties.mean(start.weights)), 0.0 if ties.odd else start.bias)
        self._earlier = earlier
        self.generations = 0
        """Evaluations that were fitted."""
        self.accepted = 0
        """Those that won."""
        self.matches = 0
        """Matches that were learnt from."""
        self._plies = 0
        """Of all of them."""
        self._prior = PATTERN_DEVIATION**2 * ties.patterns(features.patterns)
        self._prior[np.diag_indices(ties.n)] += FACT_DEVIATION**2
        self._facts = np.zeros((0, n), np.bool_)
        """Which facts hold in the positions that are kept."""
        self._x = np.zeros((0, ties.n), np.float32)
        """What each weight is multiplied by in them."""
        self._targets = np.zeros(0)
        self._fresh = 0
        """Matches since the last evaluation was fitted."""
        self.foresight = Foresight(machine, seed)
        """What was foreseen of matches before they were learnt from."""
        self._pace = LearningPace(earlier)
        self._candidate: LogisticEvaluation | None = None
        """One that is being tried out: what a stop interrupts goes on the next time."""
        self._points, self._played = 0.0, 0
        """What it has won so far, and in how many matches."""
        self._kept = min(MAX_POSITIONS, MAX_FACTS // max(1, ties.n))
        zobrist = np.random.default_rng(seed).integers(0, 1 << 64, n, np.uint64)
        self._tables = [LessonTable(machine, features, seed + i, zobrist) for i in range(threads)]
        self._actors = Actors(team, machine, features)
        self._lock = threading.Lock()

    def run(self, root: NDArray[np.uint64], stop: StopFlag) -> None:
        """Learns from matches that start at a packed state until `stop[0]`: at the latest when a fit is done.

        A second thread that calls it waits for the first.
        """
        with self._lock:
            if stop[0]:
                return
            with (
                ThreadPoolExecutor(len(self._tables), "learning") as pool,
                self._actors.playing(root, self.evaluation, self._pace.depth),
            ):
                while not stop[0]:
                    begin = time.monotonic()
                    learns = self._generation(pool, root, stop)
                    self._pace.seconds += time.monotonic() - begin
                    if not learns:
                        return

    @property
    def plies(self) -> float | None:
        """How long the matches were on average; None before the first one."""
        return self._plies / self.matches if self.matches else None

    def imitate(self, states: NDArray[np.uint64], results: NDArray[np.float64], stop: StopFlag) -> None:
        """Fits the evaluation to results (n), 0..1 for role 0, of packed states (n, words), unless it is stopped."""
        fitted = self._fit(self._inputs(facts_in(states, self._features.n_fluents)), results, stop)
        if fitted is not None:
            self.evaluation = fitted

    @property
    def experience(self) -> Experience:
        """What it has learnt from, and has still to learn from. Not where fluents share weights."""
        # An evaluation that is still being tried out is lost, and is to be fitted again.
        fresh = self._fresh if self._candidate is None else MATCHES
        return Experience(self._facts, self._targets, fresh)

    def resume(self, experience: Experience) -> None:
        """Goes on from what another learner of the game has left; nothing was recorded yet."""
        self._facts, self._targets = experience.facts[-self._kept :], experience.targets[-self._kept :]
        self._x, self._fresh = self._inputs(self._facts), experience.fresh

    def _inputs(self, facts: NDArray[np.bool_]) -> NDArray[np.float32]:
        """What each weight is multiplied by (n, weights) where these facts (n, fluents) hold."""
        return self._ties.reduce(self._features.of(facts))

    def _expected(self, x: NDArray[np.float32]) -> NDArray[np.float64]:
        """The results (n), 0..1, that the evaluation expects of positions by what its weights are multiplied by (n,
        weights)."""
        return _chances(x @ self._ties.mean(self.evaluation.weights) + self.evaluation.bias)

    def _generation(self, pool: ThreadPoolExecutor, root: NDArray[np.uint64], stop: StopFlag) -> bool:
        """Records matches, and fits and tries out an evaluation; returns whether there was anything to learn from."""
        for table in self._tables:
            table.set_evaluation(0, self.evaluation)
        self._actors.go_by(self.evaluation, self._pace.depth)
        if self._candidate is None:
            for table in self._tables:
                table.set_evaluation(1, self.evaluation)
            self._candidate = self._learn(pool, root, stop)
            self._points, self._played = 0.0, 0
        if self._candidate is None:
            return False
        for table in self._tables:
            table.set_evaluation(1, self._candidate)
        share = -(-(GATE - self._played) // (2 * len(self._tables)))
        results = list(pool.map(lambda table: table.compare(root, self._pace.depth, share, stop), self._tables))
        self._points += sum(points for points, _ in results)
        self._played += sum(played for _, played in results)
        if stop[0]:
            return False
        self.generations += 1
        self._pace.go_on(self._earlier + self.generations)
        if self._points > 0.5 * self._played:
            self.accepted += 1
            self.evaluation = self._candidate
        self._candidate = None
        return True

    def _learn(self, pool: ThreadPoolExecutor, root: NDArray[np.uint64], stop: StopFlag) -> LogisticEvaluation | None:
        """Records matches, and fits an evaluation to what is known; None where it was stopped, or nothing was there."""
        # What helpers have played while an evaluation was fitted and tried out.
        self._remember(self._actors.lessons())
        most, fewest = (-(-max(0, n - self._fresh) // len(self._tables)) for n in (MATCHES, FEWEST_MATCHES))
        begin = time.monotonic()
        parts = list(pool.map(lambda table: self._record(table, root, most, fewest, stop), self._tables))
        lessons = [lesson for part, _ in parts for lesson in part]
        self._pace.played(min(depth for _, depth in parts), self._fresh + len(lessons), time.monotonic() - begin)
        # What was recorded before a stop counts: else nothing would ever be learnt where there is little time at once.
        self._remember(lessons + self._actors.lessons())
        if stop[0] or not self._fresh:
            return None
        fitted = self._fit(self._x, self._targets, stop)
        if fitted is not None:
            self._fresh = 0
        return fitted

    def _remember(self, lessons: Sequence[Lesson]) -> None:
        """Learns from these matches as well from now on."""
        self._fresh += len(lessons)
        self.matches += len(lessons)
        self._plies += sum(lesson.plies for lesson in lessons)
        if lessons:
            states = np.concatenate([lesson.states for lesson in lessons])
            new = facts_in(states, self._features.n_fluents)
            x = self._inputs(new)
            # Positions of one match have the same result, so that more of them tell little more.
            some = np.cumsum([0, *(len(lesson.states) for lesson in lessons[:-1])])
            results = np.array([lesson.result for lesson in lessons])
            self.foresight.add(states[some], self._expected(x[some]), results)
            self._facts = np.concatenate([self._facts, new])[-self._kept :]
            self._x = np.concatenate([self._x, x])[-self._kept :]
            self._targets = np.concatenate([self._targets, *(lesson.targets for lesson in lessons)])[-self._kept :]

    def _record(
        self, table: LessonTable, root: NDArray[np.uint64], most: int, fewest: int, stop: StopFlag
    ) -> tuple[list[Lesson], int]:
        """Plays matches (see `LearningPace.matches`); what they teach, and how deep the last ones were."""
        lessons = []
        depth, own = self._pace.depth, len(self._tables)
        share = max(OWN_SHARE, own / (own + self._actors.size))
        for depth in self._pace.matches(most, fewest, share):
            lesson = table.record(root, depth, stop)
            if lesson is not None:
                lessons.append(lesson)
            if stop[0]:
                break
        return lessons, depth

    def _fit(self, x: NDArray[np.float32], y: NDArray[np.float64], stop: StopFlag) -> LogisticEvaluation | None:
        """Logistic regression of targets (n) on what weights are multiplied by (n, weights); None if it is stopped.

        The prior is normal, around the present evaluation.

        Newton's method (iteratively reweighted least squares) with step halving: whole steps go much too far where the
        evaluation is sure and wrong. The covariance of the prior may be singular, so that it is not inverted: what is
        solved for is the change in multiples of it.
        """
        old, ties = self.evaluation, self._ties
        used = ties.n if self._earlier + self.generations >= SINGLE_GENERATIONS else ties.n_single
        x, prior, weights = x[:, :used], self._prior[:used, :used], ties.mean(old.weights)[:used]
        base = x @ weights.astype(np.float32)
        # The change of the weights, the same in multiples of the prior, and that of the odds; and the bias.
        now = _LearningStep(np.zeros(used), np.zeros(used), np.zeros(len(x)), old.bias)
        loss = now.loss(base, y)
        for _ in range(NEWTON_STEPS):
            odds = base + now.odds + now.bias
            p = _chances(odds)
            importance = np.maximum(p * (1 - p), 0.01).astype(np.float32)
            wanted = odds + (y - p) / importance - base
            total = float(importance.sum())
            mean = (importance @ x).astype(np.float64) / total
            centre = float(importance @ wanted / total)
            if ties.odd:
                # No state is better for one role than its opposite is for the other one.
                mean, centre = np.zeros(used), 0.0
            # Of centred features, without a centred copy of all of them.
            covariance = (x.T @ (x * importance[:, None])).astype(np.float64) - total * np.outer(mean, mean)
            if stop[0]:
                return None
            inner = covariance @ prior
            inner[np.diag_indices(len(inner))] += 1
            residual = (importance * (wanted - centre)).astype(np.float32)
            multiples = np.linalg.solve(inner, residual @ x)
            change = prior @ multiples
            whole = _LearningStep(change, multiples, x @ change.astype(np.float32), centre - float(mean @ change))
            for halvings in range(MOST_HALVINGS + 1):
                step = now.towards(whole, 0.5**halvings)
                reached = step.loss(base, y)
                if reached < loss:
                    now, loss = step, reached
                    break
            else:
                break
            if stop[0]:
                return None
        return LogisticEvaluation(old.weights + ties.expand(np.pad(now.change, (0, ties.n - used))), now.bias)


def _chances(odds: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """The chances (n), 0..1, of log odds (n)."""
    chances: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(odds, -MOST_ODDS, MOST_ODDS)))
    return chances


class _LearningStep(NamedTuple):
    """Where a fit is."""

    change: NDArray[np.float64]
    """(features) of the weights."""
    multiples: NDArray[np.float64]
    """(features) what the prior's covariance is multiplied by to give the change."""
    odds: NDArray[np.float32] | NDArray[np.float64]
    """(n) what the change adds to the log odds of each position."""
    bias: float

    def towards(self, other: _LearningStep, share: float) -> _LearningStep:
        """Part of the way to another one."""
        return _LearningStep(
            self.change + share * (other.change - self.change),
            self.multiples + share * (other.multiples - self.multiples),
            self.odds + share * (other.odds - self.odds),
            self.bias + share * (other.bias - self.bias),
        )

    def loss(self, base: NDArray[np.float32], targets: NDArray[np.float64]) -> float:
        """What is to be minimised: the cross entropy of all targets (n), and what the prior has against the change.
        `base` (n) is what the odds were before, without a bias."""
        odds = base + self.odds + self.bias
        cross_entropy = np.logaddexp(0, odds).sum() - float(targets @ odds)
        return float(cross_entropy) + 0.5 * float(self.change @ self.multiples)
