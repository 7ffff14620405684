"""How long the turns of a match take, and from that, how many of them may have been missed."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from agent.serving.clock import SHORTEST, Instant

RECENT = 9
"""Turns that say how long a turn takes in this match. Set by hand; not tuned."""

INTERRUPTED = 0.6
"""Turns that may have been missed, as far as the time that passed tells, from which on a match reckons with that after
a restart. Set by hand; not tuned."""

MANAGER_SECONDS = 6.0
"""Managers wait for this much longer than their clock at most (Tiltyard 5 s): a turn that took longer was more than
one."""


class Pace:
    """When the messages of a match came.

    Where others take no time to move, the time that passed says little; then only the rules can tell whether something
    was missed (see `agent.worker.belief`).
    """

    def __init__(
        self, start_clock: float, play_clock: float, last: Instant, intervals: Iterable[float] | None = None
    ) -> None:
        """`last` is when the last message came. `intervals` are the seconds from PLAY to PLAY that another server has
        noted, where this one goes on after an outage."""
        self._start_clock = start_clock
        self._play_clock = play_clock
        self._last = last
        self.interrupted = intervals is not None
        """Whether messages may have been missed since the last one, because there was no server."""
        self._intervals = list(intervals or ())

    def took(self, received: Instant, number: int) -> None:
        """Notes when a message came that was new, with so many joint moves made until then (0: START)."""
        if number > 1:
            self._intervals.append(max(0.0, received - self._last))
            del self._intervals[:-RECENT]
        self._last = received
        self.interrupted = False

    def missed(self, received: Instant, number: int, replaced: bool) -> float | None:
        """How many joint moves may have been missed when the next message comes after `number` of them; None where
        there is no reason to think so.

        `replaced` is whether that message has another move for us than we answered.
        """
        typical = max(SHORTEST, statistics.median(self._intervals) if len(self._intervals) > 1 else self._play_clock)
        passed = received - self._last - (0 if number else self._start_clock)
        missed = max(0.0, passed / typical - 1)
        if self.interrupted:
            return max(missed, 1.0) if replaced else missed if missed > INTERRUPTED else None
        return missed if replaced and passed > self._play_clock + MANAGER_SECONDS else None
