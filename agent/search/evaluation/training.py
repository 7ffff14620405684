"""Trains a network on positions of matches and their results: stochastic gradient descent on the cross entropy.

The steps are those of Adam (Kingma and Ba 2015). Symmetries of the game show each position in other places, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
"""How fast the averaged weights forget (polynomial-decay averaging; Shamir and Zhang 2013)."""

_DECAY, _SQUARE_DECAY, _TINY = np.float32(0.9), np.float32(0.999), np.float32(1e-8)
_MOST_ODDS = np.float32(15.0)
MOST_EXPECTED = 8.0
"""Limit on log odds that chances are computed from."""
_NONE, _FULL = np.float32(0.0), np.float32(1.0)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Patterns(NamedTuple):
    """The features of packed states, for kernels."""

    first: NDArray[np.int32]
    """(fluents + 1) the features of fact f are `feature[first[f] : first[f + 1]]`."""
    feature: NDArray[np.int32]
    conjunctions: Conjunctions
    pairs: Pairs
    """Their rows of weights are features."""


class Weights(NamedTuple):
    """A network's numbers, or a number for each."""

    rows: NDArray[np.float32]
    """(features, COLUMNS)"""
    base: NDArray[np.float32]
    """(COLUMNS)"""
    outputs: NDArray[np.float32]
    """(MOVERS, COLUMNS)"""


def patterns_of(features: Features) -> Patterns:
    """Returns features for the trainer's kernels."""
    if features.shares is None:
        first = np.arange(features.n_fluents + 1, dtype=np.int32)
        feature = first[:-1].copy()
    else:
        fact, feature = (places.astype(np.int32) for places in np.nonzero(features.shares))
        first = np.searchsorted(fact, np.arange(features.n_fluents + 1)).astype(np.int32)
    conjunctions, pairs = features.kernel_form()
    # From rows of the search's kernels to features.
    rest = np.int32(features.n_fluents - features.n_base)
    far, near, threat = conjunctions.far - rest, conjunctions.near - rest, conjunctions.threat - rest
    conjunctions = conjunctions._replace(far=far, near=near, threat=threat)
    return Patterns(first, feature, conjunctions, pairs._replace(row=pairs.row - rest))


@inner_kernel()
def _holds(state, fact):
    """Whether a fact (int64) holds in a packed state (uint64[words])."""
    return (state[fact >> 6] >> np.uint64(fact & 63)) & _ONE != _ZERO


@inner_kernel()
def _list_features(patterns, state, found):
    """Lists the features of a packed state (uint64[words]) in `found` (int32[n]), some repeatedly; returns the number."""
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
        if missing == 2:
            found[n] = sets.far[c]
            n += 1
        else:
            found[n] = sets.near[c]
            n += 1
            if len(sets.threat) > 0:
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
    return min(max(odds, -_MOST_ODDS), _MOST_ODDS)


@njit(**KERNEL)
def judge_states(patterns, weights, states, movers, found, sums, odds):
    """Sets `odds` (float32[n]) to the log odds of packed states (uint64[n, words]) with these movers (int8[n])."""
    for i in range(len(states)):
        n = _list_features(patterns, states[i], found)
        odds[i] = _odds(weights, found, n, np.int64(movers[i]), sums)


@inner_kernel()
def _step(weights, gradient, mean, square, average, rate, scale, share):
    """One step of Adam for an array of `Weights`, flat, and what belongs to it; empties the gradient."""
    for i in range(len(weights)):
        slope = gradient[i] * scale
        gradient[i] = _NONE
        mean[i] = _DECAY * mean[i] + (_FULL - _DECAY) * slope
        square[i] = _SQUARE_DECAY * square[i] + (_FULL - _SQUARE_DECAY) * slope * slope
        weights[i] -= rate * mean[i] / (np.sqrt(square[i]) + _TINY)
        average[i] += share * (weights[i] - average[i])


@njit(**KERNEL)
def train(patterns, images, weights, gradient, states, movers, targets, order, views, found, sums):
    """Adds the gradient of a batch to `gradient`; returns the sum of its cross entropies.

    `order` (int64[n]) are places in `states` (uint64[m, words]), `movers` (int8[m]) and `targets` (float32[m]); `views`
    (int64[n]) are places in `images` (int32[views, features], -1: none).
    """
    rows, outputs, slope = weights.rows, weights.outputs, gradient.rows
    loss = 0.0
    for k in range(len(order)):
        i, view = order[k], views[k]
        listed = _list_features(patterns, states[i], found)
        n = 0
        for j in range(listed):
            image = images[view, found[j]]
            if image >= 0:
                found[n] = image
                n += 1
        mover, target = np.int64(movers[i]), targets[i]
        odds = _odds(weights, found, n, mover, sums)
        chance = _FULL / (_FULL + np.exp(-odds))
        loss -= target * np.log(chance) + (_FULL - target) * np.log(_FULL - chance)
        error = chance - target
        gradient.outputs[mover, 0] += error
        for column in range(1, COLUMNS):
            unit = sums[column]
            inside = _NONE < unit < _FULL
            gradient.outputs[mover, column] += error * min(max(unit, _NONE), _FULL)
            sums[column] = error * outputs[mover, column] if inside else _NONE
            gradient.base[column] += sums[column]
        sums[0] = error
        for j in range(n):
            f = np.int64(found[j])
            for column in range(COLUMNS):
                slope[f, column] += sums[column]
    return loss


@njit(**KERNEL)
def descend(weights, gradient, mean, square, average, rate, scale, share):
    """One step of Adam with this rate (float32), along the gradient times `scale`; empties it. All are flat."""
    _step(weights, gradient, mean, square, average, rate, scale, share)


class Trainer:
    """A network in training, and the positions it learns from."""

    def __init__(
        self,
        features: Features,
        words: int,
        most: int,
        seed: int,
        images: NDArray[np.int32],
    ) -> None:
        """Keeps the newest `most` positions of packed states of that many words. `images` (views, features) are those of
        the features under symmetries."""
        self._patterns = patterns_of(features)
        self._random = np.random.default_rng(seed)
        self._images = images
        self._found = np.zeros(len(self._patterns.feature) + features.n + len(self._patterns.pairs.row), np.int32)
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
        return min(self.positions, len(self._states))

    def newest(self, most: int) -> tuple[NDArray[np.uint64], NDArray[np.int8], NDArray[np.float32]]:
        """Returns packed states (n, words), movers (n) and targets (n) of the newest positions, at most so many."""
        places = np.arange(max(self.positions - self.kept, self.positions - most), self.positions) % len(self._states)
        return self._states[places], self._movers[places], self._targets[places]

    def add(self, states: NDArray[np.uint64], movers: NDArray[np.int8], targets: NDArray[Any]) -> None:
        """Adds packed states (n, words) with movers (n) and targets (n), the share of the points for role 0."""
        places = (self.positions + np.arange(len(states))) % len(self._states)
        self._states[places], self._movers[places], self._targets[places] = states, movers, targets
        self.positions += len(states)

    def expected(
        self, evaluation: NetworkEvaluation, states: NDArray[np.uint64], movers: NDArray[np.int8]
    ) -> NDArray[np.float64]:
        """Returns the results (n), 0..1, that an evaluation expects of packed states (n, words) with movers (n)."""
        weights = Weights(*evaluation.with_units(1.0, 0).parts)
        odds = np.zeros(len(states), np.float32)
        judge_states(self._patterns, weights, states, movers, self._found, self._sums, odds)
        return 1 / (1 + np.exp(-np.clip(odds.astype(np.float64), -MOST_EXPECTED, MOST_EXPECTED)))

    def trained(self, evaluation: NetworkEvaluation, visits: int, stop: StopFlag) -> NetworkEvaluation | None:
        """Returns an evaluation with units after that many visits of positions drawn at random; None if stopped."""
        active = float(np.unpackbits(self.newest(1000)[0].view(np.uint8), axis=1).sum(axis=1).mean())
        start = evaluation.with_units(active, int(self._random.integers(1 << 62)))
        weights, average = (Weights(*(part.copy() for part in start.parts)) for _ in range(2))
        gradient, mean, square = (Weights(*map(np.zeros_like, weights)) for _ in range(3))
        steps = -(-visits // BATCH)
        for step in range(1, steps + 1):
            if stop[0]:
                return None
            order = self._random.integers(0, self.kept, BATCH)
            views = self._random.integers(0, len(self._images), BATCH)
            train(
                self._patterns, self._images, weights, gradient,
                self._states, self._movers, self._targets, order, views, self._found, self._sums,
            )
            # Both means begin at 0.
            rate = RATES[4 * (step - 1) // steps] * np.sqrt(1 - float(_SQUARE_DECAY) ** step) / (1 - float(_DECAY) ** step)
            share = np.float32((TAIL + 1) / (step + TAIL))
            for parts in zip(weights, gradient, mean, square, average, strict=True):
                descend(*(part.ravel() for part in parts), np.float32(rate), np.float32(1 / BATCH), share)
            weights.base[0] = average.base[0] = 0
        return NetworkEvaluation(*average)
