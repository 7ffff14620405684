"""The learnt evaluation: log odds of a win by a network with one layer of clipped units over the features that hold.

Each feature adds a row of numbers: its linear weight, then its weights for the hidden units. The units' output depends
on the side to move (as in efficiently updatable networks; Nasu 2018). Without units that is logistic regression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.search.evaluation.scale import MOST, WIN, WON
from games.bits.short_rows import COLUMNS, FULL_SHIFT
from games.bits.words import aligned_words

LOGIT = 2000
"""Units of the evaluation per unit of log odds."""
MOVERS = 3
"""Outputs: role 0 chooses, role 1 chooses, nobody or both."""
START = 0.3
"""Sum of a unit without features: between its limits, so that it learns."""
SPREAD = 0.5
"""Standard deviation of a unit's sum at first, over states."""


@dataclass(frozen=True)
class NetworkEvaluation:
    """The log odds of a win of role 0."""

    rows: NDArray[np.float32]
    """(features, COLUMNS)"""
    base: NDArray[np.float32]
    """(COLUMNS) the sums of a state without features; 0 in column 0."""
    outputs: NDArray[np.float32]
    """(MOVERS, COLUMNS) the constant term, then the units' weights."""

    def kernel_form(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Returns rows (features, COLUMNS) and outputs (MOVERS, then the base; COLUMNS) on the scale of `scale`."""
        scale = np.full(COLUMNS, 1 << FULL_SHIFT, np.float32)
        scale[0] = LOGIT
        outputs = np.concatenate([self.outputs * LOGIT, self.base[None] * scale])
        return np.round(self.rows * scale).astype(np.int32), np.round(outputs).astype(np.int32)


def new_network(n_features: int, active: float, seed: int) -> NetworkEvaluation:
    """Returns an evaluation of 0 everywhere, whose units differ; about `active` features hold at once."""
    random = np.random.default_rng(seed)
    rows = (random.normal(size=(n_features, COLUMNS)) * SPREAD / np.sqrt(max(1.0, active))).astype(np.float32)
    rows[:, 0] = 0
    base = np.full(COLUMNS, START, np.float32)
    base[0] = 0
    return NetworkEvaluation(rows, base, np.zeros((MOVERS, COLUMNS), np.float32))


def aligned_rows(n: int) -> NDArray[np.int32]:
    """Returns n rows of zeros for `short_rows`, flat."""
    return aligned_words(max(1, n) * COLUMNS // 2).view(np.int32)


def probability(score: int) -> float:
    """Returns the expected result, 0..1, of a score."""
    if abs(score) > WON:
        return float(score > 0)
    return float(1 / (1 + np.exp(-score / LOGIT)))


def points_of(result: int) -> float:
    """Returns the worth of a match's result (see `PvsWorkspace.result`) to role 0, 0..1."""
    if abs(result) == WIN:
        return float(result > 0)
    return 0.5 + 0.5 * result / MOST
