"""Matches that begin in the middle of another one: for taking back, and for hints."""

from __future__ import annotations

import contextlib
import random

import pytest
from aiohttp import web

from agent.record.positions import from_position
from agent.refereeing import analysis
from agent.refereeing.analysis import Analyst
from agent.web.seat import SeatError
from games import rulesheets
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from games.machine import State, Term
from protocol.kif import read_rulesheet
from protocol.messages import Abort, Play, Start
from protocol.server import make_app, make_runner
from tests.agent.playing.hidden_games import MONTY_HALL
from tests.matches import goals, random_match
from tests.protocol.conftest import ServedPlayer


def test_match_goes_on_from_a_position_as_from_its_beginning() -> None:
    """With the facts of some position as its `init`, a rulesheet leads through the same states."""
    rules = read_rulesheet(rulesheets.text("connect_four"))
    machine = Interpreter(check(rules))
    plies = list(random_match(machine, random.Random(7)))[5:]
    begun_there = from_position(rules, machine.facts(plies[0][0]))
    assert begun_there is not None
    later = Interpreter(check(begun_there))
    same = later.initial()
    for state, joint_move, _ in plies:
        assert later.facts(same) == machine.facts(state)
        assert [set(later.legal(same, role)) for role in (0, 1)] == [set(machine.legal(state, role)) for role in (0, 1)]
        same = later.next(same, joint_move)
    assert later.terminal(same)
    assert goals(later, same) == goals(machine, plies[-1][-1])


def test_rules_that_read_init_stay_as_they_are() -> None:
    """There is no such rulesheet where another initial state may change the rules."""
    source = "(role a) (init (f 1)) (legal a go) (<= (home ?x) (init (f ?x))) (goal a 0) (<= terminal (true (f 2)))"
    assert from_position(read_rulesheet(source), [("f", "2")]) is None


def test_rules_of_imperfect_information_stay_as_they_are() -> None:
    """A rulesheet with the position would tell players what they may not see."""
    assert from_position(read_rulesheet(MONTY_HALL), [("stage", "picking"), ("car", "1")]) is None


def after(machine: Interpreter, *marks: tuple[int, int]) -> State:
    """Returns a state of tic-tac-toe."""
    state = machine.initial()
    for number, (column, row) in enumerate(marks):
        moves: list[Term] = ["noop", "noop"]
        moves[number % 2] = ("mark", str(column), str(row))
        state = machine.next(state, moves)
    return state


class FakeAgent(contextlib.AbstractContextManager["FakeAgent"]):
    """A player in place of an agent's process."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.token = ""
        self.ended = False

    async def wait_until_available(self, announce: object) -> None:
        """Does nothing: it is."""

    def __exit__(self, *_: object) -> None:
        self.ended = True


async def test_hint_is_the_agents_move_in_a_match_that_begins_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """One agent is asked for all hints, in matches with short clocks. A move that is illegal is no hint."""
    rules = read_rulesheet(rulesheets.text("tic_tac_toe"))
    machine = Interpreter(check(rules))
    player, agents = ServedPlayer(), []
    runner = make_runner(make_app(player.handle))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()

    def start(share: object) -> FakeAgent:
        agents.append(FakeAgent(f"http://127.0.0.1:{runner.addresses[0][1]}"))
        return agents[-1]

    monkeypatch.setattr(analysis, "AgentProcess", start)
    states = [after(machine, (1, 1), (2, 1)), after(machine, (1, 1), (2, 1), (1, 2))]
    async with Analyst() as analyst:
        assert (await analyst.hint(machine, rules, 0, states[0])).move == ("mark", "1", "2")
        with pytest.raises(SeatError, match="no good move"):
            await analyst.hint(machine, rules, 1, states[1])
        assert not agents[0].ended
    await runner.cleanup()
    assert [agent.ended for agent in agents] == [True]
    assert [type(message) for message in player.messages] == [Start, Play, Abort] * 2
    starts = [message for message in player.messages if isinstance(message, Start)]
    assert [(each.role, each.start_clock, each.play_clock) for each in starts] == [("x", 5, 3), ("o", 5, 3)]
    for begun, state in zip(starts, states, strict=True):
        there = Interpreter(check(begun.rules))
        assert there.facts(there.initial()) == machine.facts(state)


@pytest.mark.e2e
async def test_hint_wins_at_once() -> None:
    """A hint of a real agent finds a win in one, and says what it is worth. It is told while it is found."""
    rules = read_rulesheet(rulesheets.text("tic_tac_toe"))
    machine = Interpreter(check(rules))
    async with Analyst() as analyst:
        found = (await analyst.hint(machine, rules, 0, after(machine, (1, 1), (2, 1), (1, 2), (2, 2)))).as_json()
        assert found is not None
        assert (found["move"], found["value"], found["line"][0]) == ("(mark 1 3)", 100.0, "(mark 1 3)")
        rules = read_rulesheet(rulesheets.text("breakthrough"))
        told = [thinking.seconds async for thinking in analyst.think(rules, "white", 1)]
        assert told
        assert told[:-1] == sorted(told[:-1])
