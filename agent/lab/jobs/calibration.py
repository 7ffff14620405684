"""Speed of machines: equal time is equal work only on equal ones."""

from __future__ import annotations

import time
from collections.abc import Iterable

TOLERANCE = 0.10
"""Share by which the slowest machine may fall behind the fastest without a warning."""

_PLAYOUTS = 4096
_REPETITIONS = 7
"""Measurements of some milliseconds each. The best counts: other processes only slow one down."""


def measure_speed() -> float:
    """Returns random playouts of a small game per second of wall time on one core.

    Takes a tenth of a second, besides loading the kernels.
    """
    # Imported here: it loads Numba's kernels, which `warning` does not need.
    from games.gdl.compile import warm_kernels

    machine = warm_kernels()
    machine.random_playouts(playouts=1)
    best = 0.0
    for _ in range(_REPETITIONS):
        begin = time.perf_counter()
        played = machine.random_playouts(playouts=_PLAYOUTS).playouts
        best = max(best, played / (time.perf_counter() - begin))
    return best


def warning(speeds: Iterable[tuple[str, float]]) -> str | None:
    """Returns a warning about machines whose speeds differ too much; None if they do not."""
    ranked = sorted(speeds, key=lambda known: known[1])
    if not ranked or ranked[0][1] >= (1 - TOLERANCE) * ranked[-1][1]:
        return None
    (slowest, least), (fastest, most) = ranked[0], ranked[-1]
    return (
        f"warning: these machines differ in speed, equal time is not equal work: "
        f"{slowest} does {100 * least / most:.0f} % of what {fastest} does"
    )
