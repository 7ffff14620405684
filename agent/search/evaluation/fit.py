"""Fits a linear evaluation to random play during a match: goals as a linear function of the facts that hold.

Learning starts with it. Least squares over states drawn from
random matches; the target is the match's result. Facts that match a pattern share a weight: the weight of `(cell a 8
rook)` is its own part plus parts for all cells with a rook, all on file a, and so on, each with a normal prior around 0
(ridge regression, Hoerl and Kennard 1970). So a few hundred matches teach the worth of a piece, and thousands that of
its place.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.engine import StopFlag
from agent.search.evaluation.sampling import (
    STATES_PER_MATCH,
    add_normal_equations,
    in_lanes,
    make_sampling_workspace,
    play_batch,
)
from games.gdl.running.machine import CircuitMachine
from games.machine import Term

MAX_FLUENTS = 1500
"""Limit on fluents of a game that is fitted: the time for the equations grows with the third power."""

FACT_DEVIATION = 0.1
"""Prior standard deviation of a fact's own weight, in goals of 0..1."""
PATTERN_DEVIATION = 0.2
"""Prior standard deviation of the weight shared by a pattern's facts."""

FIRST_FIT, LAST_FIT = 1 << 11, 1 << 14
"""States at the first fit and, doubling in between, at the last."""
BATCH_WORDS = 8
"""Words of 64 states added to the equations at once."""


def shared_patterns(fluents: Sequence[Term]) -> NDArray[np.float32]:
    """Returns (fluents, fluents) the number of patterns that two facts share.

    A pattern is a relation with none, one or two arguments given; one of a single fact does not count.
    """
    members: dict[tuple[object, ...], list[int]] = {}
    for index, fluent in enumerate(fluents):
        if not isinstance(fluent, tuple):
            continue
        arguments = list(enumerate(fluent[1:], 1))
        for size in range(min(3, len(arguments))):
            for chosen in combinations(arguments, size):
                members.setdefault((fluent[0], len(fluent), *chosen), []).append(index)
    shared = np.zeros((len(fluents), len(fluents)), np.float32)
    for group in members.values():
        if len(group) > 1:
            shared[np.ix_(group, group)] += 1
    return shared


class LinearEvaluation(NamedTuple):
    """A linear evaluation of states: `bias` plus the weights of the fluents that hold."""

    weights: NDArray[np.float64]
    """(fluents, roles) added to a role's expected goal, 0..1."""
    bias: NDArray[np.float64]
    """(roles)"""


class EvaluationTrainer:
    """Fits the evaluation of a game's states, a batch of random matches at a time."""

    def __init__(self, machine: CircuitMachine, seed: int) -> None:
        n, roles = len(machine.game.fluents), len(machine.roles)
        self._programs = machine.programs
        self._workspace = make_sampling_workspace(machine.programs, seed)
        self._prior = np.float64(PATTERN_DEVIATION**2) * shared_patterns(machine.game.fluents)
        self._prior[np.diag_indices(n)] += FACT_DEVIATION**2
        self._columns = np.zeros((n, BATCH_WORDS), np.uint64)
        self._goals = np.zeros((64 * BATCH_WORDS, roles), np.float32)
        self._used = 0
        self._gram = np.zeros((n, n), np.int64)
        self._moments = np.zeros((n, roles))
        self._states = 0
        self._total = np.zeros(roles)
        self._next_fit = FIRST_FIT
        self._solver: threading.Thread | None = None
        self.evaluation: LinearEvaluation | None = None

    @property
    def solving(self) -> bool:
        """Whether equations are being solved; `step` then does nothing."""
        return self._solver is not None and self._solver.is_alive()

    @property
    def done(self) -> bool:
        """Whether no further fit will come."""
        return self._solver is None and self._next_fit > LAST_FIT

    def step(self, root: NDArray[np.uint64], stop: StopFlag) -> bool:
        """Plays one batch of 64 random matches from a packed state (uint64[words]); returns whether there is a new fit.

        A thread of its own solves the equations, as that takes longer than a search may continue after `stop`.
        """
        if self._solver is not None:
            if self._solver.is_alive():
                return False
            self._solver = None
            return True
        usable, _, _ = play_batch(self._programs, self._workspace, root[None, :], stop)
        if stop[0]:
            return False
        if int(usable).bit_count() < 32:
            # Over at once, without an end, or without goals: nothing to learn.
            self._next_fit = LAST_FIT + 1
            return False
        self._add_states(int(usable))
        if self._states >= self._next_fit:
            self._next_fit *= 2
            self._solver = threading.Thread(target=self._fit, name="evaluation fit", daemon=True)
            self._solver.start()
        return False

    def _add_states(self, usable: int) -> None:
        """Adds the states drawn from these matches (a word) to the equations."""
        goals = self._workspace.goals[in_lanes(usable)].astype(np.float64)
        self._states += STATES_PER_MATCH * len(goals)
        self._total += STATES_PER_MATCH * goals.sum(axis=0)
        for drawn in self._workspace.drawn:
            self._columns[:, self._used] = drawn & np.uint64(usable)
            self._goals[64 * self._used : 64 * self._used + 64] = self._workspace.goals
            self._used += 1
        if self._used == BATCH_WORDS or self._states >= self._next_fit:
            columns = np.ascontiguousarray(self._columns[:, : self._used])
            add_normal_equations(columns, self._goals, self._gram, self._moments)
            self._used = 0

    def _fit(self) -> None:
        """Solves the equations: Bayesian linear regression with the prior covariance in `_prior`."""
        n = self._states
        gram = self._gram + np.triu(self._gram, 1).T
        mean = np.diag(gram) / n
        goal = self._total / n
        covariance = gram - n * np.outer(mean, mean)
        target = self._moments - n * np.outer(mean, goal)
        inner = covariance @ self._prior
        inner[np.diag_indices(len(inner))] += 1.0
        weights = self._prior @ np.linalg.solve(inner, target)
        self.evaluation = LinearEvaluation(weights, goal - mean @ weights)
