"""How well an evaluation foresees results, beside what random playouts tell of them.

Alpha-beta goes by the one, tree search by the other, so that where the first is far better alpha-beta is likely to do
better, long before trial matches can show it: each match that is played to learn from tells something, not who wins
once in a while. What is foreseen is compared with results that the evaluation was not fitted to yet (prequential
validation, Dawid 1984).
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
"""Positions that are kept: evaluations become better. Set by hand; not tuned."""
AT_ONCE = 2
"""Positions in a batch of 64 playouts. Set by hand; not tuned."""
ENOUGH = 24
"""Positions from which on a comparison means something. Set by hand; not tuned."""
SAME = 1e-9
"""Products of deviations up to which one of both is taken to be 0."""


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
    """Positions of matches, one of each, with what the evaluation said of them and what became of them."""

    def __init__(self, machine: CircuitMachine, seed: int) -> None:
        self._programs = machine.programs
        self._workspace = make_sampling_workspace(machine.programs, seed)
        self._positions: deque[_Position] = deque(maxlen=KEPT)

    def add(self, states: NDArray[np.uint64], foreseen: NDArray[np.float64], results: NDArray[np.float64]) -> None:
        """Adds packed states (n, words), each of another match, with expected and real results (n), 0..1 for role 0."""
        self._positions.extend(map(_Position, states, foreseen.tolist(), results.tolist()))

    def play_out(self, seconds: float, stop: StopFlag) -> None:
        """Plays out what was not yet, the newest first, for about so many seconds, or until `stop`."""
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
        """By how much the evaluation's correlation with results is higher than that of playouts, -2..2; less where
        there are few positions, and 0 where there are hardly any, or all matches end alike."""
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
    """Pearson's, of two series (n) of 0..1; 0 where one of them is constant, but for rounding."""
    deviation = float(x.std() * y.std())
    return float(((x - x.mean()) * (y - y.mean())).mean()) / deviation if deviation > SAME else 0.0
