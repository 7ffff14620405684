"""The learnt evaluation: log odds of a win, linear in features; and the meaning of its scores and of results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.search.evaluation.scale import MOST, WIN, WON

LOGIT = 2000
"""Units of the evaluation per unit of log odds."""


@dataclass(frozen=True)
class LogisticEvaluation:
    """The log odds of a win of role 0."""

    weights: NDArray[np.float64]
    """(features)"""
    bias: float

    @property
    def in_units(self) -> tuple[NDArray[np.float64], int]:
        """Weights and bias on the scale of `scale`."""
        return LOGIT * self.weights, round(LOGIT * self.bias)


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
