"""Number and depth of the matches that an evaluation is learnt from: the first generations matter most.

Slow matches (many moves, a large circuit, a long game) become shallower, then fewer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

DEPTH, LATER_DEPTH = 2, 4
"""Plies searched by the players in the first `SHALLOW_GENERATIONS` and later, time permitting. Tuned: after 12 s, 40 s
more at 4 plies got 48 to 65 % of the points, at 2 plies 32 to 51 % (see docs/experiments.md)."""
SHALLOW_GENERATIONS = 8
"""Generations that prefer speed to depth."""
MATCHES, FEWEST_MATCHES = 256, 64
"""Matches of a generation, and the least number where those would take too long. Always playing the least gained
nothing (see docs/experiments.md)."""
EARLY_SECONDS, SHARE = 7.0, 0.1
"""Limit on the time for a generation's matches: a share of the time spent on learning so far plus some seconds. Slower
matches are halved in depth, down to one ply. Tuned: 52 to 100 % of the points against a fixed depth of 2 plies (see
docs/experiments.md)."""
TRIED = 2
"""Matches from which the time of all is estimated."""


class LearningPace:
    """Number and depth of the matches of one learner's generations."""

    def __init__(self, earlier: int) -> None:
        """`earlier` generations of another learner came before."""
        self.depth = DEPTH
        """Plies searched by the players of this generation."""
        self.seconds = float(earlier)
        """Time spent on learning; each earlier generation counts as a second."""

    @property
    def limit(self) -> float:
        """Limit on the seconds of a generation's matches."""
        return SHARE * (EARLY_SECONDS + self.seconds)

    def go_on(self, generations: int) -> None:
        """Begins the next generation, after that many in all: deeper, time permitting."""
        wanted = DEPTH if generations < SHALLOW_GENERATIONS else LATER_DEPTH
        self.depth = min(wanted, 2 * self.depth)

    def played(self, depth: int, matches: int, seconds: float) -> None:
        """Records depth, finished matches and seconds of the last ones."""
        # Matches that never end before a stop would teach nothing.
        self.depth = max(1, depth // 2) if not matches and seconds > self.limit else depth

    def matches(self, most: int, fewest: int, share: float = 1.0) -> Iterator[int]:
        """Yields the depth of each match that the calling thread must play as its part of a generation.

        There are `most` matches, or down to `fewest` where matches of a single ply take too long; of these a share
        (0..1) if others play the rest. Depth and number are as without helpers: the time gained teaches more than
        depth.
        """
        depth, tried, begin = self.depth, 0, time.thread_time()
        played = 0
        while played < share * most:
            each = (time.thread_time() - begin) / TRIED
            if tried == TRIED and each * (min(most, MATCHES) - played) > self.limit:
                if depth > 1:
                    depth, tried, begin = depth // 2, 0, time.thread_time()
                else:
                    most = min(most, max(fewest, played + int(self.limit / each)))
            yield depth
            tried += 1
            played += 1
