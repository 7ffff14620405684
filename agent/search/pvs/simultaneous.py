"""Alpha-beta for games in which both players choose at once: as if the other one saw what this one chooses."""

from __future__ import annotations

from dataclasses import replace

from agent.search.engine import Limit, Report, Score, StopFlag
from agent.search.pvs.analysis import Verdict
from agent.search.pvs.engine import AlphaBetaSearch
from games.gdl.running.serialise import widen
from games.machine import State, Term


class SimultaneousSearch(AlphaBetaSearch):
    """`AlphaBetaSearch` on the game that `serialise` has made for this role: that is its machine. States are those of
    the game itself.

    What it proves to be won is won. All else is only the least that the role can have: where that is nothing, it is
    `helpless`, and another search may know better.
    """

    reason = "two players choose at once; it goes by what the other one could answer if it saw the move"

    def begin(self, state: State) -> None:
        super().begin(widen(self._machine, state))

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        super().advance(joint_move, widen(self._machine, state))

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        self.helpless = False
        super().think(stop, report, limit)

    def _score(self, verdict: Verdict) -> Score:
        score = super()._score(verdict)
        if not score.proven or score.goal == 100:
            # A step of the game is two plies here.
            return replace(score, plies=None if score.plies is None else (score.plies + 1) // 2)
        self.helpless = score.goal <= 0
        return score.estimate
