"""Hints for a person: the agent's move, from a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import itertools

from agent.errors import PlayerStartError
from agent.refereeing.agent_process import WHOLE, AgentProcess, Share
from agent.refereeing.positions import from_position
from agent.web.seat import SeatError
from games.machine import State, StateMachine, Term
from protocol.client import ClientError, PlayerClient
from protocol.messages import Abort, Play, Start

START_SECONDS, PLAY_SECONDS = 5, 3
"""Clocks of the match that finds a hint: enough to compile most games, and short enough to wait for."""

SPARE_SECONDS = 5.0
"""Seconds beyond its clock after which the agent is given up."""


class Hinter:
    """Asks an agent, which starts with the first hint and ends with the context."""

    def __init__(self, machine: StateMachine, rulesheet: tuple[Term, ...], share: Share = WHOLE) -> None:
        """`share` is the agent's part of this machine."""
        self._machine = machine
        self._share = share
        self._rulesheet = rulesheet
        self._numbers = itertools.count(1)
        self._stack = contextlib.AsyncExitStack()
        self._agent: AgentProcess | None = None

    async def __aenter__(self) -> Hinter:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def hint(self, role: int, state: State) -> Term:
        """Returns the agent's move in a match that begins in this state. Raises `SeatError`."""
        rules = from_position(self._rulesheet, self._machine.facts(state))
        if rules is None:
            raise SeatError("These rules allow no hints.")
        try:
            if self._agent is None:
                self._agent = self._stack.enter_context(AgentProcess(share=self._share))
            await self._agent.wait_until_available(lambda text: None)
            name = f"hint.{next(self._numbers)}"
            async with PlayerClient(self._agent.url) as client:
                start = Start(name, self._machine.roles[role], rules, START_SECONDS, PLAY_SECONDS)
                await client.send(start, timeout=START_SECONDS + SPARE_SECONDS)
                answer = await client.send(Play(name, None), timeout=PLAY_SECONDS + SPARE_SECONDS)
                await client.send(Abort(name), timeout=SPARE_SECONDS)
        except (ClientError, PlayerStartError, OSError) as error:
            raise SeatError(f"There is no hint: {error}") from None
        if answer.term not in await asyncio.to_thread(self._machine.legal, state, role):
            raise SeatError("The agent knows no good move here.")
        return answer.term
