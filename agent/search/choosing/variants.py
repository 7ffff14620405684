"""Matches of tree search against variants of itself, to find out which ones a game wants.

*More exploration*: with the usual exploration tree search loses `quad_7x7`, a game of placing stones in squares, in
which it places all its few blockers at once. Most other games want less.

*Move averages* (`agent/search/tree/move_averages.py`): good in games whose random matches show the good moves, bad in
others. For both see docs/experiments.md.

A sequential test (Wald 1945) decides: mostly after the first few matches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from agent.search.choosing.match_series import MatchSeries, TrialMatch
from agent.search.engine import StopFlag
from agent.search.learning.trial_points import TrialPoints
from agent.search.tree.engine import TreeSearch
from agent.search.tree.move_averages import DRAWS
from games.gdl.running.machine import CircuitMachine

MORE = 8.0
"""Factor of the usual exploration, between 4 and 16 (see docs/experiments.md)."""
LEAD, MOST_LEAD, MOST_BEHIND = 2.0, 5.0, 2.0
"""Points of lead from which a variant is used, and limits of the test ahead and behind. A variant worth 25 % of the
points wins its first two matches in 6 % of tests."""
MANY_MATCHES = 16
"""Limit on matches."""


@dataclass(frozen=True)
class Variant:
    """Another way of tree search."""

    name: str
    """Name in logs and in the memory of the game."""
    use: Callable[[TreeSearch, bool], None]
    """Turns the variant on or off in a search; not while it thinks."""


MORE_EXPLORATION = Variant("more exploration", lambda tree, used: tree.explore(MORE if used else 1.0))
MOVE_AVERAGES = Variant("move averages", lambda tree, used: tree.draw(DRAWS if used else 1))


class VariantTrials(MatchSeries):
    """The matches of a variant of tree search against the search without it."""

    def __init__(
        self,
        machine: CircuitMachine,
        variant: Variant,
        make_tree: Callable[[int, Random], TreeSearch],
        *,
        threads: int,
        random: Random,
    ) -> None:
        """As `MatchSeries`, for a variant."""
        super().__init__(machine, make_tree, threads=threads, random=random)
        self.variant = variant

    @property
    def used(self) -> bool:
        """Whether the game seems to want the variant."""
        return self.lead >= LEAD

    @property
    def undecided(self) -> bool:
        """Whether more matches may change the result."""
        return self.matches < MANY_MATCHES and -MOST_BEHIND < self.lead < MOST_LEAD

    def recall(self, earlier: TrialPoints) -> None:
        """Counts matches of earlier preparations of the game."""
        self.points, self.matches = earlier

    def play(self, seconds: float, stop: StopFlag) -> None:
        """Plays on all threads, with that many seconds a move, until `stop` or until the test is decided."""
        self._play_on((0, 1), seconds, stop, lambda: self.undecided)

    def _begin(self, role: int, random: Random) -> TrialMatch:
        first, second = (self._make_tree(i, random) for i in (0, 1))
        for i, tree in enumerate((first, second)):
            self.variant.use(tree, i == role)
        machine = self._machine
        return TrialMatch(machine, machine.initial(), (first, second), self._seconds, random)
