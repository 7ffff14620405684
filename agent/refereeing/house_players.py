"""Players that the referee brings along: `agent` (this agent, in a process of its own), `random` and `legal`.

All of them are reached over HTTP like any other player.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence

from aiohttp import web

from agent.errors import PlayerStartError
from agent.processes import start_module
from games.machine import State, StateMachine, Term
from protocol.client import ClientError, PlayerClient
from protocol.messages import (
    Abort,
    Aborted,
    Busy,
    Done,
    Info,
    Message,
    MoveReply,
    Ping,
    Play,
    Preview,
    Ready,
    Reply,
    Start,
    Status,
    Stop,
)
from protocol.scramble import Scrambler
from protocol.server import Received, make_app, make_runner

BUILT_IN = ("agent", "random", "legal")

HOST = "127.0.0.1"

AVAILABLE_SECONDS = 600.0
"""How long a new agent process may take until it is available: the first start compiles kernels, which may take minutes
on a slow machine."""

TAIL = 4096
"""Bytes of a process's last output that are kept to explain its failure."""


class HousePlayer:
    """Plays the first legal move, or a random one. Follows the match on the referee's own machine.

    It is there to be played against, not to be tested, so it does not compile the rules that it is sent.
    """

    def __init__(self, machine: StateMachine, scrambler: Scrambler, choose: Callable[[Sequence[Term]], Term]):
        self._machine = machine
        self._scrambler = scrambler
        self._choose = choose
        self._role: int | None = None
        self._state: State = machine.initial()

    async def handle(self, message: Message, received: Received) -> Reply:
        """Answers one message."""
        match message:
            case Info():
                return Status("house", "available" if self._role is None else "busy")
            case Ping() | Preview():
                return Ready()
            case Start(role=role):
                self._role = self._machine.roles.index(self._scrambler.unscramble(role))
                self._state = self._machine.initial()
                return Ready()
            case Play(moves=moves) if self._role is not None:
                return MoveReply(await asyncio.to_thread(self._move, self._role, moves))
            case Stop():
                self._role = None
                return Done()
            case Abort():
                self._role = None
                return Aborted()
            case _:
                return Busy()

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


@contextlib.asynccontextmanager
async def agent_process(announce: Callable[[str], None]) -> AsyncIterator[str]:
    """Runs `ggp-agent serve` on a free port while the context lasts; yields its address once it is available.

    `announce` is told when that takes long. Raises `PlayerStartError`.
    """
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    # An interrupt at the keyboard reaches the referee alone, which then says ABORT.
    process = await start_module(
        *("agent.cli", "serve", "--host", HOST, "--port", str(port), "--workers", "1"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    tail = bytearray()
    reading = asyncio.create_task(_read_output(process, tail))
    try:
        url = f"http://{HOST}:{port}"
        await _until_available(url, process, tail, announce)
        yield url
    finally:
        await _end(process)
        await reading


async def _read_output(process: asyncio.subprocess.Process, tail: bytearray) -> None:
    """Keeps the pipe empty and the end of what came through it."""
    assert process.stdout is not None
    while output := await process.stdout.read(TAIL):
        tail += output
        del tail[:-TAIL]


async def _until_available(
    url: str, process: asyncio.subprocess.Process, tail: bytearray, announce: Callable[[str], None]
) -> None:
    started = time.monotonic()
    announced = False
    async with PlayerClient(url) as client:
        while True:
            if process.returncode is not None:
                raise PlayerStartError(f"the agent's process ended at once:\n{tail.decode(errors='replace')}")
            with contextlib.suppress(ClientError):
                answer = await client.send(Info(), timeout=1.0)
                if "available" in answer.text:
                    return
            waited = time.monotonic() - started
            if waited > AVAILABLE_SECONDS:
                output = tail.decode(errors="replace")
                raise PlayerStartError(f"the agent was not available after {waited:.0f} s:\n{output}")
            if waited > 3.0 and not announced:
                announce("waiting for the agent to become available ...")
                announced = True
            await asyncio.sleep(0.1)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), 5.0)
    except TimeoutError:
        process.kill()
        await process.wait()
