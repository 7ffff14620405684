"""`LevelSearch` plays any game at a level."""

from __future__ import annotations

from dataclasses import replace

from agent.search.defence import Defence, defended
from agent.search.engine import Engine, Limit, Opinion, Report, StopFlag
from agent.search.levels import Level
from agent.search.montecarlo import MonteCarlo
from agent.search.registry import gets_stuck
from agent.search.tree.engine import TreeSearch
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine, Term
from games.roles import are_two_players

MEMORY_BYTES = 1 << 27
"""Upper bound on the tree's arrays: room for some hundred thousand nodes."""


class LevelSearch(Engine):
    """Tree search for one role, bounded by a level whatever the clocks; Monte-Carlo search where there is no circuit.

    One search plays all games at a level: which one is best is found out in trial matches, by time. Where a clock or
    `stop` ends a turn early, its move depends on the machine's speed after all.
    """

    reason = "the match is played at a level: a fixed number of playouts a move, on any machine"

    def __init__(self, machine: StateMachine, role: int, level: Level) -> None:
        self._machine, self._role, self.level = machine, role, level
        self._state = machine.initial()
        self._search: TreeSearch | MonteCarlo
        self._defence: Defence | None = None
        """For games of two players without chance, on a circuit."""
        if isinstance(machine, CircuitMachine) and not gets_stuck(machine):
            self._search = TreeSearch(
                machine,
                role,
                threads=1,
                memory_bytes=MEMORY_BYTES,
                timeless=True,
                seed=level.seed,
            )
            if are_two_players(machine.roles):
                self._defence = Defence(machine, role)
        else:
            self._search = MonteCarlo(machine, role, level.seed)
        # A circuit may follow an interpreter, and its moves are those of the level.
        self._final = isinstance(machine, CircuitMachine)
        self.name = f"{self._search.name} at a level"

    def begin(self, state: State) -> None:
        self._state = state
        self._search.begin(state)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._state = state
        self._search.advance(joint_move, state)

    def prepare(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        """Does nothing: a level's turn is its nodes, and the start clock would add to them."""

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        legal = self._machine.legal(self._state, self._role)
        if len(legal) == 1:
            # It is played at once, and the search would be stopped sooner or later.
            report(Opinion(legal[0], final=True))
            return
        limit = Limit(nodes=self.level.nodes)
        last = defended(
            self._defence, lambda take: self._search.think(stop, take, limit), self._state, stop, report, limit
        )
        if last is not None and not last.final and self._final and not stop[0]:
            report(replace(last, final=True))
