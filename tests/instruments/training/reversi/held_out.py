"""The error of an evaluation on positions that it was not fitted to."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from agent.search.reversi.evaluation import STAGES, stage_of
from agent.search.reversi.training.fit import Design


@njit(cache=True, nogil=True)
def _predict(features, empties, weights, result):
    """Write the scores in discs to `result` (float32[positions]); the other arrays are those of `_epoch`."""
    for index in range(features.shape[0]):
        stage = stage_of(np.int64(empties[index]))
        total = np.float32(0)
        for column in range(features.shape[1]):
            total += weights[stage, features[index, column]]
        result[index] = total


def held_out_error(design: Design, weights: npt.NDArray[np.float32]) -> tuple[float, npt.NDArray[np.float64]]:
    """The root mean square error in discs, of all positions and per stage (float64[STAGES], nan without any)."""
    predicted = np.zeros(len(design.scores), np.float32)
    _predict(design.features, design.empties, weights, predicted)
    squares = (predicted - design.scores).astype(np.float64) ** 2
    stages = np.minimum(design.empties >> 2, STAGES - 1)
    counts = np.bincount(stages, minlength=STAGES)
    with np.errstate(invalid="ignore"):
        per_stage = np.sqrt(np.bincount(stages, squares, STAGES) / counts)
    return float(np.sqrt(squares.mean())), per_stage
