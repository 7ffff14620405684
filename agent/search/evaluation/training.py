"""Trains a network on positions of matches and their results: stochastic gradient descent on the cross entropy.

The steps are those of `Adam`, and the result is an average of the weights on the way (Shamir and Zhang 2013).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.engine import StopFlag
from agent.search.evaluation.features import Conjunctions, Features
from agent.search.evaluation.network import NetworkEvaluation
from agent.search.evaluation.pairs import Pairs
from games.bits.compiling import KERNEL
from games.bits.inner import inner_kernel
from games.bits.short_rows import COLUMNS
from games.bits.words import lowest

RATES = (0.003, 0.003, 0.001, 0.0003)
"""Size of a step of each weight, in the quarters of a training."""
BATCH = 64
"""Positions of a step."""
TAIL = 8
"""Power with which the average forgets earlier weights."""
MOST_ODDS = 8.0
"""Limit on log odds that chances are computed from."""
_ODDS_LIMIT = np.float32(MOST_ODDS)
_NONE, _FULL = np.float32(0.0), np.float32(1.0)
_ZERO, _ONE = np.uint64(0), np.uint64(1)

_DECAY, _SQUARE_DECAY, _TINY = np.float32(0.9), np.float32(0.999), np.float32(1e-8)


class Patterns(NamedTuple):
    """The features of packed states, for kernels."""

    first: NDArray[np.int32]
    """(fluents + 1) the features of fact f are `feature[first[f] : first[f + 1]]`."""
    feature: NDArray[np.int32]
    conjunctions: Conjunctions
    pairs: Pairs
    """Their rows of weights are features."""

    def most(self) -> int:
        """Returns the most features that a state can list: conjunctions may share theirs, and list it once each."""
        return len(self.feature) + len(self.pairs.row) + 2 * len(self.conjunctions.far)


class Weights(NamedTuple):
    """A network's numbers, or a number for each; see `NetworkEvaluation`."""

    rows: NDArray[np.float32]
    base: NDArray[np.float32]
    outputs: NDArray[np.float32]


def patterns_of(features: Features) -> Patterns:
    """Returns features for the trainer's kernels."""
    if features.shares is None:
        first = np.arange(features.n_fluents + 1, dtype=np.int32)
        feature = first[:-1].copy()
    else:
        fact, feature = (places.astype(np.int32) for places in np.nonzero(features.shares))
        first = np.searchsorted(fact, np.arange(features.n_fluents + 1)).astype(np.int32)
    sets, pairs = features.kernel_form()
    # From rows of the search's kernels to features.
    rest = np.int32(features.n_fluents - features.n_base)
    sets = sets._replace(far=sets.far - rest, near=sets.near - rest, threat=sets.threat - rest)
    return Patterns(first, feature, sets, pairs._replace(row=pairs.row - rest))


@inner_kernel()
def _holds(state, fact):
    """Whether a fact (int64) holds in a packed state (uint64[words])."""
    return (state[fact >> 6] >> np.uint64(fact & 63)) & _ONE != _ZERO


@inner_kernel()
def _list_features(patterns, state, found):
    """Lists the features of a packed state (uint64[words]) in `found` (int32[n]), some repeatedly; returns how many."""
    sets, pairs = patterns.conjunctions, patterns.pairs
    n = 0
    for word in range(len(state)):
        rest = state[word]
        while rest != _ZERO:
            f = np.int64(64 * word) + np.int64(lowest(rest))
            rest &= rest - _ONE
            for i in range(patterns.first[f], patterns.first[f + 1]):
                found[n] = patterns.feature[i]
                n += 1
            for i in range(pairs.first[f], pairs.first[f + 1]):
                other = np.int64(pairs.other[i])
                if other < f and _holds(state, other):
                    found[n] = pairs.row[i]
                    n += 1
    for c in range(len(sets.far)):
        missing, place = 0, np.int64(0)
        for i in range(sets.first[c], sets.first[c + 1]):
            if not _holds(state, np.int64(sets.fact[i])):
                missing += 1
                place = i
                if missing > 2:
                    break
        if missing < 1 or missing > 2:
            continue
        free = True
        for i in range(sets.blocked_first[c], sets.blocked_first[c + 1]):
            if _holds(state, np.int64(sets.blocker[i])):
                free = False
                break
        if not free:
            continue
        found[n] = sets.far[c] if missing == 2 else sets.near[c]
        n += 1
        if missing == 1 and len(sets.threat) > 0:
            found[n] = sets.threat[place]
            n += 1
    return n


@inner_kernel()
def _odds(weights, found, n, mover, sums):
    """Returns the log odds (float32) with `n` features `found`; fills `sums` (float32[COLUMNS])."""
    rows, outputs = weights.rows, weights.outputs
    for column in range(COLUMNS):
        sums[column] = weights.base[column]
    for i in range(n):
        f = np.int64(found[i])
        for column in range(COLUMNS):
            sums[column] += rows[f, column]
    odds = sums[0] + outputs[mover, 0]
    for column in range(1, COLUMNS):
        odds += outputs[mover, column] * min(max(sums[column], _NONE), _FULL)
    return min(max(odds, -_ODDS_LIMIT), _ODDS_LIMIT)


@njit(**KERNEL)
def evaluate_states(patterns, weights, states, movers, found, sums, odds):
    """Sets `odds` (float32[n]) to the log odds of packed states (uint64[n, words]) with these movers (int8[n])."""
    for i in range(len(states)):
        n = _list_features(patterns, states[i], found)
        odds[i] = _odds(weights, found, n, np.int64(movers[i]), sums)


@njit(**KERNEL)
def count_features(patterns, states, found, counts):
    """Adds to `counts` (float32[n, features]) the features of packed states (uint64[n, words])."""
    for i in range(len(states)):
        for j in range(_list_features(patterns, states[i], found)):
            counts[i, np.int64(found[j])] += _FULL


@njit(**KERNEL)
def add_gradient(patterns, weights, gradient, states, movers, targets, order, found, sums):
    """Adds the gradient of the cross entropy of a batch to `gradient`; both it and `weights` are `Weights`.

    `order` (int64[n]) are places in `states` (uint64[m, words]), `movers` (int8[m]) and `targets` (float32[m]).
    """
    for k in range(len(order)):
        i = order[k]
        n = _list_features(patterns, states[i], found)
        mover = np.int64(movers[i])
        error = _FULL / (_FULL + np.exp(-_odds(weights, found, n, mover, sums))) - targets[i]
        gradient.outputs[mover, 0] += error
        for column in range(1, COLUMNS):
            unit = sums[column]
            gradient.outputs[mover, column] += error * min(max(unit, _NONE), _FULL)
            sums[column] = error * weights.outputs[mover, column] if _NONE < unit < _FULL else _NONE
            gradient.base[column] += sums[column]
        sums[0] = error
        for j in range(n):
            f = np.int64(found[j])
            for column in range(COLUMNS):
                gradient.rows[f, column] += sums[column]


class Trainer:
    """Positions of matches, and networks that learn from them."""

    def __init__(self, features: Features, words: int, most: int, seed: int) -> None:
        """Keeps the newest `most` positions of packed states of that many words."""
        self._patterns, self._n_features = patterns_of(features), features.n
        self._random = np.random.default_rng(seed)
        self._found = np.zeros(self._patterns.most(), np.int32)
        self._sums = np.zeros(COLUMNS, np.float32)
        self._states = np.zeros((most, words), np.uint64)
        self._movers = np.zeros(most, np.int8)
        self._targets = np.zeros(most, np.float32)
        self.most = most
        self.positions = 0
        """Positions seen; the newest are kept."""

    @property
    def kept(self) -> int:
        """Number of positions kept."""
        return min(self.positions, self.most)

    def add(self, states: NDArray[np.uint64], movers: NDArray[np.int8], targets: NDArray[Any]) -> None:
        """Adds packed states (n, words) with movers (n) and targets (n), the share of the points for role 0."""
        states, movers, targets = states[-self.most :], movers[-self.most :], targets[-self.most :]
        places = (self.positions + np.arange(len(states))) % self.most
        self._states[places], self._movers[places], self._targets[places] = states, movers, targets
        self.positions += len(states)

    def newest(self, most: int) -> tuple[NDArray[np.uint64], NDArray[np.int8], NDArray[np.float32]]:
        """Returns packed states (n, words), movers (n) and targets (n) of the newest positions, at most so many."""
        places = np.arange(self.positions - min(self.kept, most), self.positions) % self.most
        return self._states[places], self._movers[places], self._targets[places]

    def features_of(self, states: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Returns the features (n, features) of packed states (n, words)."""
        counts = np.zeros((len(states), self._n_features), np.float32)
        count_features(self._patterns, states, self._found, counts)
        return counts

    def expected(
        self, evaluation: NetworkEvaluation, states: NDArray[np.uint64], movers: NDArray[np.int8]
    ) -> NDArray[np.float64]:
        """Returns the results (n), 0..1, that an evaluation expects of packed states (n, words) with movers (n)."""
        weights = Weights(*evaluation.with_units(1.0, 0).parts)
        odds = np.zeros(len(states), np.float32)
        evaluate_states(self._patterns, weights, states, movers, self._found, self._sums, odds)
        chances: NDArray[np.float64] = 1 / (1 + np.exp(-odds.astype(np.float64)))
        return chances

    def trained(self, evaluation: NetworkEvaluation, visits: int, stop: StopFlag) -> NetworkEvaluation | None:
        """Returns an evaluation after that many visits of positions drawn at random, with units; None if stopped."""
        facts = np.unpackbits(self.newest(1000)[0].view(np.uint8), axis=1).sum(axis=1)
        start = evaluation.with_units(float(facts.mean()), int(self._random.integers(1 << 62)))
        adam = Adam(np.concatenate([part.ravel() for part in start.parts]))
        weights, gradient, average = (_shaped(flat, start) for flat in (adam.weights, adam.gradient, adam.average))
        steps = -(-visits // BATCH)
        for step in range(1, steps + 1):
            if stop[0]:
                return None
            add_gradient(
                self._patterns,
                weights,
                gradient,
                self._states,
                self._movers,
                self._targets,
                self._random.integers(0, self.kept, BATCH),
                self._found,
                self._sums,
            )
            adam.step(RATES[4 * (step - 1) // steps], 1 / BATCH, (TAIL + 1) / (step + TAIL))
        return NetworkEvaluation(*average)


def _shaped(numbers: NDArray[np.float32], like: NetworkEvaluation) -> Weights:
    """Returns views of flat numbers."""
    pieces = np.split(numbers, np.cumsum([part.size for part in like.parts])[:-1])
    return Weights(*(piece.reshape(part.shape) for piece, part in zip(pieces, like.parts, strict=True)))


class Adam:
    """Weights that step against their gradient."""

    def __init__(self, weights: NDArray[np.float32], decay: float = 0.0) -> None:
        """`weights` (n) are changed in place; `decay` is the share that a step takes away of each, in units of the
        rate."""
        self.weights: Final = weights
        self.gradient: Final = np.zeros_like(weights)
        """(n) to be added to between steps."""
        self.average: Final = weights.copy()
        """(n) of the weights after the steps."""
        self._decay = decay
        self._mean, self._square = np.zeros_like(weights), np.zeros_like(weights)
        self._steps = 0

    def step(self, rate: float, scale: float, share: float = 1.0) -> None:
        """Takes a step of this rate against the gradient times `scale`, which it empties; moves the average by
        `share`."""
        self._steps += 1
        # Both means begin at 0.
        unbiased = rate * np.sqrt(1 - _SQUARE_DECAY**self._steps) / (1 - _DECAY**self._steps)
        factors = (np.float32(one) for one in (unbiased, scale, share, rate * self._decay))
        _descend(self.weights, self.gradient, self._mean, self._square, self.average, *factors)


@njit(**KERNEL)
def _descend(weights, gradient, mean, square, average, rate, scale, share, lost):
    """See `Adam.step`. The first five are float32[n], the others float32; `lost` is the share that decays."""
    for i in range(len(weights)):
        slope = gradient[i] * scale
        gradient[i] = _NONE
        mean[i] = _DECAY * mean[i] + (_FULL - _DECAY) * slope
        square[i] = _SQUARE_DECAY * square[i] + (_FULL - _SQUARE_DECAY) * slope * slope
        weights[i] -= rate * mean[i] / (np.sqrt(square[i]) + _TINY) + lost * weights[i]
        average[i] += share * (weights[i] - average[i])
