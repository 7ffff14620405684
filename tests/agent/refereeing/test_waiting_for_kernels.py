"""A match waits for its agents' kernels: for those that its game needs, and for no others."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Collection
from types import SimpleNamespace

import pytest
from aiohttp import web

from agent.errors import PlayerStartError
from agent.refereeing import agent_process, hosting
from agent.refereeing.agent_process import AgentProcess
from agent.refereeing.human import PersonAtTerminal
from agent.search.kernel_groups import ALPHA_BETA, CIRCUIT, GENERAL, TREE
from protocol.server import make_runner


class Process:
    """An agent's process that goes on for ever."""

    pid, status = os.getpid(), None

    def end(self, number: int, seconds: float) -> None:
        """Nothing."""


@pytest.mark.parametrize("wanted", [("circuit", "tree"), GENERAL])
async def test_agent_is_asked_for_its_kernels(monkeypatch: pytest.MonkeyPatch, wanted: tuple[str, ...]) -> None:
    """The wait ends once the agent has all groups that are wanted."""
    in_order = ("reversi", *GENERAL)
    asked = 0

    async def health(request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        return web.json_response({"kernels": in_order[: asked - 1]})

    app = web.Application()
    app.router.add_get("/healthz", health)
    runner = make_runner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    monkeypatch.setattr(agent_process, "ChildProcess", lambda *_, **options: Process())
    with AgentProcess() as agent:
        agent.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        await agent.wait_until_available(lambda text: None, wanted)
    await runner.cleanup()
    assert in_order[: asked - 1] == ("reversi", *wanted)


@pytest.mark.parametrize(("compiled", "other"), [(True, "legal"), (False, "legal"), (False, "human")])
def test_match_waits_for_what_its_game_needs(monkeypatch: pytest.MonkeyPatch, compiled: bool, other: str) -> None:
    """On the first start tic-tac-toe waits for no planner; with all kernels there, its needs are not looked into.

    A person waits for none: the agent does, and ends the match where it cannot start.
    """
    prepared: list[set[str]] = []
    awaited: list[set[str]] = []

    def prepare(names: Collection[str], beside: Collection[str] = ()) -> object:
        prepared.append(set(names))
        return SimpleNamespace(finished=compiled, close=lambda: None)

    async def ask(person: object, legal: object, state: object) -> None:
        await asyncio.Event().wait()

    class Agent(contextlib.nullcontext[None]):
        """An agent that cannot begin."""

        url = "http://localhost:9"

        async def wait_until_available(self, announce: object, kernels: Collection[str]) -> None:
            """Notes the wish."""
            awaited.append(set(kernels))
            raise PlayerStartError("it has ended")

        def __enter__(self) -> Agent:  # type: ignore[override]
            return self

    monkeypatch.setattr(hosting, "prepare", prepare)
    monkeypatch.setattr(hosting, "AgentProcess", lambda memory, patient, level, share: Agent())
    monkeypatch.setattr(hosting, "Keyboard", lambda: None)
    monkeypatch.setattr(PersonAtTerminal, "choose", ask)
    with pytest.raises(PlayerStartError, match="it has ended"):
        hosting.host_match("tic_tac_toe", [other, "agent"], start_clock=1, play_clock=1)
    needed = {CIRCUIT, TREE, ALPHA_BETA}
    assert prepared == ([] if other == "human" else [{CIRCUIT}] if compiled else [{CIRCUIT}, needed])
    assert awaited == [set(GENERAL) if compiled else needed]
