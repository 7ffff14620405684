"""Matches of tree search against itself, to find out whether a game wants much more exploration than most.

In a game of placing stones in squares a player may place a few blockers and goes on to move. Tree search placed one
after the other, and had none left when it needed them: it got 0.12 of the points against another one (16 matches at
0.5 s a move), with 4 times the exploration 0.81, with 16 times 0.91 (26 and 22). In fifteen other games 4 times as much
got 0.39 against the usual (150 matches at 0.25 s a move).

A sequential test (Wald 1945): most games are told by the first two matches.
"""

from __future__ import annotations

from random import Random

from agent.search.engine import StopFlag
from agent.search.pvs.match_series import MatchSeries, TrialMatch, trial_tree
from agent.search.pvs.tally import Tally

MORE = 8.0
"""How many times the usual exploration. Set by hand: at 0.04 s a move four times as much got 0.69 (35 matches) of the
usual one in the game above and 0.25 to 0.64 in 15 others (10 to 35 each); 16 times as much 0.70 (10), and 0 to 0.33 in
seven others (6 to 10 each)."""
LEAD, MOST_LEAD, MOST_BEHIND = 2.0, 5.0, 2.0
"""Points that much exploration has to be ahead to be used as long as no more is known, and after how many, ahead or
behind, no more matches are played. Set by hand: what gets 0.25 of the points wins the first two matches in 6 % of all
tests, and most games are told by then."""
MANY_MATCHES = 16
"""How many are played at most. Set by hand; not tuned."""


class ExplorationTrials(MatchSeries):
    """The matches of a game for two players, and how much exploration did in them."""

    @property
    def lead(self) -> float:
        """Points that much exploration is ahead."""
        return 2 * self.points - self.matches

    @property
    def factor(self) -> float:
        """How many times the usual exploration the game wants, as far as is known."""
        return MORE if self.lead >= LEAD else 1.0

    @property
    def undecided(self) -> bool:
        """Whether more matches may tell more."""
        return self.matches < MANY_MATCHES and -MOST_BEHIND < self.lead < MOST_LEAD

    def recall(self, earlier: Tally) -> None:
        """Counts matches of earlier preparations of the game."""
        self.points, self.matches = earlier

    def play(self, seconds: float, stop: StopFlag) -> None:
        """Plays on all cores, so many seconds a move, until `stop` or until the test is decided."""
        self._play_on((0, 1), seconds, stop, lambda: self.undecided)

    def _begin(self, role: int, random: Random) -> TrialMatch:
        machine = self._machine
        first, second = (trial_tree(machine, i, random) for i in (0, 1))
        (second if role else first).explore(MORE)
        return TrialMatch(machine, machine.initial(), (first, second), self._seconds, random)
