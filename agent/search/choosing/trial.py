"""Matches of alpha-beta against tree search on very short clocks, to find out which of them plays a game."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from random import Random

from agent.search.choosing.match_series import MatchSeries, TrialMatch
from agent.search.engine import Engine, Limit, StopFlag, consider, limited
from agent.search.learning.trial_points import Tally
from agent.search.tree.engine import TreeSearch
from games.gdl.running.machine import CircuitMachine

TRIAL_SECONDS, LEAST_SECONDS = 0.04, 0.02
"""Time for a move, and the least where matches are long and there is little time for them. Set by hand: in amazons of
10x10 cells tree search won 7 of 8 matches at 0.02 s, and all of 16 at 0.04 s and 0.5 s. (That it lost 8 of 8 at 0.016 s
says nothing: it began each match with more than that of random matches, as it no longer does.)"""
PLAYOUTS, MOST_SECONDS = 100, 0.25
"""Playouts of tree search for each legal move: where it makes fewer in `TRIAL_SECONDS` moves take longer, if there is
time, up to that long. Set by hand. In gomoku on 15x15 cells alpha-beta got 0.44 (32 matches) of it at 0.04 s, where it
makes 5, 0.30 (10) at 0.12 s and 0.06 (16) at 0.4 s; with more than 100 what was even at 0.04 s was so at 0.4 s (seven
games, 10 matches each)."""
MATCH_SECONDS = 5.0
"""Where tree search needs even longer it will hardly have so much for a move of the real match either, and a hurried
match tells what there is to tell. Set by hand, for chess: it needs minutes."""
SPEED_SECONDS, SPEED_SHARE = 0.2, 0.2
"""How long it is watched for that, and of the time that there is, at most what share. Set by hand; not tuned."""
SET_UP_SHARE = 0.5
"""Share of that which goes by before playouts are counted: a search begins by getting to know the game, which takes
tens of milliseconds, but only once in a match. Counted as well, it made breakthrough look up to four times as slow."""
MATCHES_IN_TIME = 2
"""So many should come to their end. Set by hand; not tuned."""
CLEAR_LEAD = 2.0
"""Points ahead or behind that decide while the match has not begun: what is left of the time is better used for
learning, or for tree search. Set by hand; not tuned."""
HURRIED_LEAD, ENDLESS_LEAD = 1.0, 0.5
"""Points ahead that matches in a hurry have to bring before they tell anything, and those that have to be expected
where not even one of them has ended. Set by hand; not tuned."""
LEAST_LEAD = 0.5
"""Points that alpha-beta has to be ahead once there are matches. Set by hand: where the same seat wins whoever has it
they tell nothing, and in such games it got 0.2 (nineBoardTicTacToe, 5 matches) to 0.5 (connect four, 4) of longer ones;
where it wins all it foresees more, too."""
HURRY = 2.0
"""What was won with a share s of half the time that tree search needs counts as s to this power of a win over a tie.
Set by hand: in amazons on 8x8 cells alpha-beta won three of three matches with 0.3 of it, and none of eight with all
(when tree search still lost the first of these moves to random matches); but where there is nearly enough it counts."""
DECISIVE_LEAD, MANY_TRIALS = 4.0, 12
"""Points ahead or behind after which no more matches are played while others think, and how many are played at most:
where both are equal the choice matters little, and learning takes the same time. Set by hand; not tuned."""
MOST_REMEMBERED = 20
"""Trial matches of earlier preparations that count at most: their evaluations were worse. Set by hand; not tuned."""


class Trials(MatchSeries):
    """The matches of a game, and how they went; one that alpha-beta won in a hurry counts the less the more hurried it
    was, down to a tie."""

    def __init__(
        self,
        machine: CircuitMachine,
        make_alpha_beta: Callable[[int], Engine],
        make_tree: Callable[[int, Random], TreeSearch],
        *,
        threads: int,
        random: Random,
    ) -> None:
        """`make_alpha_beta` makes alpha-beta for a role as `make_tree` does tree search; see `MatchSeries`."""
        super().__init__(machine, make_tree, threads=threads, random=random)
        self._make_alpha_beta = make_alpha_beta
        self._seconds = TRIAL_SECONDS
        self.plies = 1.0
        """How long a match is likely to be."""
        self.branching = 1.0
        """How many moves there are, where there is a choice."""
        self._wanted = TRIAL_SECONDS
        """Time for a move, if there is enough."""
        self._measured = False
        """Whether that is known to be right."""
        self.too_slow = False
        """Whether tree search is likely to have less than it needs for a move in the real match, too."""
        self.hurried = 0
        """Matches in which tree search had less than half of the time for a move that it needs."""

    @property
    def lost(self) -> bool:
        """Whether tree search is the better one, as far as is known."""
        return self.lead < self._doubtful_lead

    @property
    def needed_lead(self) -> float:
        """Points that alpha-beta has to be ahead to be the better one, as far as is known: more than none once there
        are matches, as ties tell nothing."""
        return max(self._doubtful_lead, LEAST_LEAD if self.matches else 0.0)

    @property
    def _doubtful_lead(self) -> float:
        """Points that mean nothing, as they were or would be won in a hurry.

        Where matches were hurried it is not enough for alpha-beta to be ahead by little: in amazons, with a third of
        the time it needs, tree search won one match of two, and with four times that all of eight; in gomoku on 15x15
        cells it lost 12 of 16 with a twelfth, and won 15 of 16 with 0.4 s. Nor is it enough where they were so
        long that none has ended.
        """
        if self.matches:
            return HURRIED_LEAD * self.hurried / self.matches
        hurried = self._measured and self._share(self._seconds) < 1 and not self.too_slow
        return ENDLESS_LEAD if hurried else 0.0

    def _share(self, seconds: float) -> float:
        """So much time for a move as a share of half of what tree search needs: a match with less than 1 is hurried."""
        return 2 * seconds / self._wanted

    @property
    def undecided(self) -> bool:
        """Whether more matches may show which search is the better one."""
        return self.matches < MANY_TRIALS and abs(self.lead) < DECISIVE_LEAD

    def recall(self, earlier: Tally) -> None:
        """Counts matches of earlier preparations of the game."""
        self.matches = min(earlier.matches, MOST_REMEMBERED)
        self.points = earlier.points * self.matches / max(1, earlier.matches)

    def play(self, roles: Sequence[int], end: float, stop: StopFlag, lead: float) -> None:
        """Plays on all cores, alpha-beta in all of these roles by turns, until `end` (`time.monotonic`) or `stop`, or
        until it is so many points ahead or behind, as it may be already. Raises what an engine raises."""
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
        """The time for a move that tree search needs in a trial match; watches it for that, once, in a share of the
        time until `end`. Known for certain unless it is stopped."""
        if not self._measured:
            wanted = self._time_to_search(stop, min(SPEED_SECONDS, SPEED_SHARE * (end - time.monotonic())))
            if not stop[0]:
                self._wanted = min(MOST_SECONDS, max(TRIAL_SECONDS, wanted))
                self.too_slow = wanted > MATCH_SECONDS
                self._measured = True
        return self._wanted

    def time_for_a_move(self, matches: int, end: float, stop: StopFlag) -> float:
        """The time for a move with which so many matches, one after the other, are over before `end`
        (`time.monotonic`): `TRIAL_SECONDS` at least, and at most what tree search needs. 0 where even
        `MATCHES_IN_TIME` are not."""
        needed = self._measure(end, stop)
        left = end - time.monotonic()
        seconds = min(needed, max(TRIAL_SECONDS, left / (matches * self.plies)))
        return seconds if MATCHES_IN_TIME * self.plies * seconds <= left else 0.0

    def _time_to_search(self, stop: StopFlag, seconds: float) -> float:
        """The time for a move in which tree search does enough to be called one, watched for so many seconds."""
        tree = self._make_tree(0, self._random)
        tree.begin(self._machine.initial())
        # What it would play does not matter.
        consider(tree, [()], Limit(SET_UP_SHARE * seconds), stop)
        begin, before = time.monotonic(), tree.playouts
        consider(tree, [()], Limit((1.0 - SET_UP_SHARE) * seconds), stop)
        return PLAYOUTS * self.branching * (time.monotonic() - begin) / max(1, tree.playouts - before)

    def count(self, match: TrialMatch, won: float) -> None:
        # One that went on when there was more time was as quick as it had begun.
        enough = self._share(match.seconds)
        if enough < 1:
            self.hurried += 1
            if won > 0.5 and not self.too_slow:
                won = 0.5 + enough**HURRY * (won - 0.5)
        super().count(match, won)

    def _begin(self, role: int, random: Random) -> TrialMatch:
        machine = self._machine
        alpha_beta, tree = self._make_alpha_beta(role), self._make_tree(1 - role, random)
        engines = (alpha_beta, tree) if role == 0 else (tree, alpha_beta)
        return TrialMatch(machine, machine.initial(), engines, self._seconds, random)
