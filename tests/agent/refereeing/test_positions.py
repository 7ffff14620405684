"""Matches that begin in the middle of another one: for taking back, and for hints."""

from __future__ import annotations

import random

from agent.refereeing.hinting import Hinter
from agent.refereeing.positions import from_position
from games import rulesheets
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from protocol.kif import read_rulesheet


def test_match_goes_on_from_a_position_as_from_its_beginning() -> None:
    """With the facts of some position as its `init`, a rulesheet leads through the same states."""
    rules = read_rulesheet(rulesheets.text("connect_four"))
    machine = Interpreter(check(rules))
    chance = random.Random(7)
    state, later, moved = machine.initial(), None, 0
    while not machine.terminal(state):
        if moved == 5:
            begun_there = from_position(rules, machine.facts(state))
            assert begun_there is not None
            later = Interpreter(check(begun_there))
            same = later.initial()
        if later is not None:
            assert later.facts(same) == machine.facts(state)
            assert [set(later.legal(same, role)) for role in (0, 1)] == [
                set(machine.legal(state, role)) for role in (0, 1)
            ]
        joint_move = tuple(chance.choice(machine.legal(state, role)) for role in (0, 1))
        state, moved = machine.next(state, joint_move), moved + 1
        if later is not None:
            same = later.next(same, joint_move)
    assert later is not None
    assert later.terminal(same)
    assert [later.goal(same, role) for role in (0, 1)] == [machine.goal(state, role) for role in (0, 1)]


def test_rules_that_read_init_stay_as_they_are() -> None:
    """There is no such rulesheet where another initial state may change the rules."""
    source = "(role a) (init (f 1)) (legal a go) (<= (home ?x) (init (f ?x))) (goal a 0) (<= terminal (true (f 2)))"
    assert from_position(read_rulesheet(source), [("f", "2")]) is None


async def test_hint_wins_at_once() -> None:
    """A hint finds a win in one."""
    rules = read_rulesheet(rulesheets.text("tic_tac_toe"))
    machine = Interpreter(check(rules))
    state = machine.initial()
    for x, y in ((1, 1), (2, 1), (1, 2), (2, 2)):
        role = 0 if x == 1 else 1
        moves = ["noop", "noop"]
        moves[role] = ("mark", str(x), str(y))  # type: ignore[call-overload]
        state = machine.next(state, moves)
    async with Hinter(machine, rules) as hinter:
        assert await hinter.hint(0, state) == ("mark", "1", "3")
