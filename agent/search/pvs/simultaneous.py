"""Alpha-beta for games in which both players choose at once: as if the other one saw what this one chooses."""

from __future__ import annotations

from agent.search.engine import Opinion, Report, StopFlag
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

    def think(self, stop: StopFlag, report: Report, seconds: float | None) -> None:
        self.helpless = False

        def take(opinion: Opinion) -> None:
            if opinion.proven and opinion.value is not None and opinion.value < 100:
                self.helpless = opinion.value <= 0
                opinion = opinion.unproven()
            report(opinion)

        super().think(stop, take, seconds)
