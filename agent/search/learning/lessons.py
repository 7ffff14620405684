"""Matches of shallow searches, and what there is to learn from each: some positions, and how it went on from there.

Targets are lambda-returns of TD(lambda) (Sutton 1988), as the values of later positions vary less than results do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.alphabeta.table import new_table
from agent.search.engine import StopFlag
from agent.search.evaluation.features import Features
from agent.search.evaluation.logistic import LogisticEvaluation, points_of, probability
from agent.search.learning.selfplay import NO_RESULT, play_match
from agent.search.pvs.analysis import PvsSearcher
from agent.search.pvs.survey import MAX_PLIES
from games.gdl.running.machine import CircuitMachine

QUIET_PLIES = 2
"""Plies of quiescence at most in these matches. Learning for 15 s CPU so against 6 plies, two runs of 140 matches at
depths 2 and 3: breakthrough 0.78 (5 generations instead of 1), a knights' race 0.50; 1 ply 0.64 and 0.48, none 0.64 and
0.31."""
OPENING = 8
"""Most random plies at the start of a match. Set by hand; not tuned."""
RANDOM_MOVES = 3000
"""Chance of a random move, in 65536ths, in matches that are learnt from. Set by hand; not tuned."""
SAMPLES = 8
"""Positions of a match that are learnt from: neighbours tell the same. Set by hand; not tuned."""
LAMBDA = 0.8
"""Weight of what comes after the next position in a position's target. Set by hand; not tuned."""


class Lesson(NamedTuple):
    """Some positions of a match."""

    states: NDArray[np.uint64]
    """(n, words) packed."""
    targets: NDArray[np.float64]
    """(n) what role 0 may expect of them, 0..1."""
    plies: int
    """How long the match was."""
    result: float
    """What role 0 got, 0..1."""


class LessonTable:
    """One thread's pair of players."""

    def __init__(self, machine: CircuitMachine, features: Features, seed: int, zobrist: NDArray[np.uint64]) -> None:
        self.players = [PvsSearcher(machine, features, new_table(1), zobrist, QUIET_PLIES) for _ in range(2)]
        self._random = np.random.default_rng(seed)
        self._rng = np.array([seed], np.uint64)
        self._states = np.zeros((MAX_PLIES, machine.words), np.uint64)
        self._scores = np.zeros(MAX_PLIES, np.int64)

    def set_evaluation(self, player: int, evaluation: LogisticEvaluation) -> None:
        """What a player goes by from now on."""
        searcher = self.players[player]
        searcher.set_evaluation(*evaluation.in_units)
        searcher.game.table[:] = 0

    def play(
        self, first: int, root: NDArray[np.uint64], depth: int, opening: int, random: int, stop: StopFlag
    ) -> tuple[int, int]:
        """A match, player `first` being role 0; see `selfplay.play_match`."""
        games = [self.players[first].game, self.players[1 - first].game]
        n, result = play_match(*games, root.copy(), depth, opening, random, self._rng, self._states, self._scores, stop)
        return int(n), int(result)

    def record(self, root: NDArray[np.uint64], depth: int, stop: StopFlag) -> Lesson | None:
        """What a match from a packed state teaches, some random moves included; None if it did not come to its end."""
        opening = int(self._random.integers(0, OPENING + 1))
        n, result = self.play(0, root, depth, opening, RANDOM_MOVES, stop)
        if stop[0] or result == NO_RESULT or n == 0:
            return None
        chosen = self._random.choice(n, min(n, SAMPLES), replace=False)
        targets = _returns(self._scores[:n], result)
        return Lesson(self._states[chosen], targets[chosen], opening + n, points_of(result))

    def compare(self, root: NDArray[np.uint64], depth: int, pairs: int, stop: StopFlag) -> tuple[float, int]:
        """The points of player 1 against player 0 in pairs of matches with the same opening, and their number."""
        points, played = 0.0, 0
        for _ in range(pairs):
            opening, seed = int(self._random.integers(2, OPENING + 1)), self._rng[0]
            for first in (0, 1):
                self._rng[0] = seed
                _, result = self.play(first, root, depth, opening, 0, stop)
                if stop[0]:
                    return points, played
                if result != NO_RESULT:
                    points += points_of(result) if first == 1 else 1 - points_of(result)
                    played += 1
        return points, played


def _returns(scores: NDArray[np.int64], result: int) -> NDArray[np.float64]:
    """The lambda-returns (n), 0..1, of positions with these scores (n), NO_RESULT where nothing was searched."""
    targets = np.empty(len(scores))
    after = points_of(result)
    for i in range(len(scores) - 1, -1, -1):
        targets[i] = after
        if scores[i] != NO_RESULT:
            after = LAMBDA * after + (1 - LAMBDA) * probability(int(scores[i]))
    return targets
