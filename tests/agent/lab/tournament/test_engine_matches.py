"""Matches between engines: seats, clocks and proofs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from agent.lab.tournament import plain
from agent.lab.tournament.engine_player import ENGINES, Maker
from agent.lab.tournament.results import MatchResult, Settings
from agent.lab.tournament.turns import Turns
from agent.search.engine import Engine, Limit, Opinion, Report, Score, StopFlag
from agent.search.reversi.engine import ReversiEngine
from agent.sheet import load
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine, Term
from games.native.reversi.recognise import recognise
from protocol.kif import read_one
from tests.agent.lab.tournament import played
from tests.processes import until

SETTINGS = replace(played.SETTINGS, seed=0, opening_plies=2)


def play(
    first: str, second: str, settings: Settings = SETTINGS, *, game: str = "tic_tac_toe", number: int = 1
) -> MatchResult:
    """Plays a match of a round between two players."""
    return played.play(load(game), f"first={first}", f"second={second}", settings=settings, number=number)


def turns_of(result: MatchResult, seat: int) -> Turns:
    """Returns the turns of an engine."""
    turns = result.turns[seat]
    assert turns is not None
    return turns


class Scripted(Engine):
    """Plays the first legal move; claims what the test wants at each of its turns."""

    name = "scripted"

    def __init__(self, machine: CircuitMachine, role: int, claims: Callable[[int], Score]) -> None:
        self._machine, self._role, self._claims = machine, role, claims
        self._state: State = machine.initial()
        self._turn = 0

    def begin(self, state: State) -> None:
        self._state = state

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._state = state

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        score = self._claims(self._turn)
        self._turn += 1
        report(Opinion(self._machine.legal(self._state, self._role)[0], score, score.proven))
        while not stop[0]:
            time.sleep(0.001)


def scripted(claims: Callable[[int], Score]) -> Maker:
    """Returns an engine that claims a score by the number of its turn, and thinks until it is stopped."""
    return lambda machine, role: Scripted(machine, role, claims)


def end_of(machine: StateMachine, result: MatchResult) -> State:
    """Returns the state at the end of a match, whose moves have to be legal."""
    state = machine.initial()
    for joint in [*result.opening, *result.moves]:
        moves = [read_one(move) for move in joint]
        assert all(move in machine.legal(state, role) for role, move in enumerate(moves))
        state = machine.next(state, moves)
    return state


def test_result_can_be_replayed() -> None:
    """Opening and moves lead by legal moves to an end with the goals of the result."""
    machine = load("tic_tac_toe").machine()
    for opening_plies, first in ((2, 0), (3, 1)):
        result = play("general@0.05", "general@0.05", replace(SETTINGS, opening_plies=opening_plies))
        assert len(result.opening) == opening_plies
        end = end_of(machine, result)
        assert machine.terminal(end)
        assert [machine.goal(end, role) for role in (0, 1)] == result.goals
        assert result.chose_first == first


def test_proofs_end_turns_and_are_noted() -> None:
    """The general engine proves small endings, and does not use up its time for them."""
    result = play("general@600", "general@600", replace(SETTINGS, opening_plies=4))
    turns = [turns_of(result, seat) for seat in (0, 1)]
    assert max(one.slowest for one in turns) < 600.0
    assert min(one.proven_from for one in turns if one.proven_from is not None) in (5, 6)
    assert [one.proofs_missed for one in turns] == [0, 0]


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
    monkeypatch: pytest.MonkeyPatch, proven: list[bool], expected: int | None
) -> None:
    """A result counts as proven from the first of an unbroken series of proven turns up to the last."""
    monkeypatch.setitem(ENGINES, "scripted", scripted(lambda turn: Score(50.0, proven[turn])))
    result = play("scripted@0.02", "scripted@0.02", replace(SETTINGS, opening_plies=0))
    # First legal moves only: the first role has its line with its fourth mark.
    assert result.plies == 7
    assert turns_of(result, 0).proven_from == expected


def test_clock_and_broken_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine is stopped when its time is over; a proven goal that it does not reach is counted."""
    monkeypatch.setitem(ENGINES, "hopeful", scripted(lambda turn: Score(101.0, turn > 0)))
    threads = threading.active_count()
    result = play("hopeful@0.1", "hopeful@0.1", replace(SETTINGS, opening_plies=0))
    turns = [turns_of(result, seat) for seat in (0, 1)]
    # Had it not been stopped, it would still be thinking.
    assert all(one.slowest >= 0.1 for one in turns)
    assert all(one.proofs_missed >= 1 for one in turns)
    assert all(one.available >= one.slowest for one in turns)
    until(lambda: threading.active_count() <= threads)


def test_players_without_an_engine_have_no_turns() -> None:
    """The seat of a random player has no turns."""
    assert play("random", "montecarlo@0.01").turns[0] is None


def test_trained_weights_beat_plain_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trained alpha-beta beats the plain one at equal depth in some match of a few."""
    binding = recognise(load("reversi").machine())  # type: ignore[arg-type]
    assert binding is not None
    monkeypatch.setattr(plain, "PLAIN_DEPTH", 4)
    monkeypatch.setitem(
        ENGINES, "native", lambda machine, role: ReversiEngine(machine, role, binding, megabytes=4, max_depth=4)
    )
    settings = replace(SETTINGS, opening_plies=8)
    results = (play("native@600", "plain@600", settings, game="reversi", number=number) for number in range(1, 7))
    assert any(result.goals == [100, 0] for result in results)
