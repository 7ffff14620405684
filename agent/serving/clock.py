"""Time: one type (seconds of `time.monotonic`), and the one place where the margin is taken off a clock."""

from __future__ import annotations

import heapq
import time
from collections import deque
from dataclasses import dataclass
from typing import TypeAlias

SHORTEST = 0.05
"""Seconds that any turn lasts: enough to learn what is legal. Set by hand; not tuned."""

Instant: TypeAlias = float
"""A moment: seconds on the clock of `time.monotonic`. Durations are plain seconds."""

DEFAULT_MARGIN = 0.4
"""Seconds for the reply's way back and for a busy machine on either side: replies were seen to leave within a few
milliseconds of their deadline, so almost all of it covers the network."""

SILENCE_SECONDS = 20.0
"""How long a manager may be silent beyond its clocks before its match is closed: some wait longer than they say, and
networks may be slow. Set by hand; not tuned."""

RECENT = 64
"""Measurements that say how late things are at present. Set by hand; not tuned."""

LATENESS_FACTOR = 2.0
"""What was so late lately may be that much later the next time. Set by hand; not tuned."""

ROUND_TRIPS = 2.0
"""Round trips between the manager's clock and ours: it may start its clock when it begins to connect, which takes one;
its message and our reply take another."""


def now() -> Instant:
    """The present."""
    return time.monotonic()


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment at which a reply leaves, whatever the search has to say about it."""

    at: Instant
    """The moment itself."""

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - now())

    def passed(self) -> bool:
        """Whether it is over."""
        return now() >= self.at


class Delays:
    """The last delays of one kind, in seconds."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=RECENT)

    def add(self, seconds: float) -> None:
        """Notes one."""
        self._recent.append(max(0.0, seconds))

    @property
    def high(self) -> float:
        """The second largest, a quantile of 98 % once there are enough: one alone may be an accident, as where a
        machine was suspended. 0 with fewer than two."""
        return heapq.nlargest(2, self._recent)[1] if len(self._recent) > 1 else 0.0


class Clock:
    """Turns the manager's clocks into deadlines of our own.

    What is kept back is the margin, or more where delays that were measured lately ask for it; at most half of a clock.
    """

    def __init__(self, margin: float = DEFAULT_MARGIN) -> None:
        """`margin` is how many seconds are kept back from each clock at least."""
        self.margin = margin
        self.lateness = Delays()
        """How much later than planned replies left."""
        self.loop_delays = Delays()
        """How much later than asked for the event loop came round: the largest of each second."""

    def needed(self, round_trip: float = 0.0) -> float:
        """Seconds to keep back, where that leaves half of the clock; `round_trip` is that to the manager and back."""
        late = max(self.lateness.high, self.loop_delays.high)
        return max(self.margin, ROUND_TRIPS * round_trip + LATENESS_FACTOR * late)

    def deadline(self, received: Instant, seconds: float, round_trip: float = 0.0) -> Deadline:
        """When the answer to a message has to leave whose first byte came at `received` and whose clock is `seconds`.

        A clock that is hardly longer than the margin keeps half of its time for thinking, and even one of zero as much
        as it takes to learn what is legal.
        """
        return Deadline(received + max(seconds - self.needed(round_trip), seconds / 2, SHORTEST))
