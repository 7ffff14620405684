"""Time: one type (seconds of `time.monotonic`), and the one place where the margin is taken off a clock."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TypeAlias

SHORTEST = 0.05
"""Seconds that any turn lasts: enough to learn what is legal. Set by hand; not tuned."""

Instant: TypeAlias = float
"""A moment: seconds on the clock of `time.monotonic`. Durations are plain seconds."""

DEFAULT_MARGIN = 0.4
"""Seconds for the reply's way back and for a busy machine on either side: replies were seen to leave within a few
milliseconds of their deadline, so almost all of it covers the network."""


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


@dataclass(frozen=True, slots=True)
class Clock:
    """Turns the manager's clocks into deadlines of our own."""

    margin: float = DEFAULT_MARGIN
    """Seconds kept back from each clock."""

    def deadline(self, received: Instant, seconds: float) -> Deadline:
        """When the answer to a message has to leave whose first byte came at `received` and whose clock is `seconds`.

        A clock that is hardly longer than the margin keeps half of its time for thinking, and even one of zero as much
        as it takes to learn what is legal.
        """
        return Deadline(received + max(seconds - self.margin, seconds / 2, SHORTEST))
