"""How far a shallow search's score may be from a deep one's: the error model of Multi-ProbCut (M. Buro, 1999).

The standard deviation of the difference between a search of `depth` and one of `probe` plies is modelled as
exp(a + b e + c e^2) depth^p (probe + 1)^q with e the number of empty cells; `ggp-agent train reversi` fits the
coefficients to the engine's own searches. A level says how many standard deviations a cut-off needs; how probes are
chosen and checked is Edax's way (R. Delorme, `midgame.c`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

LEVELS = (1.1, 1.5, 2.0, 2.6, 3.3)
"""Standard deviations per level. Set by hand; not tuned."""
EXACT = len(LEVELS)
"""The level at which nothing is cut by statistics."""
MIN_DEPTH = 3
"""The shallowest search that tries a probe. Set by hand; not tuned."""
MAX_DEPTH = 64

Coefficients = tuple[float, float, float, float, float]
"""a, b, c, p, q of the model above."""
DEFAULT_COEFFICIENTS: Coefficients = (1.7, 0.0, 0.0, 0.3, -0.4)
"""Cautious ones, set by hand, for weights that bring none of their own."""


class Margins(NamedTuple):
    """What the search reads: per level, empty cells and depth."""

    probe_depth: npt.NDArray[np.int64]
    """int64[MAX_DEPTH + 1]: the depth of the probe."""
    probe: npt.NDArray[np.int64]
    """int64[EXACT, 65, MAX_DEPTH + 1]: by how many discs the probe has to pass the bound."""
    static: npt.NDArray[np.int64]
    """int64[EXACT, 65, MAX_DEPTH + 1]: within how many discs of the bound the evaluation must be to try it."""


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
