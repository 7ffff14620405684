"""How long the turns of a match take, and from that, how many of them may have been missed."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from agent.serving.clock import SHORTEST, Instant

RECENT = 9
"""Turns that say how long a turn takes in this match. Set by hand; not tuned."""

USUAL = 0.15
"""By how much, as a share, a turn may be longer than those that are known. Set by hand; not tuned."""

LONG = 1.4
"""A turn longer than most by this factor is about as likely to have been two of another player, where the manager does
not wait for one that it cannot reach. Estimated for times to think that vary by a third; not tuned."""

SOME = 0.1
"""Turns that may have been missed at least where a turn took longer than usual. Set by hand; not tuned."""

ENOUGH = 4
"""Turns that must be known to tell those of one role on turn from those of the other. Set by hand; not tuned."""

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
        self._restarted = self.interrupted
        """Whether messages may have been missed at any time."""
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
        there is no reason to think so. Above 0 it stands for an interruption just now; 0 where one long ago may have
        been misjudged.

        `replaced` is whether that message has another move for us than we answered. Where nobody is waited for who is
        not there, more was missed than is said here.
        """
        passed = received - self._last - (0 if number else self._start_clock)
        usual, typical = self._usual()
        missed = max(0.0, (passed - statistics.median(usual)) / typical)
        if self.interrupted:
            # A turn that was short: the manager noticed that we failed, and went on at once. Messages that come later
            # wait in the supervisor's backlog.
            if replaced:
                return max(missed, 1.0)
            longest = min(max(usual) * (1 + USUAL), statistics.median(usual) * LONG)
            return max(missed, SOME) if passed > max(longest, SHORTEST) else None
        if replaced and passed > self._play_clock + MANAGER_SECONDS:
            return missed
        return 0.0 if replaced and self._restarted else None

    def _usual(self) -> tuple[list[float], float]:
        """How long turns like the one that is running took, and how long one takes on the average.

        Where players take turns, every other one is like it, and the others may have taken no time.
        """
        intervals = self._intervals
        if len(intervals) < ENOUGH:
            usual = intervals if len(intervals) > 1 else [self._play_clock]
            return usual, max(SHORTEST, statistics.fmean(usual))
        alike, others = intervals[-2::-2], intervals[-1::-2]
        return alike, max(SHORTEST, statistics.median(alike), statistics.median(others))
