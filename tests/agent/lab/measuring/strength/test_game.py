"""One game of a measurement: openings, seats, clocks and proofs."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from agent.errors import InputError
from agent.lab.measuring.strength import game as strength
from agent.lab.measuring.strength.game import GameRecord, Series, pair_opening, play_game
from agent.lab.tournament import plain
from agent.lab.tournament.engine_player import ENGINES, Maker
from agent.lab.tournament.openings import random_opening
from agent.search.engine import Engine, Limit, Opinion, Report, Score, StopFlag
from agent.search.reversi.engine import ReversiEngine
from games import rulesheets
from games.gdl.circuit.circuit import build_circuit
from games.gdl.grounding.ground import ground
from games.gdl.rules.check import check
from games.gdl.running.machine import CircuitMachine, compiled_game
from games.machine import State, Term
from games.native.reversi.recognise import recognise
from protocol.kif import read_one, read_rulesheet

TIC_TAC_TOE = Series("tic_tac_toe", ("general", "general"), seconds=0.3, opening_plies=2)


def machine_of(name: str) -> CircuitMachine:
    """The circuit of one of the project's rulesheets."""
    checked = check(read_rulesheet(rulesheets.text(name)))
    return CircuitMachine(compiled_game(build_circuit(ground(checked.rules, checked.roles))))


@pytest.fixture(scope="module")
def machine() -> CircuitMachine:
    return machine_of("tic_tac_toe")


class Scripted(Engine):
    """Plays the first legal move; says at each of its turns what it is told to."""

    name = "scripted"

    def __init__(
        self, machine: CircuitMachine, role: int, opinions: Callable[[int], tuple[float | None, bool]]
    ) -> None:
        self._machine, self._role, self._opinions = machine, role, opinions
        self._state: State = machine.initial()
        self._turn = 0

    def begin(self, state: State) -> None:
        self._state = state

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._state = state

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        value, proven = self._opinions(self._turn)
        self._turn += 1
        report(Opinion(self._machine.legal(self._state, self._role)[0], Score(value, proven), proven))
        while not stop[0]:
            time.sleep(0.001)


def scripted(opinions: Callable[[int], tuple[float | None, bool]]) -> Maker:
    """A contender that says (value, proven) at its turn of that number, and thinks until it is stopped."""
    return lambda machine, role: Scripted(machine, role, opinions)


def replayed(machine: CircuitMachine, record: GameRecord) -> State:
    """The state at the end of a recorded game; every move is legal."""
    state = machine.initial()
    for joint in [*record.opening, *record.moves]:
        moves = [read_one(move) for move in joint]
        assert all(move in machine.legal(state, role) for role, move in enumerate(moves))
        state = machine.next(state, moves)
    return state


def test_record_can_be_replayed(machine: CircuitMachine) -> None:
    """Opening and moves lead by legal moves to an end with the recorded goals, which are by contender, not by role."""
    for number in (0, 1):
        record = play_game(machine, TIC_TAC_TOE, number)
        assert record.seats == [number, 1 - number]
        assert len(record.opening) == 2
        end = replayed(machine, record)
        assert machine.terminal(end)
        assert [machine.goal(end, role) for role in (0, 1)] == [record.goals[seat] for seat in record.seats]
        # The first role is to move after two plies.
        assert record.chose_first == number


def test_pairs_share_their_opening(machine: CircuitMachine) -> None:
    """Both games of a pair have one opening; other pairs and other seeds have others."""
    series = replace(TIC_TAC_TOE, engines=("montecarlo", "montecarlo"), seconds=0.001, opening_plies=4)
    openings = [play_game(machine, series, number).opening for number in range(4)]
    assert openings[0] == openings[1]
    assert openings[2] == openings[3] != openings[0]
    assert play_game(machine, replace(series, seed=1), 0).opening not in openings


def test_openings_do_not_end_the_match(machine: CircuitMachine) -> None:
    """Random openings leave a match to play, and where none does that is an error."""
    for seed in range(50):
        opening = random_opening(machine, 6, random.Random(seed))
        state = machine.initial()
        for joint in opening:
            state = machine.next(state, joint)
        assert len(opening) == 6
        assert not machine.terminal(state)
    with pytest.raises(InputError, match="shorter openings"):
        random_opening(machine, 9, random.Random(0))


def test_proofs_end_turns_and_are_noted(machine: CircuitMachine) -> None:
    """The general engine proves small endings, and does not use up its time for them."""
    record = play_game(machine, replace(TIC_TAC_TOE, seconds=600.0, opening_plies=4), 0)
    assert max(record.slowest) < 600.0
    assert min(ply for ply in record.proven_from if ply is not None) in (5, 6)
    assert record.proofs_missed == [0, 0]


@pytest.mark.parametrize(
    ("proven", "expected"),
    [
        ([True, True, True, True], 1),
        ([False, True, True, True], 3),
        ([True, False, True, True], 5),
        ([True, True, True, False], None),
    ],
)
def test_proven_from_is_kept_to_the_end(
    machine: CircuitMachine, monkeypatch: pytest.MonkeyPatch, proven: list[bool], expected: int | None
) -> None:
    """A result counts as proven from the first of the turns on that are proven up to the contender's last."""
    monkeypatch.setitem(ENGINES, "scripted", scripted(lambda turn: (None, proven[turn])))
    series = replace(TIC_TAC_TOE, engines=("scripted", "scripted"), seconds=0.02, opening_plies=0)
    record = play_game(machine, series, 0)
    # First legal moves only: the first role has its line with its fourth mark.
    assert record.length == 7
    assert record.proven_from[0] == expected


def test_clock_and_broken_promises(machine: CircuitMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine is stopped when its time is over; a proven value that it does not reach is counted."""
    monkeypatch.setitem(ENGINES, "hopeful", scripted(lambda turn: (101.0, turn > 0)))
    series = replace(TIC_TAC_TOE, engines=("hopeful", "hopeful"), seconds=0.1)
    threads = threading.active_count()
    record = play_game(machine, series, 0)
    # Had it not been stopped, it would still be thinking.
    assert all(seconds >= 0.1 for seconds in record.slowest)
    assert all(missed >= 1 for missed in record.proofs_missed)
    deadline = time.monotonic() + 60.0
    while threading.active_count() > threads:
        assert time.monotonic() < deadline, "timers are left"
        time.sleep(0.01)


def test_trained_weights_beat_plain_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trained alpha-beta beats the plain one at equal depth in some game of a few, in either role."""
    machine = machine_of("reversi")
    binding = recognise(machine)
    assert binding is not None
    monkeypatch.setattr(plain, "PLAIN_DEPTH", 4)
    monkeypatch.setitem(
        ENGINES, "native", lambda machine, role: ReversiEngine(machine, role, binding, megabytes=4, max_depth=4)
    )
    series = Series("reversi", ("native", "plain"), seconds=600.0, opening_plies=8)
    assert any(play_game(machine, series, number).result > 0 for number in range(6))


def test_engine_that_does_not_play_the_game(machine: CircuitMachine) -> None:
    """A contender that does not know the game, and a game of other than two roles, are errors."""
    with pytest.raises(InputError, match="native"):
        play_game(machine, replace(TIC_TAC_TOE, engines=("general", "native")), 0)
    with pytest.raises(InputError, match="two roles"):
        play_game(machine_of("eight_puzzle"), TIC_TAC_TOE, 0)


def test_balanced_openings_are_those_that_the_first_contender_does_not_judge(
    machine: CircuitMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In tic-tac-toe, two plies that lose for one side are left out; the rest is drawn."""
    # Long enough to prove it on any machine; a proof ends it.
    monkeypatch.setattr(strength, "JUDGING_SECONDS", 600.0)
    series = replace(TIC_TAC_TOE, opening_plies=3, balanced=True)
    state_values = set()
    for pair in range(3):
        state = machine.initial()
        for joint in pair_opening(machine, series, pair):
            state = machine.next(state, joint)
        engine = ENGINES["general"](machine, 0)
        assert engine is not None
        engine.begin(state)
        opinions: list[Opinion] = []
        engine.think(np.zeros(1, np.uint8), opinions.append, Limit(600.0))
        assert opinions[-1].final
        state_values.add(opinions[-1].score.goal)
    assert state_values == {50.0}
