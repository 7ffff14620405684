"""Plays heaps by arithmetic."""

from __future__ import annotations

from agent.search.engine import Engine, Limit, Opinion, Report, Score, StopFlag
from games.machine import State, StateMachine, Term
from tests.agent.search.heap_family.rules.recognise import Heap, recognise


class HeapEngine(Engine):
    """Leaves a multiple of four things."""

    name = "heap"

    def __init__(self, machine: StateMachine, role: int, binding: Heap) -> None:
        self._machine, self._role, self._binding = machine, role, binding
        self._state = machine.initial()

    def begin(self, state: State) -> None:
        self._state = state

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._state = state

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        legal = self._machine.legal(self._state, self._role)
        left = self._binding.left[self._state]
        taken = left % 4 if len(legal) > 1 else 0
        best = next((move for move in legal if self._left_after(move) == left - taken), legal[0])
        report(Opinion(best, Score(100.0 if taken else 0.0, proven=True), final=True))

    def _left_after(self, move: Term) -> int:
        joint_move = [self._machine.legal(self._state, role)[0] for role in range(2)]
        joint_move[self._role] = move
        return self._binding.left[self._machine.next(self._state, joint_move)]


def make_engine(machine: StateMachine, role: int) -> Engine | None:
    """The engine for a game of the family; None for any other."""
    binding = recognise(machine)
    return HeapEngine(machine, role, binding) if binding is not None else None
