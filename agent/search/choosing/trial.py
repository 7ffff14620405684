"""Matches of alpha-beta against tree search on very short clocks, to choose one of them for a game."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from random import Random

from agent.search.choosing.match_series import MatchSeries, TrialMatch
from agent.search.engine import Engine, Limit, StopFlag, consider, limited
from agent.search.learning.trial_points import TrialPoints
from agent.search.tree.engine import TreeSearch
from games.gdl.running.machine import CircuitMachine

TRIAL_SECONDS, LEAST_SECONDS = 0.04, 0.02
"""Time for a move, and the least where matches are long and time is short. Tree search needs it: in amazons of 10x10
cells it won 7 of 8 matches at 0.02 s, all of 16 at 0.04 s (see docs/experiments.md)."""
PLAYOUTS, MOST_SECONDS = 100, 0.25
"""Playouts that tree search needs for each legal move, and limit on the time for a move to get them. With fewer, trial
matches mislead (gomoku, see docs/experiments.md)."""
MATCH_SECONDS = 5.0
"""Time for a move above which tree search is too slow for the real match, too: then a hurried match tells enough."""
SPEED_SECONDS, SPEED_SHARE = 0.2, 0.2
"""Time for measuring tree search's speed, and its limit as a share of the time for trials."""
SET_UP_SHARE = 0.5
"""Share of that before playouts are counted: a search learns the game first, once in a match. Otherwise breakthrough
looked up to four times as slow."""
MATCHES_IN_TIME = 2
"""Matches to finish in the time."""
CLEAR_LEAD = 2.0
"""Lead in points, either way, that decides before the match begins: learning or searching is then a better use of
time."""
LEAST_LEAD = 0.5
"""Lead in points that alpha-beta needs: ties say nothing where the same role always wins, nor do matches that have not
ended (see docs/experiments.md)."""
DECISIVE_LEAD, MANY_TRIALS = 4.0, 12
"""Lead in points, either way, and number of matches that end the trials during a match: between equals the choice
matters little."""
MOST_REMEMBERED = 20
"""Limit on trial matches of earlier preparations that count: their evaluations were worse."""


class Trials(MatchSeries):
    """The matches of a game and their result."""

    def __init__(
        self,
        machine: CircuitMachine,
        make_alpha_beta: Callable[[int], Engine],
        make_tree: Callable[[int, Random], TreeSearch],
        *,
        threads: int,
        random: Random,
    ) -> None:
        """`make_alpha_beta` makes alpha-beta for a role, as `make_tree` does tree search; see `MatchSeries`."""
        super().__init__(machine, make_tree, threads=threads, random=random)
        self._make_alpha_beta = make_alpha_beta
        self.plies = 1.0
        """Expected length of a match."""
        self.branching = 1.0
        """Mean number of moves where there is a choice."""
        self._wanted = TRIAL_SECONDS
        """Time for a move that tree search needs."""
        self._measured = False
        """Whether `_wanted` was measured."""
        self.too_slow = False
        """Whether tree search will probably have less time than it needs in the real match, too."""

    @property
    def lost(self) -> bool:
        """Whether tree search seems better."""
        return self.lead < 0

    @property
    def needed_lead(self) -> float:
        """Points by which alpha-beta must lead to seem better; none as long as there was no time to find out."""
        return LEAST_LEAD if self.matches or (self._measured and not self.too_slow) else 0.0

    @property
    def undecided(self) -> bool:
        """Whether more matches may show which search is better."""
        return self.matches < MANY_TRIALS and abs(self.lead) < DECISIVE_LEAD

    def recall(self, earlier: TrialPoints) -> None:
        """Counts matches of earlier preparations of the game."""
        self.matches = min(earlier.matches, MOST_REMEMBERED)
        self.points = earlier.points * self.matches / max(1, earlier.matches)

    def play(self, roles: Sequence[int], end: float, stop: StopFlag, lead: float) -> None:
        """Plays on all threads, alpha-beta alternating between these roles, until `end` (`time.monotonic`), `stop`, or
        a lead of that many points either way. Raises the errors of engines."""
        if stop[0] or abs(self.lead) >= lead or time.monotonic() >= end:
            return
        self._measure(end, stop)
        if stop[0]:
            return
        left = end - time.monotonic()
        one_after_the_other = -(-MATCHES_IN_TIME // self._threads)
        seconds = min(self._wanted, max(LEAST_SECONDS, left / (one_after_the_other * self.plies)))
        with limited(stop, left) as halt:
            self._play_on(roles, seconds, halt, lambda: self.matches < MANY_TRIALS and abs(self.lead) < lead)

    def _measure(self, end: float, stop: StopFlag) -> float:
        """Returns the time for a move that tree search needs; measures it once, within a share of the time until `end`.
        Reliable unless stopped."""
        if not self._measured:
            wanted = self._time_to_search(stop, min(SPEED_SECONDS, SPEED_SHARE * (end - time.monotonic())))
            if not stop[0]:
                self._wanted = min(MOST_SECONDS, max(TRIAL_SECONDS, wanted))
                self.too_slow = wanted > MATCH_SECONDS
                self._measured = True
        return self._wanted

    def time_for_a_move(self, matches: int, end: float, stop: StopFlag) -> float:
        """Returns the time for a move with which that many matches, one after the other, end before `end`
        (`time.monotonic`).

        At least `TRIAL_SECONDS`, at most what tree search needs; 0 if not even `MATCHES_IN_TIME` matches would end.
        """
        needed = self._measure(end, stop)
        left = end - time.monotonic()
        seconds = min(needed, max(TRIAL_SECONDS, left / (matches * self.plies)))
        return seconds if MATCHES_IN_TIME * self.plies * seconds <= left else 0.0

    def _time_to_search(self, stop: StopFlag, seconds: float) -> float:
        """Measures for that many seconds the time for a move in which tree search makes enough playouts."""
        tree = self._make_tree(0, self._random)
        tree.begin(self._machine.initial())
        # The move does not matter.
        consider(tree, [()], Limit(SET_UP_SHARE * seconds), stop)
        begin, before = time.monotonic(), tree.playouts
        consider(tree, [()], Limit((1.0 - SET_UP_SHARE) * seconds), stop)
        return PLAYOUTS * self.branching * (time.monotonic() - begin) / max(1, tree.playouts - before)

    def _begin(self, role: int, random: Random) -> TrialMatch:
        machine = self._machine
        alpha_beta, tree = self._make_alpha_beta(role), self._make_tree(1 - role, random)
        engines = (alpha_beta, tree) if role == 0 else (tree, alpha_beta)
        return TrialMatch(machine, machine.initial(), engines, self._seconds, random)
