"""A judge of positions, learnt during a match from random play: goals as a linear function of the facts that hold.

A look at the board in place of a long playout (Lorentz: Amazons discover Monte-Carlo, 2008). The function is found by
least squares over states drawn from random matches, with what these ended in as the target. Facts of one form share
what they have in common: the weight of `(cell a 8 rook)` is its own part plus parts for all cells with a rook, all on
file a, and so on, each of them taken to be small beforehand (ridge regression, Hoerl and Kennard 1970). So a few
hundred matches show what a piece is worth, and thousands where it stands well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from agent.search.engine import StopFlag
from agent.search.tree.judge.sampling import PER_MATCH, digest, in_lanes, new_sampler, packed_states, play_batch
from games.gdl.running.machine import CircuitMachine
from games.machine import Term

MAX_FLUENTS = 1500
"""Larger games are not learnt: the time for the equations grows with the third power."""

OWN_DEVIATION = 0.1
"""How much a fact by itself is taken to matter beforehand, in standard deviations of the goals."""
SHARED_DEVIATION = 0.2
"""The same for what all facts of a form matter together."""

FIRST_FIT, LAST_FIT = 1 << 11, 1 << 17
"""States after which the equations are solved for the first time and, doubling in between, for the last time."""
HOPELESS_FIT = 1 << 14
"""States after which learning ends where the judge is still far from being good."""
WORDS = 8
"""Words of states that are counted at once."""

COPIES = 8
"""Random matches from each state that shows how good the judge is."""
ERROR_PER_PLY = 0.0005
"""How wrong a judge may be for each ply of random play that it saves, see `Judgement.good`; decided by matches."""


def shared_forms(fluents: Sequence[Term]) -> NDArray[np.float32]:
    """(fluents, fluents): how many forms two facts share: the relation, with no, one or two arguments in common.

    A form that only one fact has does not count.
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
class Judgement:
    """What has been learnt so far."""

    weights: NDArray[np.float64]
    """(fluents, roles): what a fact adds to a role's goal, 0..1."""
    bias: NDArray[np.float64]
    """(roles)"""
    spread: NDArray[np.float64]
    """(roles): the standard deviation of the judged goals over states."""
    error: float
    """Variance over states of judged goal less mean result of random play, as a share of the variance of single
    results: an upper estimate (by one standard error), the worst of all roles."""
    length: float
    """Mean plies of a random match."""

    @property
    def good(self) -> bool:
        """Whether judging beats playing out.

        A playout is right on average, but noisy and long; the judge is at once there, and always wrong by the same. The
        longer the playouts that it saves, the more of them it has to stand for.
        """
        return self.error < ERROR_PER_PLY * self.length


@dataclass
class _Checks:
    """States with results of random play from them, on which no fit was based."""

    states: list[NDArray[np.bool_]] = field(default_factory=list)
    means: list[NDArray[np.float64]] = field(default_factory=list)
    noises: list[NDArray[np.float64]] = field(default_factory=list)
    used: int = 0
    """How many of the batches there were at the last fit."""


class Learner:
    """Learns to judge the states of a game, a batch of random matches at a time."""

    def __init__(self, machine: CircuitMachine, seed: int) -> None:
        n, roles = len(machine.game.fluents), len(machine.roles)
        self._programs = machine.programs
        self._sampler = new_sampler(machine.programs, seed)
        self._prior = np.float64(SHARED_DEVIATION**2) * shared_forms(machine.game.fluents)
        self._prior[np.diag_indices(n)] += OWN_DEVIATION**2
        self._columns = np.zeros((n, WORDS), np.uint64)
        self._goals = np.zeros((64 * WORDS, roles), np.float32)
        self._used = 0
        self._pairs = np.zeros((n, n), np.int64)
        self._sums = np.zeros((n, roles))
        self._states = 0
        self._total = np.zeros(roles)
        self._squares = np.zeros(roles)
        self._matches = 0
        self._plies = 0
        self._next_fit = FIRST_FIT
        self._to_check: list[NDArray[np.uint64]] = []
        self._checks = _Checks()
        self._solver: threading.Thread | None = None
        self.judgement: Judgement | None = None

    @property
    def done(self) -> bool:
        """Whether there is nothing more to learn."""
        if self._solver is not None:
            return False
        judgement = self.judgement
        hopeless = judgement is not None and judgement.error > 2 * ERROR_PER_PLY * judgement.length
        return self._next_fit > (HOPELESS_FIT if hopeless else LAST_FIT)

    def work(self, root: NDArray[np.uint64], stop: StopFlag) -> bool:
        """Play one batch of 64 random matches from a packed state; whether there is a new judgement.

        Equations are solved by a thread of their own, as that takes longer than a search may go on after `stop`.
        """
        if self._solver is not None:
            if self._solver.is_alive():
                return False
            self._solver = None
            return True
        if self._to_check:
            self._check(self._to_check.pop(), stop)
        elif self._states >= self._next_fit:
            self._play(root, stop, self._draw_checks)
        else:
            self._play(root, stop, self._take)
        if self._states >= self._next_fit and len(self._checks.states) > self._checks.used and not self._to_check:
            self._checks.used = len(self._checks.states)
            self._next_fit *= 2
            self._solver = threading.Thread(target=self._fit, name="judge", daemon=True)
            self._solver.start()
        return False

    def _play(self, root: NDArray[np.uint64], stop: StopFlag, use: Callable[[int], None]) -> None:
        """Play a batch, and make use of the matches (a word) from which states could be drawn."""
        usable, ended, plies = play_batch(self._programs, self._sampler, root[None, :], stop)
        if stop[0]:
            return
        if int(usable).bit_count() < 32:
            # Over at once, without an end, or without goals: nothing to be learnt that a search does not see.
            self._next_fit = LAST_FIT + 1
            return
        self._plies += plies
        self._matches += int(ended).bit_count()
        use(int(usable))

    def _take(self, usable: int) -> None:
        """Add the sampler's states to the equations."""
        goals = self._sampler.goals[in_lanes(usable)].astype(np.float64)
        self._states += PER_MATCH * len(goals)
        self._total += PER_MATCH * goals.sum(axis=0)
        self._squares += PER_MATCH * (goals**2).sum(axis=0)
        for drawn in self._sampler.drawn:
            self._columns[:, self._used] = drawn & np.uint64(usable)
            self._goals[64 * self._used : 64 * self._used + 64] = self._sampler.goals
            self._used += 1
        if self._used == WORDS or self._states >= self._next_fit:
            columns = np.ascontiguousarray(self._columns[:, : self._used])
            digest(columns, self._goals, self._pairs, self._sums)
            self._used = 0

    def _draw_checks(self, usable: int) -> None:
        """Choose states to check the next fit on, in groups that one batch can play from."""
        states = packed_states(self._sampler.drawn[0])[in_lanes(usable)]
        group = 64 // COPIES
        self._to_check = [states[i : i + group] for i in range(0, len(states) // group * group, group)]

    def _check(self, states: NDArray[np.uint64], stop: StopFlag) -> None:
        """See what random play makes of these states."""
        _, ended, _ = play_batch(self._programs, self._sampler, states, stop)
        known = in_lanes(int(ended)).reshape(COPIES, len(states)).all(axis=0)
        if stop[0] or not known.any():
            return
        results = self._sampler.goals.reshape(COPIES, len(states), -1)[:, known].astype(np.float64)
        bits = np.unpackbits(states[known].view(np.uint8), axis=1, bitorder="little")
        self._checks.states.append(bits[:, : len(self._pairs)] != 0)
        self._checks.means.append(results.mean(axis=0))
        self._checks.noises.append(results.var(axis=0, ddof=1) / COPIES)

    def _fit(self) -> None:
        """Solve the equations: Bayesian linear regression with the prior covariance in `_prior`."""
        n = self._states
        both = self._pairs + np.triu(self._pairs, 1).T
        mean = np.diag(both) / n
        goal = self._total / n
        covariance = both - n * np.outer(mean, mean)
        target = self._sums - n * np.outer(mean, goal)
        inner = covariance @ self._prior
        inner[np.diag_indices(len(inner))] += 1.0
        weights = self._prior @ np.linalg.solve(inner, target)
        spread = np.sqrt(np.maximum((weights * (covariance @ weights)).sum(axis=0) / n, 0.0))
        self.judgement = Judgement(
            weights, goal - mean @ weights, spread, self._error(weights), self._plies / self._matches
        )

    def _error(self, weights: NDArray[np.float64]) -> float:
        """See `Judgement.error`."""
        variance = self._squares / self._states - (self._total / self._states) ** 2
        means, noise = np.concatenate(self._checks.means), np.concatenate(self._checks.noises)
        wrong = means - np.concatenate(self._checks.states) @ weights
        excess = (wrong - wrong.mean(axis=0)) ** 2 - noise
        upper = excess.mean(axis=0) + excess.std(axis=0) / np.sqrt(len(excess))
        return float(max((upper[role] / v for role, v in enumerate(variance) if v > 0), default=np.inf))


def warm_kernels(machine: CircuitMachine) -> None:
    """Makes this process compile the kernels of learning, or load them from the cache."""
    sampler = new_sampler(machine.programs, 1)
    play_batch(machine.programs, sampler, machine.pack(machine.initial())[None, :], np.zeros(1, np.uint8))
    n, roles = sampler.drawn.shape[1], sampler.goals.shape[1]
    digest(np.ascontiguousarray(sampler.drawn[:1].T), sampler.goals, np.zeros((n, n), np.int64), np.zeros((n, roles)))
