"""Multi-ProbCut: how far a shallow search's score may be from a deep one's (M. Buro, "Experiments with Multi-ProbCut", 1999).

The standard deviation of the difference between a search of `depth` and one of `probe` plies with a number of empty
cells is modelled as a polynomial whose coefficients `ggp-agent train reversi` fits on the engine's own searches; the
form is Edax's (`eval_sigma`). A level says how many standard deviations a cut-off needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

LEVELS = (1.1, 1.5, 2.0, 2.6, 3.3)
"""Standard deviations per level."""
EXACT = len(LEVELS)
"""The level at which nothing is cut by statistics."""
MIN_DEPTH = 3
"""The shallowest search that tries a probe."""
MAX_DEPTH = 64

Coefficients = tuple[float, float, float, float, float, float]
DEFAULT_COEFFICIENTS: Coefficients = (-0.10026799, 0.31027733, -0.57772603, 0.07585621, 1.16492647, 5.4171698)
"""Those of Edax 4.4, for weights that bring none of their own."""


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
    by_empties, by_depth, by_probe, square, linear, constant = coefficients
    mixed = by_empties * empties + by_depth * depth + by_probe * probe
    return max(1.0, square * mixed * mixed + linear * mixed + constant)


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
