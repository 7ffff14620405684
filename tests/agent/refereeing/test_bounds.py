"""Bounds of what a match takes: its rules, and its agents."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Sequence
from urllib.parse import urlsplit

import aiohttp
import pytest

from agent.errors import InputError
from agent.record.match import MatchRecord
from agent.refereeing import agent_process, hosting
from agent.refereeing.agent_process import AgentProcess, Share, too_many
from agent.refereeing.bounded_machine import BoundedMachine
from agent.refereeing.hosting import Hosting
from agent.refereeing.referee import MatchWatcher
from agent.web.access import TOKEN_HEADER
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from games.machine import Interrupted, LimitError, State, Term
from protocol.kif import read_rulesheet
from tests.explosion import EXPLOSION

RULES = read_rulesheet(EXPLOSION)


def exploding() -> Interpreter:
    """A machine without an end of its second state."""
    return Interpreter(check(RULES))


class Greedy(Interpreter):
    """A machine that finds no memory for the next state."""

    def next(self, state: State, joint_move: Sequence[Term]) -> State:
        raise MemoryError


def match_of(machine: Interpreter, watcher: MatchWatcher) -> tuple[Hosting, MatchRecord]:
    """A match between two players who move at once."""
    record = MatchRecord("boom", "m", machine.roles, ("legal", "legal"), 1, 1, rules=RULES)
    return Hosting(machine, (), record, watcher, announce=lambda text: None), record


def test_query_has_an_end() -> None:
    """At its bound of CPU time, of memory, or when it is stopped; a machine that was stopped answers no more."""
    machine = BoundedMachine(exploding(), seconds=0.0)
    state = machine.initial()
    assert machine.facts(state) == {"start"}
    with pytest.raises(LimitError, match="more than 0 s"):
        machine.next(state, ("go", "go"))
    with pytest.raises(LimitError, match="more memory than there is"):
        BoundedMachine(Greedy(check(RULES))).next(state, ("go", "go"))
    machine = BoundedMachine(exploding(), seconds=600.0)
    ends: list[Exception] = []

    def ask() -> None:
        try:
            machine.next(state, ("go", "go"))
        except Interrupted as error:
            ends.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    machine.stop()
    thread.join()
    assert len(ends) == 1


async def test_rules_that_explode_end_their_match_with_a_sentence() -> None:
    """The record says what happened, and when."""
    hosted, record = match_of(Greedy(check(RULES)), MatchWatcher())
    with pytest.raises(LimitError):
        await hosted.run()
    assert record.outcome == "aborted"
    (error,) = record.errors
    assert (error.role, error.step) == ("referee", 1)
    assert error.detail == "the rules cannot go on: a position takes more memory than there is for a match"


async def test_match_that_is_interrupted_leaves_no_query_behind() -> None:
    """Nothing of it waits for the position that is being worked out."""
    asked = asyncio.Event()

    class Watcher(MatchWatcher):
        """Notes that the players are asked."""

        def asked(self, record: MatchRecord, legal: Sequence[Sequence[Term]]) -> None:
            asked.set()

    hosted, record = match_of(exploding(), Watcher())
    running = asyncio.create_task(hosted.run())
    await asked.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    # Waits for all threads, as the end of the program does.
    await asyncio.get_running_loop().shutdown_default_executor()
    assert record.outcome == "aborted"


def test_agents_share_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is told its part of cores and memory, whatever plays beside; more than the machine runs are refused."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 3, 5, 7, 9})
    monkeypatch.setattr(agent_process, "machine_memory", lambda: 12 << 30)
    assert [Share(number, 2).cores for number in range(2)] == [[1, 3], [5, 7, 9]]
    assert [len(Share(number, 8).cores) for number in range(8)] == [1] * 8
    assert Share(0, 3).memory == 4 << 30
    assert too_many(8) == too_many(0, beside=8) == too_many(2, beside=6) == ""
    assert too_many(16).startswith("16 agents are too many: this machine runs 8 at once. Choose")
    assert too_many(4, beside=6).startswith("4 agents are too many: this machine runs 8 at once, and 6 play in other")
    monkeypatch.setattr(agent_process, "machine_memory", lambda: 1 << 30)
    with pytest.raises(InputError, match="3 agents are too many: this machine runs 2"):
        hosting.host_match("three_way_line", ["agent"] * 3, start_clock=1, play_clock=1)


async def test_page_of_an_agent_is_for_its_referee() -> None:
    """It shows what an agent is about to play: a browser on this machine is refused."""
    with AgentProcess() as agent:
        async with aiohttp.ClientSession() as session:
            for headers, status in (({}, 403), ({TOKEN_HEADER: "guess"}, 403), ({TOKEN_HEADER: agent.token}, 200)):
                async with session.get(f"{agent.url}/page/matches", headers=headers) as response:
                    assert response.status == status


def test_agent_has_its_port_from_the_first_moment() -> None:
    """Nobody else can take it while the process starts; what is sent meanwhile waits."""
    share = Share(0, 2)
    with AgentProcess(share=share) as agent:
        address = urlsplit(agent.url)
        with socket.create_connection((address.hostname, address.port)) as early:
            assert os.sched_getaffinity(agent._process.pid) == set(share.cores)
            early.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert early.recv(1 << 10).startswith(b"HTTP/1.")
