"""How fast a machine is, for comparisons: equal time is equal work only on equal machines."""

from __future__ import annotations

import time
from collections.abc import Iterable

TOLERANCE = 0.10
"""By how much the slowest machine may fall behind the fastest without a warning."""

_PLAYOUTS = 4096
_REPETITIONS = 7
"""Of some milliseconds each; the best one counts, as whatever else runs can only add to it. Set by hand; not tuned."""


def measure_speed() -> float:
    """Random playouts per second of wall time, of a small game on one core of this process.

    It takes a tenth of a second, and what loading the kernels for it takes.
    """
    # Imported here: it loads Numba's kernels, which whoever only compares speeds can do without.
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
    """What to say of machines of such speeds, if they differ by too much."""
    ranked = sorted(speeds, key=lambda known: known[1])
    if not ranked or ranked[0][1] >= (1 - TOLERANCE) * ranked[-1][1]:
        return None
    (slowest, least), (fastest, most) = ranked[0], ranked[-1]
    return (
        f"warning: these machines differ in speed, equal time is not equal work: "
        f"{slowest} does {100 * least / most:.0f} % of what {fastest} does"
    )
