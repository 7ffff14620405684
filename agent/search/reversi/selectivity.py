"""The error model of Multi-ProbCut (M. Buro, 1999): the difference between shallow and deep searches.

The standard deviation of the difference between searches of `depth` and `probe` plies is modelled as
exp(a + b e + c e^2) depth^p (probe + 1)^q, with e empty cells; `tests.instruments train` fits the coefficients to the
engine's own searches. A level is the number of standard deviations that a cut-off needs. Probes are chosen and checked
as in Edax (R. Delorme, `midgame.c`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

LEVELS = (1.1, 1.5, 2.0, 2.6, 3.3)
"""Standard deviations per level."""
EXACT = len(LEVELS)
"""The level without statistical cuts."""
MIN_DEPTH = 3
"""Shallowest search that tries a probe."""
MAX_DEPTH = 64

Coefficients = tuple[float, float, float, float, float]
"""a, b, c, p, q of the model above."""
DEFAULT_COEFFICIENTS: Coefficients = (1.7, 0.0, 0.0, 0.3, -0.4)
"""Cautious coefficients for weights without any of their own."""


class Margins(NamedTuple):
    """Tables of the search by level, empty cells and depth."""

    probe_depth: npt.NDArray[np.int64]
    """int64[MAX_DEPTH + 1]: depth of the probe."""
    probe: npt.NDArray[np.int64]
    """int64[EXACT, 65, MAX_DEPTH + 1]: discs by which the probe has to pass the bound."""
    static: npt.NDArray[np.int64]
    """int64[EXACT, 65, MAX_DEPTH + 1]: largest distance in discs of the evaluation from the bound to try a probe."""


def deviation(coefficients: Coefficients, empties: float, depth: float, probe: float) -> float:
    """The standard deviation in discs between searches of `depth` and `probe` plies."""
    constant, linear, square, by_depth, by_probe = coefficients
    scale = math.exp(constant + linear * empties + square * empties**2)
    return scale * math.pow(depth, by_depth) * math.pow(probe + 1, by_probe)


def probe_depth(depth: int) -> int:
    """The depth of the probe of a search: about half, of the same parity."""
    probe = 2 * (depth // 4) + (depth & 1)
    return probe if probe else depth - 2


def margins(coefficients: Coefficients) -> Margins:
    """The tables of all levels."""
    probes = np.array([max(1, probe_depth(depth)) for depth in range(MAX_DEPTH + 1)], np.int64)
    probe = np.zeros((EXACT, 65, MAX_DEPTH + 1), np.int64)
    static = np.zeros_like(probe)
    for empties in range(65):
        for depth in range(MIN_DEPTH, MAX_DEPTH + 1):
            error = deviation(coefficients, empties, depth, float(probes[depth]))
            spread = (
                deviation(coefficients, empties, depth, 0) + deviation(coefficients, empties, float(probes[depth]), 0)
            ) / 2
            for level, factor in enumerate(LEVELS):
                probe[level, empties, depth] = int(factor * error + 0.5)
                static[level, empties, depth] = int(factor * spread + 0.5)
    return Margins(probes, probe, static)
