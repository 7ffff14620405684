"""How many matches an evaluation is learnt from, and how deep they are: what counts first is to have some generations.

Where matches take long, as by the number of moves, the size of the circuit or the length of the game, they are
shallower, then fewer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

DEPTH, LATER_DEPTH = 2, 4
"""Plies that the players of the matches search, if there is time for it: in the first `SHALLOW_GENERATIONS`, and from
then on. Shallow matches teach sooner, but what they teach later does not help who searches deeper. After 12 s CPU of
learning, 40 s more of either depth against none, in matches of 4 and of 6 plies (100 to 200 and 30 to 60): 4 plies 0.59
and 0.65 in connect four, 0.65 and 0.63 in nine boards, 0.50 and 0.48 in quarto, 0.50 and 0.50 in a race of pawns; 2
plies 0.51 and 0.46, 0.50 and 0.50, 0.49 and 0.45, 0.42 and 0.32. In breakthrough, where matches of 4 plies take long,
no evaluation was better in that time."""
SHALLOW_GENERATIONS = 8
"""Set by hand; not tuned."""
MATCHES, FEWEST_MATCHES = 256, 64
"""Matches of a generation, and where those would take too long. Set by hand. 8 s CPU of learning with the second number
against the first, matches of 3 plies: checkers 0.56 (180), merrills 0.51 (180), speed chess 0.53 (120), breakthrough
suicide 0.48 (180)."""
EARLY_SECONDS, SHARE = 7.0, 0.1
"""The matches of a generation take at most such a share of the time that was spent on learning so far, and of a few
seconds more; where they would take longer they are half as deep, down to one ply. 8 s CPU of learning against learning
with matches of 2 plies in any case, three runs each, matches of 3 plies: breakthrough 0.69, its suicide variant 1.00
(of 180; 6 to 8 generations against none), a knights' race 0.65, checkers 0.53; where generations are quick: nine boards
0.52, pentago 0.53. With 2 s instead of 7, against these: breakthrough 0.47, suicide 0.31, checkers 0.60."""
TRIED = 2
"""Matches at the beginning that show how long all of them would take. Set by hand; not tuned."""


class LearningPace:
    """Of the generations of one learner."""

    def __init__(self, earlier: int) -> None:
        """`earlier` generations of another learner came before."""
        self.depth = DEPTH
        """Plies that the players of the present generation's matches search."""
        self.seconds = float(earlier)
        """Time that was spent on learning; how long earlier generations took is not known, and counted as a second."""

    @property
    def limit(self) -> float:
        """Seconds that the matches of a generation take at most."""
        return SHARE * (EARLY_SECONDS + self.seconds)

    def go_on(self, generations: int) -> None:
        """Begins the next generation, after so many with those of earlier learners: deeper, if there is time for it."""
        wanted = DEPTH if generations < SHALLOW_GENERATIONS else LATER_DEPTH
        self.depth = min(wanted, 2 * self.depth)

    def played(self, depth: int, matches: int, seconds: float) -> None:
        """Takes note that the last matches were so deep, that so many came to their end, and what time that took."""
        # Matches that are never finished before a stop would teach nothing for ever.
        self.depth = max(1, depth // 2) if not matches and seconds > self.limit else depth

    def matches(self, most: int, fewest: int, share: float = 1.0) -> Iterator[int]:
        """The depth of each match that the calling thread has to play, as a part of a generation.

        Fewer than `most`, but not than `fewest`, where the matches of a single ply would take too long; and of those
        only a share (0..1) where others play the rest. Depth and number are as if all were played here: what can be
        gained by helpers is time, which teaches more than depth.
        """
        depth, tried, begin = self.depth, 0, time.thread_time()
        played = 0
        while played < share * most:
            each = (time.thread_time() - begin) / TRIED
            if tried == TRIED and each * (most - played) > self.limit:
                if depth > 1:
                    depth, tried, begin = depth // 2, 0, time.thread_time()
                else:
                    most = min(most, max(fewest, played + int(self.limit / each)))
            yield depth
            tried += 1
            played += 1
