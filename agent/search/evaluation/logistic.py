"""The evaluation of states that is learnt: log odds of a win, linear in features; and what scores and results mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.search.evaluation.scale import MOST, WIN, WON

LOGIT = 2000
"""The evaluation's units per unit of log odds. Set by hand; not tuned."""


@dataclass(frozen=True)
class LogisticEvaluation:
    """The log odds of a win of role 0."""

    weights: NDArray[np.float64]
    """(features) what a feature adds."""
    bias: float

    @property
    def in_units(self) -> tuple[NDArray[np.float64], int]:
        """Weights and bias in the units of `workspace`."""
        return LOGIT * self.weights, round(LOGIT * self.bias)


def probability(score: int) -> float:
    """The expected result, 0..1, of a score in the units of `workspace`."""
    if abs(score) > WON:
        return float(score > 0)
    return float(1 / (1 + np.exp(-score / LOGIT)))


def points_of(result: int) -> float:
    """What the result of a match (see `PvsWorkspace.result`) is worth to role 0, 0..1."""
    if abs(result) == WIN:
        return float(result > 0)
    return 0.5 + 0.5 * result / MOST
