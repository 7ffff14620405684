"""Weights for variants without a network: regression on self-play of a variant that has one.

The evaluation learns the targets of networks (`learning`) by logistic regression; the priors learn the shares of visits
by softmax regression. Weights of neighbouring stages are held close to each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agent.search.blokbox.guiding import evaluation, priors
from agent.search.blokbox.guiding.evaluation import N_STAGES, stage_of, take_features
from agent.search.blokbox.guiding.priors import N_BOARDS, describe, divide
from agent.search.blokbox.guiding.tuning import GeneralWeights
from games.bits.board16x16 import WORDS
from games.native.blokbox.rules import new_placement_workspace
from games.native.blokbox.variant import TURN, BlokboxVariant
from tests.instruments.training.blokbox.learning import TrainingSet
from tests.instruments.training.blokbox.matches import MoveLister

MAX_POSITIONS = 20_000
"""Positions to learn from, at most: the weights are few."""
SMOOTHNESS = 0.01
DECAY = 0.001
"""Penalties on differences between neighbouring stages, and on the weights."""


def fit(variant: BlokboxVariant, training_set: TrainingSet, seed: int = 0) -> GeneralWeights:
    """Returns the weights that fit the training set best, or a random part of it where it is large."""
    chosen = np.random.default_rng(seed).permutation(len(training_set))[:MAX_POSITIONS]
    return GeneralWeights(_fit_evaluation(variant, training_set, chosen), _fit_priors(variant, training_set, chosen))


def _fit_evaluation(
    variant: BlokboxVariant, training_set: TrainingSet, chosen: NDArray[np.int64], *, steps: int = 3000
) -> NDArray[np.float64]:
    """Logistic regression by stage and gradient descent, on features scaled to their deviation."""
    room = int(evaluation.room(variant.start))
    n = len(chosen)
    features = np.zeros((n, evaluation.N_FEATURES + 1))
    features[:, -1] = 1.0
    stages = np.zeros(n, np.int64)
    scratch = new_placement_workspace(variant, 2)
    candidates = np.tile(np.arange(len(variant.shapes)), (2, 1))
    numbers = np.full(2, len(variant.shapes))
    both = np.zeros((2, evaluation.N_FEATURES))
    for index, position in enumerate(training_set.positions[chosen]):
        take_features(variant.tables, position, candidates, numbers, scratch, 0, both, np.zeros(2, np.int64))
        player = int(position[TURN])
        features[index, :-1] = both[player] - both[1 - player]
        stages[index] = stage_of(both, room)
    scale = features.std(axis=0) + 1e-9
    scale[-1] = 1.0
    features /= scale
    target = training_set.values[chosen]
    weights = np.zeros((N_STAGES, features.shape[1]))
    counts = np.bincount(stages, minlength=N_STAGES)[:, None] + 30.0
    for _ in range(steps):
        predicted = 1.0 / (1.0 + np.exp(-(features * weights[stages]).sum(axis=1)))
        gradient = np.zeros_like(weights)
        np.add.at(gradient, stages, (predicted - target)[:, None] * features)
        steps_up = np.diff(weights, axis=0)
        roughness = np.zeros_like(weights)
        roughness[1:] += steps_up
        roughness[:-1] -= steps_up
        weights -= 2.0 * (0.3 * gradient / counts + SMOOTHNESS * roughness + DECAY * weights)
    scaled: NDArray[np.float64] = weights / scale
    return scaled


def _fit_priors(
    variant: BlokboxVariant, training_set: TrainingSet, chosen: NDArray[np.int64], *, steps: int = 300
) -> NDArray[np.float64]:
    """Softmax regression over the moves of each position, by gradient descent."""
    numbers = np.diff(training_set.starts)[chosen]
    rows = chosen[numbers > 1]
    sizes = numbers[numbers > 1]
    if len(rows) == 0:
        return np.zeros(priors.N_COUNTS)
    described = np.zeros((int(sizes.sum()), priors.N_COUNTS))
    lister = MoveLister(variant)
    cursor = 0
    boards = np.zeros((N_BOARDS, WORDS), np.uint64)
    for position in training_set.positions[rows]:
        divide(position, boards)
        for move in lister.moves(position):
            describe(variant.tables, move, boards, described[cursor])
            cursor += 1
    target = np.concatenate(
        [training_set.shares[training_set.starts[row] : training_set.starts[row + 1]] for row in rows]
    )
    begin = np.r_[0, np.cumsum(sizes)[:-1]]
    scale = described.std(axis=0) + 1e-9
    described /= scale
    weights = np.zeros(priors.N_COUNTS)
    for _ in range(steps):
        scores = described @ weights
        scores -= np.repeat(np.maximum.reduceat(scores, begin), sizes)
        shares = np.exp(scores)
        shares /= np.repeat(np.add.reduceat(shares, begin), sizes)
        weights -= 0.5 * (described.T @ (shares - target) / len(rows) + DECAY * weights)
    scaled: NDArray[np.float64] = weights / scale
    return scaled
