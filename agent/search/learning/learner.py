"""Learns the evaluation from matches of shallow searches: logistic regression of results on the facts that hold.

Policy iteration: the search plays against itself, a candidate is fitted to these matches, and replaces the evaluation
if it wins more than half of the points against it. The prior is centred on the evaluation; facts that match a pattern
share a part of their weight. The fit to random play (`agent.search.evaluation`) is the first evaluation.
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
from agent.search.evaluation.network import NetworkEvaluation
from agent.search.evaluation.training import Trainer
from agent.search.learning.actors import Actors
from agent.search.learning.foresight import Foresight
from agent.search.learning.lessons import Lesson, LessonTable
from agent.search.learning.pace import FEWEST_MATCHES, MATCHES, LearningPace
from agent.search.learning.ties import views_of
from agent.search.team import Team
from games.gdl.running.batches import facts_in
from games.gdl.running.machine import CircuitMachine
from games.gdl.structure.symmetry import Symmetry

GATE = 32
"""Matches of a candidate against the evaluation."""
OWN_SHARE = 0.25
"""Least share of a generation's matches played here, however many helpers there are: theirs come late."""
MAX_POSITIONS = 300_000
"""Limit on positions kept."""
import os
VISITS = int(os.environ.get("VISITS", 8))
"""Visits of positions for each new one."""


class Experience(NamedTuple):
    """Positions of matches to learn from."""

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
        start: NetworkEvaluation | None,
        *,
        earlier: int = 0,
        threads: int = 1,
        seed: int = 0,
        symmetries: Sequence[Symmetry] = (),
        team: Team | None = None,
    ) -> None:
        """`start` is the first evaluation, made by `earlier` generations of another learner. `symmetries` are those of
        the game, or generate them; a `team` plays matches, too."""
        self._features = features
        self.trainer = Trainer(features, machine.words, MAX_POSITIONS, seed, *views_of(features, symmetries))
        if start is not None:
            self.trainer.evaluation = start
        self.evaluation = self.trainer.evaluation
        self._earlier = earlier
        self.generations = 0
        """Candidates fitted."""
        self.accepted = 0
        """Candidates that won."""
        self.matches = 0
        """Matches learnt from."""
        self._plies = 0
        """Total of these matches."""
        self._new = 0
        """Positions not learnt from."""
        self._fresh = 0
        """Matches since the last evaluation was fitted."""
        self.foresight = Foresight(machine, seed)
        """Results expected of matches before learning from them."""
        self._pace = LearningPace(earlier)
        self._candidate: NetworkEvaluation | None = None
        """Being tried out; kept when stopped."""
        self._points, self._played = 0.0, 0
        """Its points and matches so far."""
        self._random = np.random.default_rng(seed)
        zobrist = np.random.default_rng(seed).integers(0, 1 << 64, len(machine.game.fluents), np.uint64)
        self._tables = [LessonTable(machine, features, seed + i, zobrist) for i in range(threads)]
        self._actors = Actors(team, machine, features)
        self._lock = threading.Lock()

    def run(self, root: NDArray[np.uint64], stop: StopFlag) -> None:
        """Learns from matches that start at a packed state until `stop[0]`; ends after a running fit at the latest.

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
        """Mean length of the matches; None before the first one."""
        return self._plies / self.matches if self.matches else None

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

    def _learn(self, pool: ThreadPoolExecutor, root: NDArray[np.uint64], stop: StopFlag) -> NetworkEvaluation | None:
        """Records matches and fits a candidate; None if it was stopped, or there was nothing to learn from."""
        # Played by helpers during the last fit and trial.
        self._remember(self._actors.lessons())
        most, fewest = (-(-max(0, n - self._fresh) // len(self._tables)) for n in (MATCHES, FEWEST_MATCHES))
        begin = time.monotonic()
        parts = list(pool.map(lambda table: self._record(table, root, most, fewest, stop), self._tables))
        lessons = [lesson for part, _ in parts for lesson in part]
        self._pace.played(min(depth for _, depth in parts), self._fresh + len(lessons), time.monotonic() - begin)
        # Also what was recorded before a stop: else little time at once would teach nothing.
        self._remember(lessons + self._actors.lessons())
        if stop[0] or not self._fresh:
            return None
        self.trainer.train(VISITS * self._new, stop)
        if stop[0]:
            return None
        self._fresh = self._new = 0
        return self.trainer.evaluation

    def _remember(self, lessons: Sequence[Lesson]) -> None:
        """Adds these matches to the positions kept."""
        self._fresh += len(lessons)
        self.matches += len(lessons)
        self._plies += sum(lesson.plies for lesson in lessons)
        if lessons:
            # One position of each match: the others have the same result.
            some = [int(self._random.integers(len(lesson.states))) for lesson in lessons]
            states = np.array([lesson.states[i] for lesson, i in zip(lessons, some, strict=True)])
            movers = np.array([lesson.movers[i] for lesson, i in zip(lessons, some, strict=True)])
            results = np.array([lesson.result for lesson in lessons])
            foreseen = 1 / (1 + np.exp(-self.trainer.odds(states, movers).astype(np.float64)))
            self.foresight.add(states, foreseen, results)
            for lesson in lessons:
                self.trainer.add(lesson.states, lesson.movers, lesson.targets)
                self._new += len(lesson.states)

    def _record(
        self, table: LessonTable, root: NDArray[np.uint64], most: int, fewest: int, stop: StopFlag
    ) -> tuple[list[Lesson], int]:
        """Plays matches (see `LearningPace.matches`); returns their lessons, and the depth of the last ones."""
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

