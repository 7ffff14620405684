"""Learns the evaluation from matches of shallow searches: logistic regression on the facts that hold, then a network.

Policy iteration: the search plays against itself, a candidate is fitted to these matches, and replaces the evaluation
if it wins more points for its nodes against it. At first candidates are linear, with a prior centred on the
evaluation; facts that match a pattern share a part of their weight. The fit to random play (`first_evaluation`) comes
first. A network needs far more matches, and goes on to learn where a linear evaluation has learnt all that it can
express (see docs/experiments.md).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.engine import StopFlag
from agent.search.evaluation.features import Features
from agent.search.evaluation.network import NetworkEvaluation, linear_evaluation
from agent.search.evaluation.training import MOST_ODDS, Trainer
from agent.search.learning.actors import Actors
from agent.search.learning.episodes import Episode, SelfPlay
from agent.search.learning.pace import FEWEST_MATCHES, MATCHES, LearningPace
from agent.search.team import Team
from games.gdl.running.batches import facts_in, packed
from games.gdl.running.machine import CircuitMachine

GATE = 32
"""Matches of a candidate against the evaluation."""
OWN_SHARE = 0.25
"""Least share of a generation's matches played here, however many helpers there are: theirs come late."""
FACT_DEVIATION, PATTERN_DEVIATION = 0.1, 0.2
"""Prior standard deviations of the change of a fact's own weight and of a pattern's, in log odds. With wider ones, or
without the last evaluation as the centre, new evaluations lost."""
MAX_POSITIONS, MAX_FACTS = 20_000, 4_000_000
"""Limits on positions kept, and on their facts (true or not) in total."""
SAMPLES = 8
"""Positions of a match for linear fits: neighbours teach the same."""
FIRST_NETWORK, MAX_TRAINED, MAX_BYTES = 300_000, 400_000, 1 << 25
"""Positions from which a network is learnt, and limits on those kept for it. With fewer, networks lose to the linear
evaluation (see docs/experiments.md)."""
VISITS = 4
"""Visits of each position by which a network learns."""
GROWTH = 0.2
"""Least share of new matches in a generation: the longer one learns, the less each match changes."""
SINGLE_GENERATIONS = 4
"""Generations without weights of pairs: the first generations gain most, and take half the time so."""
NEWTON_STEPS, MOST_HALVINGS = 3, 8


class Experience(NamedTuple):
    """Positions of matches to learn from."""

    facts: NDArray[np.bool_]
    """(n, fluents) which facts hold."""
    movers: NDArray[np.int8]
    """(n) who chooses: see `NOBODY`."""
    targets: NDArray[np.float64]
    """(n) 0..1"""
    fresh: int
    """Matches since the last evaluation was fitted."""


class Generation(NamedTuple):
    """Figures of one generation. Losses are mean cross entropies of targets, in nats."""

    depth: int
    """Plies searched in its matches."""
    loss: float
    """Of the candidate, over the positions that it was fitted to."""
    held_out: float
    """Of the evaluation before, over the positions of new matches, which it was not fitted to."""
    points: float
    """Of the candidate against the evaluation before."""
    played: int
    """Matches between them."""
    nodes: float
    """Nodes that the candidate searched in these for each of the other's."""
    better: bool
    """Whether the candidate replaces the evaluation: it won more points for its nodes."""


class Learner:
    """Improves the evaluation of a game, one generation at a time."""

    def __init__(
        self,
        machine: CircuitMachine,
        features: Features,
        start: NetworkEvaluation,
        *,
        earlier: int = 0,
        threads: int = 1,
        seed: int = 0,
        team: Team | None = None,
    ) -> None:
        """`start` is the first evaluation, made by `earlier` generations of another learner; a `team` plays matches,
        too."""
        n = len(machine.game.fluents)
        self.features = features
        self.evaluation = start
        self._earlier = earlier
        self.generations = 0
        """Candidates fitted."""
        self.accepted = 0
        """Candidates that won."""
        self.matches = 0
        """Matches learnt from."""
        self._plies = 0
        """Total of these matches."""
        self.latest: Generation | None = None
        """None before the first one."""
        self._loss = self._held_out = math.nan
        self._prior = PATTERN_DEVIATION**2 * features.patterns.astype(np.float64)
        self._prior[np.diag_indices(features.n)] += FACT_DEVIATION**2
        self._x = np.zeros((0, features.n), np.float32)
        """(positions, features) of the next linear fit."""
        self._targets = np.zeros(0)
        most = min(MAX_TRAINED, MAX_BYTES // (8 * machine.words))
        self._trainer = Trainer(features, machine.words, most, seed)
        self._fresh = 0
        """Matches since the last evaluation was fitted."""
        self._pace = LearningPace(earlier)
        self._candidate: NetworkEvaluation | None = None
        """Being tried out; kept when stopped."""
        self._points, self._played = 0.0, 0
        """Its points and matches so far."""
        self._spent = np.ones(2)
        """Nodes searched in these matches by the evaluation and by the candidate."""
        self._kept = min(MAX_POSITIONS, MAX_FACTS // max(1, features.n))
        self._random = np.random.default_rng(seed)
        zobrist = np.random.default_rng(seed).integers(0, 1 << 64, n, np.uint64)
        self._tables = [SelfPlay(machine, features, seed + i, zobrist) for i in range(threads)]
        self._actors = Actors(team, machine, features)
        self._lock = threading.Lock()

    def run(self, root: NDArray[np.uint64], stop: StopFlag, told: Callable[[], None] = lambda: None) -> None:
        """Learns from matches that start at a packed state until `stop[0]`; ends after a running fit at the latest.

        A second thread that calls it waits for the first. Calls `told` after each generation.
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
                    told()

    @property
    def _searched(self) -> NDArray[np.int64]:
        """(2) nodes searched so far by the players 0 and 1 of all tables."""
        nodes = [[player.nodes for player in table.players] for table in self._tables]
        searched: NDArray[np.int64] = np.array(nodes).sum(axis=0)
        return searched

    @property
    def plies(self) -> float | None:
        """Mean length of the matches; None before the first one."""
        return self._plies / self.matches if self.matches else None

    def imitate(self, states: NDArray[np.uint64], results: NDArray[np.float64]) -> None:
        """Fits the evaluation to results (n), 0..1 for role 0, of the last packed states (n, words) that are not too
        many. Cannot be stopped."""
        x = self._trainer.features_of(states[-self._kept :])
        fitted = self._fit(x, results[-self._kept :], np.zeros(1, np.uint8))
        assert fitted is not None
        self.evaluation = fitted

    @property
    def experience(self) -> Experience:
        """Some of the positions learnt from. Not available where fluents share weights."""
        states, movers, targets = self._trainer.newest(self._trainer.most)
        some = np.sort(self._random.permutation(len(states))[:MAX_POSITIONS])
        # A candidate is not kept: its matches count as fresh.
        fresh = self._fresh if self._candidate is None else MATCHES
        facts = facts_in(states[some], self.features.n_fluents)
        return Experience(facts, movers[some], targets[some].astype(np.float64), fresh)

    def resume(self, experience: Experience) -> None:
        """Continues another learner's work on the game; only before anything is recorded."""
        states = packed(experience.facts)
        self._trainer.add(states, experience.movers, experience.targets)
        self._x, self._targets = self._trainer.features_of(states[-self._kept :]), experience.targets[-self._kept :]
        self._fresh = experience.fresh

    def _generation(self, pool: ThreadPoolExecutor, root: NDArray[np.uint64], stop: StopFlag) -> bool:
        """Records matches, fits a candidate and tries it out; returns whether there was anything to learn from."""
        for table in self._tables:
            table.set_evaluation(0, self.evaluation)
        self._actors.go_by(self.evaluation, self._pace.depth)
        if self._candidate is None:
            for table in self._tables:
                table.set_evaluation(1, self.evaluation)
            self._candidate = self._learn(pool, root, stop)
            self._points, self._played = 0.0, 0
            self._spent[:] = 1
        if self._candidate is None:
            return False
        for table in self._tables:
            table.set_evaluation(1, self._candidate)
        share = -(-(GATE - self._played) // (2 * len(self._tables)))
        self._spent -= self._searched
        results = list(pool.map(lambda table: table.compare(root, self._pace.depth, share, stop), self._tables))
        self._spent += self._searched
        self._points += sum(points for points, _ in results)
        self._played += sum(played for _, played in results)
        if stop[0]:
            return False
        self.generations += 1
        # At equal depth an evaluation that jumps searches more, and wins by that alone.
        nodes = float(self._spent[1] / self._spent[0])
        accepted = self._points > (self._played - self._points) * nodes
        losses = self._loss, self._held_out
        self.latest = Generation(self._pace.depth, *losses, self._points, self._played, nodes, accepted)
        self._pace.go_on(self._earlier + self.generations)
        if accepted:
            self.accepted += 1
            self.evaluation = self._candidate
        self._candidate = None
        return True

    def _learn(self, pool: ThreadPoolExecutor, root: NDArray[np.uint64], stop: StopFlag) -> NetworkEvaluation | None:
        """Records matches and fits a candidate; None if it was stopped, or there was nothing to learn from."""
        self._play(pool, root, stop)
        while self.lacking and not stop[0]:
            self._play(pool, root, stop)
        if stop[0] or not self._fresh:
            return None
        fitted = self._fitted(stop)
        if fitted is not None:
            self._fresh = 0
            states, movers, targets = self._trainer.newest(MAX_POSITIONS)
            self._loss = _cross_entropy(self._trainer.expected(fitted, states, movers), targets)
        return fitted

    def _play(self, pool: ThreadPoolExecutor, root: NDArray[np.uint64], stop: StopFlag) -> None:
        """Records the matches that this generation still wants."""
        # Played by helpers during the last fit and trial.
        self._remember(self._actors.episodes())
        most, fewest = (-(-max(0, n - self._fresh) // len(self._tables)) for n in (self._wanted, FEWEST_MATCHES))
        begin = time.monotonic()
        parts = list(pool.map(lambda table: self._record(table, root, most, fewest, stop), self._tables))
        episodes = [episode for part, _ in parts for episode in part]
        self._pace.played(min(depth for _, depth in parts), self._fresh + len(episodes), time.monotonic() - begin)
        # Also what was recorded before a stop: else little time at once would teach nothing.
        self._remember(episodes + self._actors.episodes())

    def _fitted(self, stop: StopFlag) -> NetworkEvaluation | None:
        """Returns the next candidate: a linear evaluation, or a network where there are positions enough; None if
        stopped."""
        trainer = self._trainer
        if self.evaluation.linear and trainer.positions < FIRST_NETWORK:
            return self._fit(self._x, self._targets, stop)
        return trainer.trained(self.evaluation, VISITS * trainer.kept, stop)

    @property
    def lacking(self) -> int:
        """Positions that must be played before a network can get better: after an interruption those that it was learnt
        from are gone."""
        return 0 if self.evaluation.linear else max(0, min(FIRST_NETWORK, self._trainer.most) - self._trainer.kept)

    @property
    def _wanted(self) -> int:
        """Matches of this generation."""
        wanted = max(MATCHES, int(GROWTH * self.matches))
        if not self.lacking:
            return wanted
        return max(wanted, self._fresh + 1 + (int(self.lacking / self.plies) if self.plies else 0))

    def _remember(self, episodes: Sequence[Episode]) -> None:
        """Adds these matches to the positions kept."""
        self._fresh += len(episodes)
        self.matches += len(episodes)
        self._plies += sum(episode.plies for episode in episodes)
        if not episodes:
            return
        states, movers, targets = (
            np.concatenate([getattr(episode, name) for episode in episodes]) for name in ("states", "movers", "targets")
        )
        expected = self._trainer.expected(self.evaluation, states, movers)
        self._held_out = _cross_entropy(expected, targets)
        self._trainer.add(states, movers, targets)
        if self.evaluation.linear:
            chosen = np.sort(self._random.permutation(len(states))[: SAMPLES * len(episodes)])
            self._x = np.concatenate([self._x, self._trainer.features_of(states[chosen])])[-self._kept :]
            self._targets = np.concatenate([self._targets, targets[chosen]])[-self._kept :]

    def _record(
        self, table: SelfPlay, root: NDArray[np.uint64], most: int, fewest: int, stop: StopFlag
    ) -> tuple[list[Episode], int]:
        """Plays matches (see `LearningPace.matches`); returns their episodes, and the depth of the last ones."""
        episodes = []
        depth, own = self._pace.depth, len(self._tables)
        share = max(OWN_SHARE, own / (own + self._actors.size))
        for depth in self._pace.matches(most, fewest, share):
            episode = table.record(root, depth, stop)
            if episode is not None:
                episodes.append(episode)
            if stop[0]:
                break
        return episodes, depth

    def _fit(self, x: NDArray[np.float32], y: NDArray[np.float64], stop: StopFlag) -> NetworkEvaluation | None:
        """Returns the logistic regression of targets (n) on features (n, features); None if stopped.

        The prior is normal, around the present evaluation. Newton's method (iteratively reweighted least squares) with
        step halving: whole steps go much too far where the evaluation is sure and wrong. The prior covariance may be
        singular, so it is not inverted: the equations are solved for the change in multiples of it.
        """
        old, features = self.evaluation, self.features
        used = features.n if self._earlier + self.generations >= SINGLE_GENERATIONS else features.n_single
        x, prior, weights = x[:, :used], self._prior[:used, :used], old.weights[:used]
        base = x @ weights.astype(np.float32)
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
            # Covariance of centred features, without a centred copy of them.
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
        return linear_evaluation(old.weights + np.pad(now.change, (0, features.n - used)), now.bias)


def _cross_entropy(expected: NDArray[np.float64], targets: NDArray[np.floating[Any]]) -> float:
    """Returns the mean cross entropy of targets (n), in nats, with results expected (n); both 0..1."""
    return -float((targets * np.log(expected) + (1 - targets) * np.log1p(-expected)).mean())


def _chances(odds: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Returns the chances (n), 0..1, of log odds (n)."""
    chances: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(odds, -MOST_ODDS, MOST_ODDS)))
    return chances


class _LearningStep(NamedTuple):
    """A point of a fit's descent."""

    change: NDArray[np.float64]
    """(features) change of the weights."""
    multiples: NDArray[np.float64]
    """(features) the change in multiples of the prior's covariance."""
    odds: NDArray[np.float32] | NDArray[np.float64]
    """(n) change of each position's log odds."""
    bias: float

    def towards(self, other: _LearningStep, share: float) -> _LearningStep:
        """Returns a point on the way to another one."""
        return _LearningStep(
            self.change + share * (other.change - self.change),
            self.multiples + share * (other.multiples - self.multiples),
            self.odds + share * (other.odds - self.odds),
            self.bias + share * (other.bias - self.bias),
        )

    def loss(self, base: NDArray[np.float32], targets: NDArray[np.float64]) -> float:
        """Returns the loss to minimise: the cross entropy of all targets (n) plus the prior's penalty. `base` (n) are
        the odds before the change, without a bias."""
        odds = base + self.odds + self.bias
        cross_entropy = np.logaddexp(0, odds).sum() - float(targets @ odds)
        return float(cross_entropy) + 0.5 * float(self.change @ self.multiples)
