"""Fits a linear evaluation to random play during a match: goals as a linear function of the facts that hold.

It takes the place of long playouts (Lorentz: Amazons discover Monte-Carlo, 2008). Least squares over states drawn from
random matches; the target is the match's result. Facts that match a pattern share a weight: the weight of `(cell a 8
rook)` is its own part plus parts for all cells with a rook, all on file a, and so on, each with a normal prior around 0
(ridge regression, Hoerl and Kennard 1970). So a few hundred matches teach the worth of a piece, and thousands that of
its place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from agent.search.engine import StopFlag
from agent.search.evaluation.sampling import (
    STATES_PER_MATCH,
    add_normal_equations,
    in_lanes,
    make_sampling_workspace,
    packed_states,
    play_batch,
)
from games.gdl.running.batches import facts_in
from games.gdl.running.machine import CircuitMachine
from games.machine import Term

MAX_FLUENTS = 1500
"""Limit on fluents of a game that is fitted: the time for the equations grows with the third power."""

FACT_DEVIATION = 0.1
"""Prior standard deviation of a fact's own weight, in goals of 0..1."""
PATTERN_DEVIATION = 0.2
"""Prior standard deviation of the weight shared by a pattern's facts."""

FIRST_FIT, LAST_FIT = 1 << 11, 1 << 17
"""States at the first fit and, doubling in between, at the last."""
HOPELESS_FIT = 1 << 14
"""States at the last fit of an evaluation still far from beating playouts."""
BATCH_WORDS = 8
"""Words of 64 states added to the equations at once."""

PLAYOUTS_PER_STATE = 8
"""Random playouts from each state of the validation set."""
ERROR_PER_PLY = 0.0005
"""Error allowed for each ply of random play saved (see `LinearEvaluation.beats_playouts`), found by matches against the
search with playouts."""


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


@dataclass(frozen=True)
class LinearEvaluation:
    """A linear evaluation of states: `bias` plus the weights of the fluents that hold."""

    weights: NDArray[np.float64]
    """(fluents, roles) added to a role's expected goal, 0..1."""
    bias: NDArray[np.float64]
    """(roles)"""
    spread: NDArray[np.float64]
    """(roles) the standard deviation of the evaluation over states."""
    error: float
    """Error variance against the mean result of random play, as a share of the variance of single results: the worst of
    all roles, plus one standard error."""
    length: float
    """Mean plies of a random match."""

    @property
    def beats_playouts(self) -> bool:
        """Whether to evaluate leaves instead of playing them out.

        A playout has no bias, but variance, and takes long; the evaluation is immediate and has no variance, but a
        bias. The longer the playouts, the larger the bias that pays.
        """
        return self.error < ERROR_PER_PLY * self.length


@dataclass
class _ValidationSet:
    """Batches of n states that no fit was based on, with results of random play from them."""

    states: list[NDArray[np.bool_]] = field(default_factory=list)
    """(n, fluents) each."""
    means: list[NDArray[np.float64]] = field(default_factory=list)
    """(n, roles) each: mean goals, 0..1."""
    noises: list[NDArray[np.float64]] = field(default_factory=list)
    """(n, roles) each: the means' variances."""
    used: int = 0
    """Batches at the last fit."""


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
        self._squares = np.zeros(roles)
        self._matches = 0
        self._plies = 0
        self._next_fit = FIRST_FIT
        self._unvalidated: list[NDArray[np.uint64]] = []
        self._validation = _ValidationSet()
        self._solver: threading.Thread | None = None
        self.evaluation: LinearEvaluation | None = None

    @property
    def solving(self) -> bool:
        """Whether equations are being solved; `step` then does nothing."""
        return self._solver is not None and self._solver.is_alive()

    @property
    def done(self) -> bool:
        """Whether no further fit will come."""
        if self._solver is not None:
            return False
        evaluation = self.evaluation
        hopeless = evaluation is not None and evaluation.error > 2 * ERROR_PER_PLY * evaluation.length
        return self._next_fit > (HOPELESS_FIT if hopeless else LAST_FIT)

    def step(self, root: NDArray[np.uint64], stop: StopFlag) -> bool:
        """Plays one batch of 64 random matches from a packed state (uint64[words]); returns whether there is a new fit.

        A thread of its own solves the equations, as that takes longer than a search may continue after `stop`.
        """
        if self._solver is not None:
            if self._solver.is_alive():
                return False
            self._solver = None
            return True
        if self._unvalidated:
            self._validate(self._unvalidated.pop(), stop)
        elif self._states >= self._next_fit:
            self._play(root, stop, self._draw_validation_states)
        else:
            self._play(root, stop, self._add_states)
        if (
            self._states >= self._next_fit
            and len(self._validation.states) > self._validation.used
            and not self._unvalidated
        ):
            self._validation.used = len(self._validation.states)
            self._next_fit *= 2
            self._solver = threading.Thread(target=self._fit, name="evaluation fit", daemon=True)
            self._solver.start()
        return False

    def _play(self, root: NDArray[np.uint64], stop: StopFlag, use: Callable[[int], None]) -> None:
        """Plays a batch, and calls `use` with the matches (a word) from which states could be drawn."""
        usable, ended, plies = play_batch(self._programs, self._workspace, root[None, :], stop)
        if stop[0]:
            return
        if int(usable).bit_count() < 32:
            # Over at once, without an end, or without goals: nothing to learn.
            self._next_fit = LAST_FIT + 1
            return
        self._plies += plies
        self._matches += int(ended).bit_count()
        use(int(usable))

    def _add_states(self, usable: int) -> None:
        """Adds the states drawn from these matches (a word) to the equations."""
        goals = self._workspace.goals[in_lanes(usable)].astype(np.float64)
        self._states += STATES_PER_MATCH * len(goals)
        self._total += STATES_PER_MATCH * goals.sum(axis=0)
        self._squares += STATES_PER_MATCH * (goals**2).sum(axis=0)
        for drawn in self._workspace.drawn:
            self._columns[:, self._used] = drawn & np.uint64(usable)
            self._goals[64 * self._used : 64 * self._used + 64] = self._workspace.goals
            self._used += 1
        if self._used == BATCH_WORDS or self._states >= self._next_fit:
            columns = np.ascontiguousarray(self._columns[:, : self._used])
            add_normal_equations(columns, self._goals, self._gram, self._moments)
            self._used = 0

    def _draw_validation_states(self, usable: int) -> None:
        """Draws states to validate the next fit, in groups for one batch each."""
        states = packed_states(self._workspace.drawn[0])[in_lanes(usable)]
        group = 64 // PLAYOUTS_PER_STATE
        self._unvalidated = [states[i : i + group] for i in range(0, len(states) // group * group, group)]

    def _validate(self, states: NDArray[np.uint64], stop: StopFlag) -> None:
        """Adds packed states (uint64[n, words]) with results of random play from them to the validation set."""
        _, ended, _ = play_batch(self._programs, self._workspace, states, stop)
        known = in_lanes(int(ended)).reshape(PLAYOUTS_PER_STATE, len(states)).all(axis=0)
        if stop[0] or not known.any():
            return
        results = self._workspace.goals.reshape(PLAYOUTS_PER_STATE, len(states), -1)[:, known].astype(np.float64)
        self._validation.states.append(facts_in(states[known], len(self._gram)))
        self._validation.means.append(results.mean(axis=0))
        self._validation.noises.append(results.var(axis=0, ddof=1) / PLAYOUTS_PER_STATE)

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
        spread = np.sqrt(np.maximum((weights * (covariance @ weights)).sum(axis=0) / n, 0.0))
        self.evaluation = LinearEvaluation(
            weights, goal - mean @ weights, spread, self._error(weights), self._plies / self._matches
        )

    def _error(self, weights: NDArray[np.float64]) -> float:
        """Returns `LinearEvaluation.error` of these weights on the validation set."""
        variance = self._squares / self._states - (self._total / self._states) ** 2
        means, noise = np.concatenate(self._validation.means), np.concatenate(self._validation.noises)
        errors = means - np.concatenate(self._validation.states) @ weights
        excess = (errors - errors.mean(axis=0)) ** 2 - noise
        upper = excess.mean(axis=0) + excess.std(axis=0) / np.sqrt(len(excess))
        return float(max((upper[role] / v for role, v in enumerate(variance) if v > 0), default=np.inf))


def warm_kernels(machine: CircuitMachine) -> None:
    """Makes this process compile the kernels of sampling and fitting, or load them from the cache."""
    workspace = make_sampling_workspace(machine.programs, 1)
    play_batch(machine.programs, workspace, machine.pack(machine.initial())[None, :], np.zeros(1, np.uint8))
    n, roles = workspace.drawn.shape[1], workspace.goals.shape[1]
    add_normal_equations(
        np.ascontiguousarray(workspace.drawn[:1].T), workspace.goals, np.zeros((n, n), np.int64), np.zeros((n, roles))
    )
