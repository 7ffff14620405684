"""An agent that thinks about positions of finished matches, in a process that starts when it is first asked."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from agent.lobby.child import Child
from agent.web.site import Send

if TYPE_CHECKING:
    from agent.refereeing.analysis import Analyst

THINKING_SECONDS = 600
"""Seconds of thinking about one position, at most."""

IDLE_SECONDS = 60.0
"""Seconds after which the process is ended that nobody asks."""

MOST_UNREAD = 100
"""Most questions that the process has not read."""


class Analysis:
    """Thinks about one position at a time, for one page."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._news: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        """News about the last position; None at its end."""
        self._number = 0
        self._child: Child | None = None
        self._ending: asyncio.TimerHandle | None = None
        self._watching: set[asyncio.Task[None]] = set()

    async def think(self, rulesheet: str, send: Send) -> None:
        """Sends thoughts about a rulesheet's first position, newer and newer, as JSON objects: `role` and `thinking`,
        see `Thinking.as_json`; or an `error`. Ends when nothing is left to think about, or another one is asked for."""
        self._news.put_nowait(None)
        news = self._news = asyncio.Queue()
        self._number = next(self._numbers)
        if self._ending is not None:
            self._ending.cancel()
        try:
            if self._child is None or not self._child.alive:
                self._child = Child("agent.lobby.analysis:work", told=self._take, most_unread=MOST_UNREAD)
                watching = asyncio.create_task(self._watch(self._child))
                self._watching.add(watching)
                watching.add_done_callback(self._watching.discard)
            self._child.write([(self._number, rulesheet)])
            while (told := await news.get()) is not None:
                await send(json.dumps(told))
        except OSError as error:
            await send(json.dumps({"error": f"nothing can be thought: {error}"}))
        finally:
            if news is self._news and self._child is not None:
                self._child.write([(0, None)])
                self._ending = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._end)

    async def close(self) -> None:
        """Ends the process."""
        if self._ending is not None:
            self._ending.cancel()
        self._end()
        await asyncio.gather(*self._watching)

    def _end(self) -> None:
        if self._child is not None:
            task = asyncio.ensure_future(self._child.stop())
            self._watching.add(task)
            task.add_done_callback(self._watching.discard)
            self._child = None

    def _take(self, message: tuple[int, dict[str, Any] | None]) -> None:
        number, told = message
        if number == self._number:
            self._news.put_nowait(told)

    async def _watch(self, child: Child) -> None:
        failure = await child.wait()
        if child is self._child:
            self._child = None
            self._news.put_nowait({"error": (failure or "its process has ended").splitlines()[-1]})
            self._news.put_nowait(None)


# ------------------------------------------------------------------------------------------------------- in the child


def work(pipe: Connection) -> None:
    """Thinks about the first position of each rulesheet that is told with a number, until the next message; tells its
    thoughts with the number, then None."""
    with contextlib.suppress(KeyboardInterrupt, EOFError):
        asyncio.run(_work(pipe))


async def _work(pipe: Connection) -> None:
    from agent.refereeing.agent_process import Share
    from agent.refereeing.analysis import Analyst

    asked = asyncio.Event()
    asyncio.get_running_loop().add_reader(pipe.fileno(), asked.set)
    thinking: asyncio.Task[None] | None = None
    # Matches may go on beside it.
    async with Analyst(Share(0, 2)) as analyst:
        while True:
            await asked.wait()
            asked.clear()
            if not pipe.poll():
                continue
            number, rulesheet = pipe.recv()
            if thinking is not None:
                thinking.cancel()
                await asyncio.gather(thinking, return_exceptions=True)
            if rulesheet is not None:
                thinking = asyncio.create_task(_think(analyst, pipe, number, rulesheet))


async def _think(analyst: Analyst, pipe: Connection, number: int, rulesheet: str) -> None:
    from agent.errors import PlayerStartError, first_line
    from agent.refereeing.bounded_machine import BoundedMachine
    from games.gdl.interpreter.machine import Interpreter
    from games.gdl.rules.check import check
    from games.machine import GameError
    from protocol.client import ClientError
    from protocol.kif import read_rulesheet

    try:
        rules = read_rulesheet(rulesheet)
        machine = BoundedMachine(Interpreter(check(rules)))
        state = await asyncio.to_thread(machine.initial)
        if await asyncio.to_thread(machine.terminal, state):
            raise GameError("the match is over here")
        roles = range(len(machine.roles))
        choices = [len(await asyncio.to_thread(machine.legal, state, role)) for role in roles]
        role = next((role for role in roles if choices[role] > 1), 0)
        async with contextlib.aclosing(analyst.think(rules, machine.roles[role], THINKING_SECONDS)) as thoughts:
            async for thinking in thoughts:
                pipe.send((number, {"role": role, "thinking": thinking.as_json()}))
    except (ClientError, GameError, PlayerStartError, OSError, ValueError) as error:
        pipe.send((number, {"error": first_line(error)}))
    pipe.send((number, None))
