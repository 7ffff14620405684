"""Durations of a match's turns, and the number of turns that may have been missed."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from agent.serving.clock import SHORTEST, Instant

RECENT = 9
"""Turns from which the usual duration is taken."""

USUAL = 0.15
"""Share by which a turn may be longer than the known ones."""

LONG = 1.4
"""Factor by which a turn is so long that two turns of another player are as likely, if the manager does not wait for
players that it cannot reach. Estimated for thinking times that vary by a third."""

SOME = 0.1
"""Least number of missed turns where a turn took longer than usual."""

ENOUGH = 4
"""Turns that must be known to tell the turns of one role from those of the other."""

MANAGER_SECONDS = 6.0
"""Longest time that managers wait beyond their clock (Tiltyard: 5 s). A longer turn was more than one."""


class ManagerPace:
    """Times between the messages of a match.

    Where others move at once, they say little: then only the rules show whether a turn was missed (see
    `agent.playing.belief`).
    """

    def __init__(
        self, start_clock: float, play_clock: float, last: Instant, intervals: Iterable[float] | None = None
    ) -> None:
        """`last` is the time of the last message. After an outage, `intervals` are the seconds from PLAY to PLAY that
        the previous server noted."""
        self._start_clock = start_clock
        self._play_clock = play_clock
        self._last = last
        self.interrupted = intervals is not None
        """Whether messages may have been missed since the last one: there was no server."""
        self._restarted = self.interrupted
        """Whether messages may have been missed at any time."""
        self._intervals = list(intervals or ())

    def took(self, received: Instant, number: int) -> None:
        """Notes the time of a new message. `number` counts the joint moves made by then (0: START)."""
        if number > 1:
            self._intervals.append(max(0.0, received - self._last))
            del self._intervals[:-RECENT]
        self._last = received
        self.interrupted = False

    def missed(self, received: Instant, number: int, replaced: bool) -> float | None:
        """Returns the number of joint moves that may have been missed before the message after `number` of them.

        None: no reason to think so. Above 0: there was an interruption just now. 0: an earlier one may have been
        misjudged. `replaced` says whether the message has another move for us than our answer. A manager that does not
        wait for absent players has made more moves than this.
        """
        passed = received - self._last - (0 if number else self._start_clock)
        usual, typical = self._usual()
        missed = max(0.0, (passed - statistics.median(usual)) / typical)
        if self.interrupted:
            # After a short turn, too: the manager may have noticed our failure and gone on at once. Later messages wait
            # in the supervisor's backlog.
            if replaced:
                return max(missed, 1.0)
            longest = min(max(usual) * (1 + USUAL), statistics.median(usual) * LONG)
            return max(missed, SOME) if passed > max(longest, SHORTEST) else None
        if replaced and passed > self._play_clock + MANAGER_SECONDS:
            return missed
        return 0.0 if replaced and self._restarted else None

    def _usual(self) -> tuple[list[float], float]:
        """Returns the seconds of turns like the running one, and of an average turn.

        Where players take turns, only every other turn is like it; those between may take no time.
        """
        intervals = self._intervals
        if len(intervals) < ENOUGH:
            usual = intervals if len(intervals) > 1 else [self._play_clock]
            return usual, max(SHORTEST, statistics.fmean(usual))
        alike, others = intervals[-2::-2], intervals[-1::-2]
        return alike, max(SHORTEST, statistics.median(alike), statistics.median(others))
