"""An engine of others as a player in the referee's process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from agent.errors import CommandError
from agent.lab.ladder.outside import OutsideEngine, blaming, place
from agent.refereeing.local_player import LocalPlayer
from games.machine import State, StateMachine, Term
from protocol.kif import write

P = ParamSpec("P")
T = TypeVar("T")


class OutsidePlayer(LocalPlayer):
    """Lets an engine play one role at a rung. It keeps its own time."""

    timed = False

    def __init__(
        self,
        engine: OutsideEngine,
        rung: int | None,
        machine: StateMachine,
        role: int,
        opening: Sequence[Sequence[Term]],
    ) -> None:
        """`opening` is played before `start`, or followed after it if others are asked from the first position."""
        self._engine, self._rung = engine, rung
        self._machine, self._role = machine, write(machine.roles[role])
        self._opening = opening
        self._line: list[str] = []

    async def start(self, state: State, seconds: float) -> None:
        await self._ask(self._engine.new_game)
        for joint_move in self._opening if state != self._machine.initial() else ():
            await self._add(joint_move)

    async def choose(self, legal: Sequence[Term], state: State) -> Term:
        spelled = self._engine.spelled(self._role, legal)
        if not spelled:
            return legal[0]
        chosen = await self._ask(self._engine.choose, self._line, self._rung)
        if chosen not in spelled:
            raise CommandError(f"{self._engine.name} plays `{chosen}` {place(self._line)}, which is not legal")
        return spelled[chosen]

    async def follow(self, joint_move: tuple[Term, ...], state: State) -> None:
        await self._add(joint_move)

    async def _add(self, joint_move: Sequence[Term]) -> None:
        self._line = await self._ask(self._engine.after, self._line, self._machine.roles, joint_move)

    async def _ask(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Asks the engine. Raises `CommandError` for all of its errors: a match with them would measure nothing."""
        try:
            with blaming(self._engine.name):
                return await asyncio.to_thread(work, *arguments, **named)
        except asyncio.CancelledError:
            # Else the thread would wait for its answer.
            self._engine.close()
            raise
