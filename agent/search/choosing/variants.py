"""Matches of tree search against itself, searching in another way, to find out whether a game wants that.

*More exploration.* In a game of placing stones in squares a player may place a few blockers and goes on to move. Tree
search placed one after the other, and had none left when it needed them: it got 0.12 of the points against another one
(16 matches at 0.5 s a move), with 4 times the exploration 0.81, with 16 times 0.91 (26 and 22). In fifteen other games
4 times as much got 0.39 against the usual (150 matches at 0.25 s a move).

*Move averages* (`agent/search/tree/move_averages.py`), where random matches show which moves are good ones: at 0.8 s a
move 1.00 in gomoku on 15x15 cells and 0.90 in atari go on 7x7 (10 matches each), but 0.25 in pentago and in connect
four for who does not want it (4 each).

A sequential test (Wald 1945): most games are told by the first few matches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from agent.search.choosing.match_series import MatchSeries, TrialMatch
from agent.search.engine import StopFlag
from agent.search.learning.trial_points import Tally
from agent.search.tree.engine import TreeSearch
from agent.search.tree.move_averages import DRAWS
from games.gdl.running.machine import CircuitMachine

MORE = 8.0
"""How many times the usual exploration. Set by hand: at 0.04 s a move four times as much got 0.69 (35 matches) of the
usual one in the game above and 0.25 to 0.64 in 15 others (10 to 35 each); 16 times as much 0.70 (10), and 0 to 0.33 in
seven others (6 to 10 each)."""
LEAD, MOST_LEAD, MOST_BEHIND = 2.0, 5.0, 2.0
"""Points that a variant has to be ahead to be used as long as no more is known, and after how many, ahead or behind, no
more matches are played. Set by hand: what gets 0.25 of the points wins the first two matches in 6 % of all tests, and
most games are told by then."""
MANY_MATCHES = 16
"""How many are played at most. Set by hand; not tuned."""


@dataclass(frozen=True)
class Variant:
    """Another way of tree search."""

    name: str
    """What logs and the memory of the game call it."""
    use: Callable[[TreeSearch, bool], None]
    """Has a search go on in this way, or not; not while it thinks."""


MORE_EXPLORATION = Variant("more exploration", lambda tree, used: tree.explore(MORE if used else 1.0))
MOVE_AVERAGES = Variant("move averages", lambda tree, used: tree.draw(DRAWS if used else 1))


class VariantTrials(MatchSeries):
    """The matches of a game for two players, and how a variant did in them against the search without it."""

    def __init__(
        self,
        machine: CircuitMachine,
        variant: Variant,
        make_tree: Callable[[int, Random], TreeSearch],
        *,
        threads: int,
        random: Random,
    ) -> None:
        """Otherwise as for any `MatchSeries`."""
        super().__init__(machine, make_tree, threads=threads, random=random)
        self.variant = variant

    @property
    def used(self) -> bool:
        """Whether the game wants it, as far as is known."""
        return self.lead >= LEAD

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
        first, second = (self._make_tree(i, random) for i in (0, 1))
        for i, tree in enumerate((first, second)):
            self.variant.use(tree, i == role)
        machine = self._machine
        return TrialMatch(machine, machine.initial(), (first, second), self._seconds, random)
