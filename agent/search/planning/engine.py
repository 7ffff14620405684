"""`PuzzleSearch`: the engine of one-player games, tree search with a planner beside it."""

from __future__ import annotations

import weakref
from typing import Any

from agent.search.engine import Limit, Report, StopFlag
from agent.search.planning.plan import NOTHING, Bound, Plan
from agent.search.planning.process import PlannerProcess
from agent.search.tree.engine import TreeSearch
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine, Term


class PuzzleSearch(TreeSearch):
    """Tree search for a single player, with a planner in a process beside it.

    The planner runs while the engine thinks; on one core each gets half. Its plans join the tree's best lines: the
    first match with the best goal ends the search.
    """

    name = "puzzle search"
    reason = "a single player's game: tree search, and a planner beside it"
    uses_start_clock = True

    def __init__(self, machine: CircuitMachine, role: int = 0, **options: Any) -> None:
        """The options are those of `TreeSearch`."""
        engine, worth = weakref.ref(self), machine.goal_scale.worth

        def note(found: Plan | Bound) -> None:
            if (owner := engine()) is None:
                return
            if isinstance(found, Plan):
                owner.lines.add(found.moves, worth(found.goal) / 100)
            else:
                owner.lines.limit(worth(found.goal) / 100)

        # Forked before the tree's memory exists: it would be copied.
        self._planner = PlannerProcess(machine, note)
        super().__init__(machine, role, **options)

    def begin(self, state: State) -> None:
        self._planner.drop()
        super().begin(state)
        self._planner.begin(state)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._planner.drop()
        super().advance(joint_move, state)
        if not self.lines.solved:
            line = self.lines.best()
            known = NOTHING if line is None else round(self._machine.goal_scale.goal(100 * line.goal))
            self._planner.begin(state, known)

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        if self.lines.solved:
            report(self._opinion(details=True))
            return
        self._planner.go_on()
        try:
            super().think(stop, report, limit)
        finally:
            self._planner.rest()

    def close(self) -> None:
        """Ends the planner's process early; it ends with the engine anyway."""
        self._planner.close()


def make_engine(machine: StateMachine, role: int) -> PuzzleSearch | None:
    """The engine for a compiled game of one player; None for any other."""
    if isinstance(machine, CircuitMachine) and len(machine.roles) == 1:
        return PuzzleSearch(machine, role)
    return None
