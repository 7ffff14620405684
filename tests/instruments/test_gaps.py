"""Matches in which some PLAYs are missed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from agent.sheet import load
from games.gdl.interpreter.machine import Interpreter
from games.machine import StateMachine
from tests.instruments.gaps import GapRecord, Metered, as_json, play_match


@pytest.fixture(scope="module")
def machine() -> StateMachine:
    """A small game with alternating moves."""
    return Interpreter(load("tic_tac_toe").checked)


def records(machine: StateMachine, count: int) -> Iterator[GapRecord]:
    """Yields the first matches that do not end in the gap."""
    seed = 0
    while count:
        record = play_match(machine, seed)
        seed += 1
        if record is not None:
            count -= 1
            yield record


def test_moves_after_a_gap_are_legal(machine: StateMachine) -> None:
    """There are hardly more illegal moves than the known risk, and at most one a match."""
    played = list(records(machine, 25))
    assert sum(record.illegal for record in played) <= sum(record.risk for record in played) + 3
    assert all(record.illegal <= 1 for record in played)
    assert sum(record.doubtful for record in played) > 10
    assert {record.missed for record in played} == {0, 1, 2, 3}


def test_match_depends_on_its_seed_only(machine: StateMachine) -> None:
    """The same seed gives the same match."""
    (first,) = records(machine, 1)
    assert play_match(machine, first.seed) == first


def test_queries_are_the_clock(machine: StateMachine) -> None:
    """Each query takes the same simulated time."""
    metered = Metered(machine)
    state = metered.initial()
    assert metered.now() == 0
    metered.next(state, [metered.legal(state, role)[0] for role in (0, 1)])
    assert metered.now() == pytest.approx(3e-4)


def test_figures() -> None:
    """The figures of a game's matches are JSON data."""
    played = [
        GapRecord(0, 1, 0, turns=5, doubtful=1, illegal=1, risk=0.5, sure_after=2),
        GapRecord(1, 2, 0, turns=3, doubtful=3, sure_after=None),
        GapRecord(2, 3, 1, turns=4, sure_after=0),
    ]
    figures = as_json(played)
    assert (figures["matches"], figures["illegal"], figures["matches_with_illegal"]) == (3, 1, 1)
    assert (figures["turns"], figures["doubtful_turns"], figures["risk"]) == (12, 4, 0.5)
    assert (figures["sure_again"], figures["median_messages_until_sure"]) == (2, 2)
    assert json.loads(json.dumps(figures)) == figures
