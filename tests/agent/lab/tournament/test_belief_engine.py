"""Engines in games of imperfect information."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent.cli import main
from agent.commands.options import WRONG_INPUT
from agent.lab.tournament.belief_engine import within_percepts
from agent.search.engine import Engine, Limit, Opinion, Report, Score, StopFlag, consider
from agent.sheet import Sheet, load
from games.gdl.interpreter.machine import Interpreter
from games.machine import State, Term
from tests.agent.lab.appraisal.sheets import sheet_of
from tests.agent.lab.tournament.played import SETTINGS, play
from tests.agent.playing.hidden_games import BLIND_TIC_TAC_TOE, DICE_RACE, MONTY_HALL
from tests.instruments.__main__ import instrument


class Noting(Engine):
    """Notes the states that it is told, and claims that they are won."""

    name = "noting"

    def __init__(self) -> None:
        self.told: list[State] = []

    def begin(self, state: State) -> None:
        self.told.append(state)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self.told.append(state)

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        report(Opinion("wait", Score(100.0, proven=True), final=True))


@pytest.fixture
def monty_hall(tmp_path: Path) -> Sheet:
    """Returns the sheet of a game whose first move only nature knows."""
    return sheet_of(MONTY_HALL, tmp_path)


def test_engine_is_told_no_hidden_state(monty_hall: Sheet) -> None:
    """What the role does not see is one of several states to it; those that do not fit its percepts are left out."""
    machine, noting = Interpreter(monty_hall.checked), Noting()
    engine = within_percepts(noting, machine, 1, monty_hall)
    state = machine.initial()
    engine.begin(state)
    assert noting.told == [state]
    joint_moves: list[tuple[Term, ...]] = [
        (("park", "2"), "wait"),
        ("wait", ("pick", "1")),
        (("open", "3"), "wait"),
    ]
    states = []
    for joint_move in joint_moves:
        state = machine.next(state, joint_move)
        engine.advance(joint_move, state)
        opinion = consider(engine, machine.legal(state, 1), Limit(nodes=300))
        states.append(opinion.info.get("states"))
    assert noting.told == [machine.initial()]
    assert states == [3, None, 2]
    assert opinion.move == "change"


def test_proofs_of_engines_are_estimates(monty_hall: Sheet) -> None:
    """A proof takes every role to see the state to the end."""
    machine = Interpreter(monty_hall.checked)
    engine = within_percepts(Noting(), machine, 1, monty_hall)
    engine.begin(machine.initial())
    assert consider(engine, ["wait"], Limit()).score == Score(100.0)


def test_engines_of_perfect_information_are_left_alone() -> None:
    """They get what they always got."""
    sheet, noting = load("tic_tac_toe"), Noting()
    assert within_percepts(noting, Interpreter(sheet.checked), 0, sheet) is noting


@pytest.mark.parametrize("source", [DICE_RACE, BLIND_TIC_TAC_TOE])
@pytest.mark.parametrize("opening_plies", [0, 3])
def test_engines_play_legal_moves(tmp_path: Path, source: str, opening_plies: int) -> None:
    """Percepts are enough for them, also of a random opening."""
    settings = replace(SETTINGS, opening_plies=opening_plies)
    result = play(sheet_of(source, tmp_path), "montecarlo@0.01", "agent:20", settings=settings)
    assert result.outcome == "finished"
    assert result.errors == []


@pytest.mark.parametrize(
    ("run", "command"),
    [
        (main, "rate random {}"),
        (main, "tournament {} --players random,legal --balanced --opening 1"),
        (main, "learn {} --memory {}.memory"),
        (instrument, "tactics {}.suite --make {}"),
    ],
)
def test_measures_of_perfect_information_refuse_other_games(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], run: Callable[[list[str]], int], command: str
) -> None:
    """One sentence says why."""
    sheet = sheet_of(BLIND_TIC_TAC_TOE, tmp_path)
    (tmp_path / "sheet.kif.memory").mkdir()
    assert run(command.replace("{}", str(sheet.path)).split()) == WRONG_INPUT
    assert "perfect information" in capsys.readouterr().err
