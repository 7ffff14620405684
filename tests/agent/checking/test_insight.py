"""The findings of `inspect` about a game."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.checking import insight, playouts
from agent.checking.describe import describe
from agent.checking.insight import proven_values, reached_by
from agent.sheet import load
from games.gdl.compile import compile_rules
from games.gdl.rules.check import CheckedRules
from games.gdl.running.machine import CircuitMachine
from tests.agent.lab.appraisal.sheets import sheet_of
from tests.agent.playing.hidden_games import MONTY_HALL
from tests.matches import rules_of

LAMPS = """
(role a)
(lamp 1) (lamp 2)
(init (off 1)) (init (off 2)) (init (step 0)) (after 0 1) (after 1 2) (after 2 3)
(<= (legal a (press ?x)) (lamp ?x))
(<= (legal a (smash ?x)) (lamp ?x) (true (step 9)))
(<= (next (on ?x)) (does a (press ?x)))
(<= (next (on ?x)) (true (on ?x)))
(<= (next (off ?x)) (true (off ?x)) (not (does a (press ?x))))
(<= (next (step ?n)) (true (step ?m)) (after ?m ?n))
(<= terminal (true (step 3)))
(<= (goal a 100) (true (on 1)) (true (on 2)))
(<= (goal a 0) (not (true (on 1))))
(<= (goal a 0) (not (true (on 2))))
"""


@pytest.fixture(scope="module")
def checked() -> CheckedRules:
    return rules_of(LAMPS)


@pytest.fixture(scope="module")
def lamps(checked: CheckedRules) -> CircuitMachine:
    return compile_rules(checked)


def test_random_matches_show_latches(lamps: CircuitMachine) -> None:
    """Facts that stay once true are latches; others are not."""
    reached = reached_by(lamps)
    assert reached.latches.pop("step", 1) == 1  # the last one, with which the match ends
    assert reached.latches == {"on": 2}
    assert reached.facts == reached.possible_facts == len(lamps.game.fluents)
    assert reached.moves == reached.possible_moves - sum(reached.never_legal.values())
    assert set(reached.never_legal) <= {"smash"}


def test_small_games_are_proven(lamps: CircuitMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The value of a small game is proven for each role."""
    monkeypatch.setattr(insight, "PROOF_SECONDS", 600.0)
    assert proven_values(lamps) == [100.0]
    machine = load("tic_tac_toe").machine()
    assert isinstance(machine, CircuitMachine)
    assert proven_values(machine) == [50.0, 50.0]


def test_large_games_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large game is not proven in time."""
    monkeypatch.setattr(insight, "PROOF_SECONDS", 0.01)
    machine = load("connect_four").machine()
    assert isinstance(machine, CircuitMachine)
    assert proven_values(machine) is None


def test_stages(checked: CheckedRules) -> None:
    """A compilation tells the time of each stage."""
    seconds = compile_rules(checked).game.stage_seconds
    assert set(seconds) == {"grounding", "circuit", "layout"}
    assert all(value > 0 for value in seconds.values())


def test_nothing_is_proven_where_information_is_imperfect(tmp_path: Path) -> None:
    """A proof would take every role to see the state."""
    assert "proven_value" not in describe(str(sheet_of(MONTY_HALL, tmp_path).path))


def test_matches_without_an_end_are_no_playouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no match of the rules ends, their speed is told after a while, and without playouts."""
    monkeypatch.setattr(playouts, "MOST_SECONDS", 0.1)
    endless = "(role a) (init (p 1)) (<= (next (p 1)) (true (p 2))) (legal a b) (goal a 100) (<= terminal (true (p 2)))"
    assert playouts.circuit_speed(compile_rules(rules_of(endless)), 0.1).playouts_per_s == 0
