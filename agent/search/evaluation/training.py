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
from agent.search.evaluation.network import MOVERS, NetworkEvaluation, new_network
from agent.search.evaluation.pairs import Pairs
from games.bits.compiling import KERNEL
from games.bits.inner import inner_kernel
from games.bits.short_rows import COLUMNS
from games.bits.words import lowest

import os
RATE = float(os.environ.get("RATE", 0.003))
"""Size of a step of each weight."""
BATCH = int(os.environ.get("BATCH", 64))
"""Positions of a step."""
TAIL = int(os.environ.get("TAIL", 8))
_DECAY, _SQUARE_DECAY, _TINY = np.float32(0.9), np.float32(0.999), np.float32(1e-8)
_MOST_ODDS = np.float32(15.0)
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
def train(patterns, images, swaps, weights, gradient, states, movers, targets, order, views, found, sums):
    """Adds the gradient of a batch to `gradient`; returns the sum of its cross entropies.

    `order` (int64[n]) are places in `states` (uint64[m, words]), `movers` (int8[m]) and `targets` (float32[m]); `views`
    (int64[n]) are places in `images` (int32[views, features], -1: none) and `swaps` (bool[views]).
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
        if swaps[view]:
            target = _FULL - target
            mover = 1 - mover if mover < 2 else mover
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
        images: NDArray[np.int32] | None = None,
        swaps: NDArray[np.bool_] | None = None,
    ) -> None:
        """Keeps the newest `most` positions of packed states of that many words. `images` (views, features) are those of
        symmetries, with `swaps` (views) of the roles."""
        self._patterns = patterns_of(features)
        self._random = np.random.default_rng(seed)
        self._images = np.arange(features.n, dtype=np.int32)[None] if images is None else images
        self._swaps = np.zeros(1, np.bool_) if swaps is None else swaps
        self._found = np.zeros(len(self._patterns.feature) + features.n + len(self._patterns.pairs.row), np.int32)
        self._sums = np.zeros(COLUMNS, np.float32)
        self._states = np.zeros((most, words), np.uint64)
        self._movers = np.zeros(most, np.int8)
        self._targets = np.zeros(most, np.float32)
        self.positions = 0
        """Positions seen; the newest are kept."""
        self.loss = float("nan")
        """Mean cross entropy of the last visits, in nats."""
        self.steps = 0
        start = new_network(features.n, 40.0, seed)
        self._load(start)

    def _load(self, evaluation: NetworkEvaluation) -> None:
        self._weights = Weights(evaluation.rows.copy(), evaluation.base.copy(), evaluation.outputs.copy())
        self._average = Weights(*(part.copy() for part in self._weights))
        self._gradient, self._mean, self._square = (
            Weights(*(np.zeros_like(part) for part in self._weights)) for _ in range(3)
        )
        self.steps = 0

    @property
    def evaluation(self) -> NetworkEvaluation:
        """The network as it is now."""
        return NetworkEvaluation(*(part.copy() for part in self._average))

    @evaluation.setter
    def evaluation(self, evaluation: NetworkEvaluation) -> None:
        self._load(evaluation)

    @property
    def kept(self) -> int:
        """Number of positions kept."""
        return min(self.positions, len(self._states))

    def add(self, states: NDArray[np.uint64], movers: NDArray[np.int8], targets: NDArray[Any]) -> None:
        """Adds packed states (n, words) with movers (n) and targets (n), the share of the points for role 0."""
        places = (self.positions + np.arange(len(states))) % len(self._states)
        self._states[places], self._movers[places], self._targets[places] = states, movers, targets
        self.positions += len(states)

    def forget(self) -> None:
        """Drops all positions."""
        self.positions = 0

    def odds(self, states: NDArray[np.uint64], movers: NDArray[np.int8]) -> NDArray[np.float32]:
        """Returns the log odds (n) of a win of role 0 in packed states (n, words) with movers (n)."""
        odds = np.zeros(len(states), np.float32)
        judge_states(self._patterns, self._average, states, movers, self._found, self._sums, odds)
        return odds

    def train(self, visits: int, stop: StopFlag) -> None:
        """Learns from that many visits of positions drawn at random, or until `stop`."""
        loss, seen = 0.0, 0
        for _ in range(-(-visits // BATCH)):
            if stop[0]:
                return
            order = self._random.integers(0, self.kept, BATCH)
            views = self._random.integers(0, len(self._swaps), BATCH)
            loss += train(
                self._patterns, self._images, self._swaps, self._weights, self._gradient,
                self._states, self._movers, self._targets, order, views, self._found, self._sums,
            )
            seen += BATCH
            self.steps += 1
            # Both means begin at 0.
            rate = RATE * np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
            share = np.float32((TAIL + 1) / (self.steps + TAIL))
            for parts in zip(self._weights, self._gradient, self._mean, self._square, self._average, strict=True):
                descend(*(part.ravel() for part in parts), np.float32(rate), np.float32(1 / BATCH), share)
            self._weights.base[0] = self._average.base[0] = 0
        self.loss = loss / max(1, seen)
