"""Instants and deadlines. The margin is taken off a clock here, and nowhere else."""

from __future__ import annotations

import heapq
import time
from collections import deque
from dataclasses import dataclass
from typing import TypeAlias

SHORTEST = 0.05
"""Seconds that any turn lasts: enough to learn the legal moves."""

Instant: TypeAlias = float
"""Seconds of `time.monotonic`. Durations are plain seconds."""

DEFAULT_MARGIN = 0.4
"""Seconds for the reply's way back and for busy machines. Almost all of it covers the network: replies leave within
milliseconds of their deadline."""

SILENCE_SECONDS = 20.0
"""Seconds of silence, beyond a manager's clocks, before its match is closed."""

RECENT = 64
"""Number of measurements kept."""

LATENESS_FACTOR = 2.0
"""Safety factor on recent delays."""

ROUND_TRIPS = 2.0
"""Round trips between the manager's clock and ours. A manager may start its clock before it connects, which takes one;
its message and our reply take another."""


def now() -> Instant:
    """Returns the present instant."""
    return time.monotonic()


@dataclass(frozen=True, slots=True)
class Deadline:
    """The instant at which a reply leaves, finished search or not."""

    at: Instant

    def remaining(self) -> float:
        """Returns the seconds left, never negative."""
        return max(0.0, self.at - now())

    def passed(self) -> bool:
        """Returns whether the instant is over."""
        return now() >= self.at


class Delays:
    """Recent delays of one kind, in seconds."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=RECENT)

    def add(self, seconds: float) -> None:
        """Notes a delay."""
        self._recent.append(max(0.0, seconds))

    @property
    def high(self) -> float:
        """The second largest delay, about the 98 % quantile: the largest may be an accident. 0 with fewer than two."""
        return heapq.nlargest(2, self._recent)[1] if len(self._recent) > 1 else 0.0


class Clock:
    """Turns the manager's clocks into our deadlines.

    The margin is kept back, or more after recent delays, but at most half of a clock.
    """

    def __init__(self, margin: float = DEFAULT_MARGIN) -> None:
        """`margin` is the least number of seconds kept back from each clock."""
        self.margin = margin
        self.lateness = Delays()
        """Delays of replies beyond their deadlines."""
        self.loop_delays = Delays()
        """Delays of the event loop: the largest of each second."""

    def needed(self, round_trip: float = 0.0) -> float:
        """Returns the seconds to keep back; `round_trip` is in seconds, to the manager and back."""
        late = max(self.lateness.high, self.loop_delays.high)
        return max(self.margin, ROUND_TRIPS * round_trip + LATENESS_FACTOR * late)

    def deadline(self, received: Instant, seconds: float, round_trip: float = 0.0) -> Deadline:
        """Returns the deadline of the answer to a message whose first byte came at `received`, with a clock of
        `seconds`.

        Half of a short clock is left for thinking, and at least `SHORTEST`.
        """
        return Deadline(received + max(seconds - self.needed(round_trip), seconds / 2, SHORTEST))
