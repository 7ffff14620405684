"""Matches of shallow searches, and the episode of each: some positions and how the match went on.

Targets are lambda-returns of TD(lambda) (Sutton 1988), as the values of later positions vary less than results.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.alphabeta.table import new_table
from agent.search.engine import StopFlag
from agent.search.evaluation.features import Features
from agent.search.evaluation.network import NetworkEvaluation, points_of, probability
from agent.search.learning.selfplay import NO_RESULT, play_match
from agent.search.pvs.analysis import PvsSearcher
from agent.search.pvs.survey import MAX_PLIES
from games.gdl.running.machine import CircuitMachine

QUIET_PLIES = 2
"""Limit on plies of quiescence in these matches. Tuned: 50 and 78 % of the points against 6 plies (see
docs/experiments.md)."""
OPENING = 8
"""Limit on random plies at the start of a match."""
RANDOM_MOVES = 3000
"""Chance of a random move, in 65536ths, in recorded matches."""
LAMBDA = 0.8
"""Share of later positions, beyond the next one, in a position's target."""


class Episode(NamedTuple):
    """Some positions of a match."""

    states: NDArray[np.uint64]
    """(n, words) packed."""
    movers: NDArray[np.int8]
    """(n) who chooses: see `NOBODY`."""
    targets: NDArray[np.float64]
    """(n) expected results for role 0, 0..1."""
    plies: int
    """Length of the match."""


class SelfPlay:
    """One thread's pair of players."""

    def __init__(self, machine: CircuitMachine, features: Features, seed: int, zobrist: NDArray[np.uint64]) -> None:
        self.players = [PvsSearcher(machine, features, new_table(1), zobrist, QUIET_PLIES) for _ in range(2)]
        self._random = np.random.default_rng(seed)
        self._rng = np.array([seed], np.uint64)
        self._states = np.zeros((MAX_PLIES, machine.words), np.uint64)
        self._movers = np.zeros(MAX_PLIES, np.int8)
        self._scores = np.zeros(MAX_PLIES, np.int64)

    def set_evaluation(self, player: int, evaluation: NetworkEvaluation) -> None:
        """Sets the evaluation of a player, 0 or 1."""
        searcher = self.players[player]
        searcher.set_evaluation(evaluation)
        searcher.game.table[:] = 0

    def play(
        self, first: int, root: NDArray[np.uint64], depth: int, opening: int, random: int, stop: StopFlag
    ) -> tuple[int, int]:
        """Plays a match with player `first` as role 0; see `selfplay.play_match`."""
        games = [self.players[first].game, self.players[1 - first].game]
        written = self._states, self._movers, self._scores
        n, result = play_match(*games, root.copy(), depth, opening, random, self._rng, *written, stop)
        return int(n), int(result)

    def record(self, root: NDArray[np.uint64], depth: int, stop: StopFlag) -> Episode | None:
        """Plays a match from a packed state, with some random moves; returns its episode, or None if it did not end."""
        opening = int(self._random.integers(0, OPENING + 1))
        n, result = self.play(0, root, depth, opening, RANDOM_MOVES, stop)
        if stop[0] or result == NO_RESULT or n == 0:
            return None
        targets = _returns(self._scores[:n], result)
        return Episode(self._states[:n].copy(), self._movers[:n].copy(), targets, opening + n)

    def compare(self, root: NDArray[np.uint64], depth: int, pairs: int, stop: StopFlag) -> tuple[float, int]:
        """Returns the points of player 1 against player 0 in pairs of matches with the same opening, and their
        number."""
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
    """Returns the lambda-returns (n), 0..1, of positions with these scores (n), NO_RESULT where nothing was
    searched."""
    targets = np.empty(len(scores))
    after = points_of(result)
    for i in range(len(scores) - 1, -1, -1):
        targets[i] = after
        if scores[i] != NO_RESULT:
            after = LAMBDA * after + (1 - LAMBDA) * probability(int(scores[i]))
    return targets
