"""Alpha-beta where both players choose at once: as if the other player saw this one's move."""

from __future__ import annotations

from dataclasses import replace

from agent.search.engine import Limit, Report, Score, StopFlag
from agent.search.evaluation.scale import MOST, WON
from agent.search.pvs.analysis import PvsVerdict
from agent.search.pvs.engine import AlphaBetaSearch
from games.gdl.running.serialise import widen
from games.machine import State, Term


class SimultaneousSearch(AlphaBetaSearch):
    """`AlphaBetaSearch` on the game that `serialise` makes for this role. States are those of the game itself.

    A proven win is a win. Any other proof is a lower bound; where that is a loss the search is `helpless`, and another
    one may find better.
    """

    reason = "two players choose at once; it assumes that the other one sees the move"

    def begin(self, state: State) -> None:
        super().begin(widen(self._machine, state))

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        super().advance(joint_move, widen(self._machine, state))

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        self.helpless = False
        super().think(stop, report, limit)

    def score_of(self, verdict: PvsVerdict) -> Score:
        score = super().score_of(verdict)
        if not score.proven or verdict.score > WON:
            # A step of the game is two plies here.
            return replace(score, plies=None if score.plies is None else (score.plies + 1) // 2)
        self.helpless = verdict.score <= -MOST
        return score.estimate
