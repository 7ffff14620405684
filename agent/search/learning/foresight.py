"""Correlation of an evaluation with results, compared with that of random playouts.

Alpha-beta relies on the evaluation, tree search on playouts: where the evaluation foresees results far better,
alpha-beta probably plays better. This shows long before trial matches do, as each match learnt from counts. Results are
those that the evaluation was not yet fitted to (prequential validation, Dawid 1984).
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.search.engine import StopFlag
from agent.search.evaluation.sampling import in_lanes, make_sampling_workspace, play_batch
from agent.search.pvs.survey import share_of_points
from games.gdl.running.machine import CircuitMachine

KEPT = 256
"""Limit on positions kept: evaluations improve."""
AT_ONCE = 2
"""Positions in a batch of 64 playouts."""
ENOUGH = 24
"""Least number of positions for a comparison."""
SAME = 1e-9
"""Highest product of deviations taken for rounding of 0."""


@dataclass(slots=True)
class _Position:
    state: NDArray[np.uint64]
    """(words) packed."""
    foreseen: float
    result: float
    """Both 0..1, for role 0."""
    playouts: float | None = None
    """The mean result of random playouts; None before them, NaN where they did not end."""


class Foresight:
    """Positions, one of each match, with expected and real results."""

    def __init__(self, machine: CircuitMachine, seed: int) -> None:
        self._programs = machine.programs
        self._workspace = make_sampling_workspace(machine.programs, seed)
        self._positions: deque[_Position] = deque(maxlen=KEPT)

    def add(self, states: NDArray[np.uint64], foreseen: NDArray[np.float64], results: NDArray[np.float64]) -> None:
        """Adds packed states (n, words), each of another match, with expected and real results (n), 0..1 for role 0."""
        self._positions.extend(map(_Position, states, foreseen.tolist(), results.tolist()))

    def play_out(self, seconds: float, stop: StopFlag) -> None:
        """Plays out waiting positions, the newest first, for about that many seconds, or until `stop`."""
        end = time.monotonic() + seconds
        waiting = [position for position in reversed(self._positions) if position.playouts is None]
        for first in range(0, len(waiting), AT_ONCE):
            if stop[0] or time.monotonic() >= end:
                return
            batch = waiting[first : first + AT_ONCE]
            _, ended, _ = play_batch(
                self._programs, self._workspace, np.stack([position.state for position in batch]), stop
            )
            if stop[0]:
                return
            goals = self._workspace.goals.astype(np.float64)
            shares = np.where(in_lanes(int(ended)), share_of_points(100 * goals[:, 0], 100 * goals[:, 1]), np.nan)
            for i, position in enumerate(batch):
                position.playouts = float(shares[i :: len(batch)].mean())

    @property
    def advantage(self) -> float:
        """Difference of the evaluation's and the playouts' correlations with results, -2..2.

        Shrunk where there are few positions; 0 below `ENOUGH`, or where all matches end alike.
        """
        known = [one for one in self._positions if one.playouts is not None and not np.isnan(one.playouts)]
        if len(known) < ENOUGH:
            return 0.0
        results = np.array([one.result for one in known])
        foreseen, playouts = (
            _correlation(np.array(values), results)
            for values in ([one.foreseen for one in known], [one.playouts for one in known])
        )
        return (foreseen - playouts) * len(known) / (len(known) + ENOUGH)


def _correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Returns Pearson's correlation of two series (n) of 0..1; 0 where one of them is constant, but for rounding."""
    deviation = float(x.std() * y.std())
    return float(((x - x.mean()) * (y - y.mean())).mean()) / deviation if deviation > SAME else 0.0
