"""The learnt evaluation: log odds of a win by a network with one layer of clipped units over the features that hold.

Each feature adds a row of numbers: its linear weight, then its weights for the hidden units. The units' output depends
on the side to move (as in efficiently updatable networks; Nasu 2018). Without units that is logistic regression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from games.bits.short_rows import COLUMNS, FULL_SHIFT

LOGIT = 2000
"""Units of the evaluation per unit of log odds."""
MOVERS = 3
"""Outputs: role 0 chooses, role 1 chooses, nobody or both."""
START = 0.3
"""Sum of a unit without features: between its limits, so that it learns."""
SPREAD = 0.5
"""Standard deviation of a unit's sum at first, over states."""

WIN = 30000
"""Score of a win at the root; each ply until the win costs one point."""
WON = WIN - 1000
"""Higher scores are proven wins."""
MOST = 10000
"""Highest score of an evaluation: a sure win. A draw is 0."""


@dataclass(frozen=True)
class NetworkEvaluation:
    """The log odds of a win of role 0; linear where there are no units."""

    rows: NDArray[np.float32]
    """(features, COLUMNS), or (features, 1) without units."""
    base: NDArray[np.float32]
    """(COLUMNS or 1) the sums of a state without features; 0 in column 0."""
    outputs: NDArray[np.float32]
    """(MOVERS, COLUMNS or 1) the constant term, then the units' weights."""

    @property
    def parts(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """All numbers."""
        return self.rows, self.base, self.outputs

    @property
    def linear(self) -> bool:
        """Whether it has no units."""
        return len(self.base) == 1

    @property
    def weights(self) -> NDArray[np.float64]:
        """(features) the linear weights."""
        return self.rows[:, 0].astype(np.float64)

    @property
    def bias(self) -> float:
        """The constant term, on average over who moves."""
        return float(self.outputs[:, 0].mean())

    def with_units(self, active: float, seed: int) -> NetworkEvaluation:
        """Returns the same evaluation with units that differ and have no weight yet, itself if it has some.

        About `active` features hold at once.
        """
        if not self.linear:
            return self
        random = np.random.default_rng(seed)
        rows = random.normal(size=(len(self.rows), COLUMNS)) * SPREAD / np.sqrt(max(1.0, active))
        base, outputs = np.full(COLUMNS, START), np.zeros((MOVERS, COLUMNS))
        rows[:, :1], base[0], outputs[:, :1] = self.rows, 0.0, self.outputs
        return NetworkEvaluation(*(part.astype(np.float32) for part in (rows, base, outputs)))

    def kernel_form(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Returns rows (features, COLUMNS) and outputs (MOVERS, then the base; COLUMNS) on the scale of `scale`."""
        scale = np.full(COLUMNS, 1 << FULL_SHIFT)
        scale[0] = LOGIT
        n = self.rows.shape[1]
        rows, outputs = np.zeros((len(self.rows), COLUMNS)), np.zeros((MOVERS + 1, COLUMNS))
        rows[:, :n] = self.rows
        outputs[:MOVERS, :n], outputs[MOVERS, :n] = self.outputs * LOGIT, self.base * scale[:n]
        return np.round(rows * scale).astype(np.int32), np.round(outputs).astype(np.int32)


def linear_evaluation(weights: NDArray[np.float64], bias: float) -> NetworkEvaluation:
    """Returns the evaluation with these weights (features), without units."""
    outputs = np.full((MOVERS, 1), bias, np.float32)
    return NetworkEvaluation(weights[:, None].astype(np.float32), np.zeros(1, np.float32), outputs)


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
