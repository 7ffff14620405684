"""Engines that search the lean game of a circuit (see `games.gdl.lean.game`) in a match of the whole game."""

from __future__ import annotations

from collections.abc import Callable

from agent.search.engine import Engine, Limit, Report, StopFlag
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine, Term


class LeanSearch(Engine):
    """An engine for the lean game. Moves are spelled alike in both; the match's states are projected."""

    def __init__(self, machine: CircuitMachine, engine: Engine) -> None:
        """`machine` is that of the match, `engine` one for its lean machine."""
        self._machine, self._engine = machine, engine

    @property
    def name(self) -> str:  # type: ignore[override]
        return self._engine.name

    @property
    def reason(self) -> str:  # type: ignore[override]
        return self._engine.reason

    @property
    def uses_start_clock(self) -> bool:  # type: ignore[override]
        return self._engine.uses_start_clock

    def begin(self, state: State) -> None:
        self._engine.begin(self._machine.lean_state(state))

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._engine.advance(joint_move, self._machine.lean_state(state))

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        self._engine.think(stop, report, limit)

    def prepare(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        self._engine.prepare(stop, report, limit)


def on_lean(make: Callable[[StateMachine, int], Engine | None]) -> Callable[[StateMachine, int], Engine | None]:
    """A factory of engines for circuits, with engines for the lean game where there is one."""

    def make_lean(machine: StateMachine, role: int) -> Engine | None:
        if not isinstance(machine, CircuitMachine) or machine.lean is None:
            return make(machine, role)
        engine = make(machine.lean, role)
        return engine and LeanSearch(machine, engine)

    return make_lean
