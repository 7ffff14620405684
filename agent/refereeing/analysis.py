"""Thoughts about any position, from an agent in a process of its own: for hints, and for analyses."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator

from agent.errors import PlayerStartError
from agent.record.positions import from_position
from agent.record.thinking import Thinking
from agent.refereeing.agent_process import WHOLE, AgentProcess, Share
from agent.web.feed import Feed
from agent.web.gallery import Gallery
from agent.web.seat import SeatError
from agent.web.transcript import Transcript
from games.machine import State, StateMachine, Term
from protocol.client import ClientError, PlayerClient
from protocol.messages import Abort, Play, Start

START_SECONDS, HINT_SECONDS = 5, 3
"""Clocks of the match that finds a hint: enough to compile most games, and short enough to wait for."""

SPARE_SECONDS = 5.0
"""Seconds beyond its clock after which the agent is given up."""


class Analyst:
    """Asks an agent, which starts with the first question and ends with the context."""

    def __init__(self, share: Share = WHOLE) -> None:
        """`share` is the agent's part of this machine."""
        self._share = share
        self._numbers = itertools.count(1)
        self._stack = contextlib.ExitStack()
        self._agent: AgentProcess | None = None

    async def __aenter__(self) -> Analyst:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stack.close()

    async def think(self, rulesheet: tuple[Term, ...], role: Term, seconds: int) -> AsyncGenerator[Thinking, None]:
        """Yields newer and newer thoughts about a rulesheet's first position, for so many seconds or until nothing is
        left to think about; the last one has the agent's move. Raises `ClientError`, `PlayerStartError` and `OSError`.
        """
        if self._agent is None:
            self._agent = self._stack.enter_context(AgentProcess(share=self._share))
        agent, name, gallery = self._agent, f"analysis.{next(self._numbers)}", Gallery()
        await agent.wait_until_available(lambda text: None)
        # As the page of a match takes them.
        transcript = Transcript(name, name, (role,), ("agent",), START_SECONDS, seconds, key=name)
        gallery.add(transcript)
        feed = Feed(agent.url, agent.token, 0, transcript, gallery, lambda term: term)
        feed.follow(name, 0)
        by_move: dict[Term | None, Thinking] = {}
        start = Start(name, role, rulesheet, START_SECONDS, seconds)
        async with PlayerClient(agent.url) as client:
            answering = asyncio.create_task(_ask(client, start))
            following = asyncio.create_task(feed.run())
            try:
                with gallery.watching(None) as changed:
                    while not answering.done():
                        telling = asyncio.create_task(changed.wait())
                        await asyncio.wait((answering, telling), return_when=asyncio.FIRST_COMPLETED)
                        telling.cancel()
                        changed.clear()
                        if 0 in transcript.last.thinking and not answering.done():
                            newest = transcript.last.thinking[0]
                            by_move[newest.move] = newest
                            yield newest
                move = await answering
                await feed.take_all()
                last = transcript.last.thinking.get(0)
                if last is not None:
                    by_move[last.move] = last
                # It may have thought on after its answer.
                yield by_move.get(move) or Thinking.of(move)
            finally:
                answering.cancel()
                following.cancel()
                await asyncio.gather(answering, following, return_exceptions=True)
                with contextlib.suppress(ClientError):
                    await client.send(Abort(name), timeout=SPARE_SECONDS)

    async def hint(self, machine: StateMachine, rulesheet: tuple[Term, ...], role: int, state: State) -> Thinking:
        """Returns the agent's thoughts in a match that begins in this state of the machine. Raises `SeatError`."""
        rules = from_position(rulesheet, machine.facts(state))
        if rules is None:
            raise SeatError("These rules allow no hints.")
        last: Thinking | None = None
        try:
            async for thinking in self.think(rules, machine.roles[role], HINT_SECONDS):
                last = thinking
        except (ClientError, PlayerStartError, OSError) as error:
            raise SeatError(f"There is no hint: {error}") from None
        if last is None or last.move not in await asyncio.to_thread(machine.legal, state, role):
            raise SeatError("The agent knows no good move here.")
        return last


async def _ask(client: PlayerClient, start: Start) -> Term:
    """Returns the player's move in the first position. Raises `ClientError`."""
    await client.send(start, timeout=start.start_clock + SPARE_SECONDS)
    answer = await client.send(Play(start.match_id, None), timeout=start.play_clock + SPARE_SECONDS)
    return answer.term
