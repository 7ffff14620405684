"""Players over HTTP that play at random, or the first legal move."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Sequence

from aiohttp import web

from games.machine import State, StateMachine, Term
from protocol import messages
from protocol.scramble import Scrambler
from protocol.server import Received, make_app, make_runner

HOST = "127.0.0.1"


class HousePlayer:
    """Plays the first legal move, or a random one, on the referee's own machine, whatever rules it is sent."""

    def __init__(self, machine: StateMachine, scrambler: Scrambler, choose: Callable[[Sequence[Term]], Term]) -> None:
        self._machine = machine
        self._scrambler = scrambler
        self._choose = choose
        self._role: int | None = None
        self._state: State = machine.initial()

    async def handle(self, message: messages.Message, received: Received) -> messages.Reply:
        """Answers one message."""
        match message:
            case messages.Info():
                return messages.Status("house", "available" if self._role is None else "busy")
            case messages.Ping() | messages.Preview():
                return messages.Ready()
            case messages.Start(role=role):
                self._role = self._machine.roles.index(self._scrambler.unscramble(role))
                self._state = self._machine.initial()
                return messages.Ready()
            case messages.Play(moves=moves) if self._role is not None:
                return messages.MoveReply(await asyncio.to_thread(self._move, self._role, moves))
            case messages.Stop():
                self._role = None
                return messages.Done()
            case messages.Abort():
                self._role = None
                return messages.Aborted()
            case _:
                return messages.Busy()

    def _move(self, role: int, moves: tuple[Term, ...] | None) -> Term:
        if moves is not None:
            joint_move = tuple(map(self._scrambler.unscramble, moves))
            self._state = self._machine.next(self._state, joint_move)
        return self._scrambler.scramble(self._choose(self._machine.legal(self._state, role)))


@contextlib.asynccontextmanager
async def house_player(kind: str, machine: StateMachine, scrambler: Scrambler, seed: int) -> AsyncIterator[str]:
    """Serves a `random` or `legal` player on a free port while the context lasts; yields its address."""
    choose: Callable[[Sequence[Term]], Term] = (
        random.Random(seed).choice if kind == "random" else lambda moves: moves[0]
    )
    serving = make_runner(make_app(HousePlayer(machine, scrambler, choose).handle))
    await serving.setup()
    try:
        site = web.TCPSite(serving, HOST, 0)
        await site.start()
        port = serving.addresses[0][1]
        yield f"http://{HOST}:{port}"
    finally:
        await serving.cleanup()
