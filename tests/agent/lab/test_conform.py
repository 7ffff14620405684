"""`conform`: comparisons, fall-backs and reports."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent.cli import main
from agent.commands.options import DIFFERENT, OK
from agent.errors import InputError
from agent.lab.conform.conformity import Conformity
from agent.lab.conform.sheets import ConformPlan, conform
from agent.lab.conform.trace_replay import spread
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules
from games.machine import LimitError, StateMachine
from tests.matches import interpreter_of

SHEET = """
(role a) (init (n 0)) (succ 0 1) (succ 1 2)
(<= (legal a (add ?x)) (true (n ?y)) (succ ?y ?x)) (<= (legal a stay) (true (n 0)))
(<= (next (n ?x)) (does a (add ?x))) (<= (next (n ?x)) (true (n ?x)) (does a stay))
(<= terminal (true (n 2))) (<= (goal a 100) (true (n 2)))
"""


def trace() -> dict[str, Any]:
    """Returns a trace of the sheet, as the reference reasoner writes it."""
    return {
        "game": "count",
        "roles": ["a"],
        "games": [
            {
                "steps": [
                    {"state": ["(n 0)"], "legal": [["(add 1)", "stay"]], "joint": ["(add 1)"], "terminal": False},
                    {"state": ["(n 1)"], "legal": [["(add 2)"]], "joint": ["(add 2)"], "terminal": False},
                    {"state": ["(n 2)"], "legal": None, "joint": None, "terminal": True},
                ],
                "goals": [100],
                "capped": False,
            }
        ],
    }


def write_corpus(folder: Path, data: dict[str, Any], sheet: str = SHEET) -> None:
    """Writes a corpus of one game."""
    (folder / "traces").mkdir()
    (folder / "count.kif").write_text(sheet)
    with gzip.open(folder / "traces" / "count.json.gz", "wt") as file:
        json.dump(data, file)


def run(folder: Path, games: Sequence[str] = (), **plan: Any) -> tuple[Conformity, list[str]]:
    """Checks a folder or file, by default with the interpreter; returns the lines reported, too."""
    lines: list[str] = []
    plan.setdefault("compile_machine", None)
    return conform(folder, games, ConformPlan(**plan), report=lines.append), lines


def test_reports_no_difference_for_an_equal_trace(tmp_path: Path) -> None:
    """All states are checked, and the result holds the measurements."""
    write_corpus(tmp_path, trace())
    result, lines = run(tmp_path)
    assert not result.failed
    (row,) = result.as_json()["sheets"]  # type: ignore[misc, attr-defined]
    assert (row["game"], row["engine"], row["differences"], row["error"]) == ("count", "interpreter", 0, None)
    assert row["states"] == row["states_in_trace"] == 3
    assert row["peak_mb"] > 1
    assert row["setup_cpu_seconds"] >= 0
    assert lines[-1] == "1 sheets, 0 by circuit, 1 by interpreter: 0 differences, 0 errors"


@pytest.mark.parametrize(
    ("step", "change", "text"),
    [
        (0, {"legal": [["(add 1)", "stay", "(add 7)"]]}, "0, legal moves of a: too many: none; missing: (add 7)"),
        (
            1,
            {"state": ["(n 0)", "(n 1)"], "legal": [["(add 1)", "(add 2)", "stay"]]},
            "0, next state: too many: none; missing: (n 0)",
        ),
        (1, {"terminal": True, "legal": None}, "1: terminal is False"),
        (None, {"goals": [50]}, "2: goals are [100], should be [50]"),
    ],
)
def test_describes_each_kind_of_difference(tmp_path: Path, step: int | None, change: dict[str, Any], text: str) -> None:
    """Legal moves, next states, ends and goals that differ are counted and described."""
    data = trace()
    match = data["games"][0]
    (match if step is None else match["steps"][step]).update(change)
    write_corpus(tmp_path, data)
    result, lines = run(tmp_path)
    assert result.failed
    assert result.sheets[0].differences == 1
    assert result.sheets[0].described == [f"match 0, step {text}"]
    assert f"    match 0, step {text}" in lines


@pytest.mark.parametrize(("goals", "status"), [([100], OK), ([50], DIFFERENT)])
def test_the_command_fails_on_a_difference(tmp_path: Path, goals: list[int], status: int) -> None:
    """Its exit status tells."""
    data = trace()
    data["games"][0]["goals"] = goals
    write_corpus(tmp_path, data)
    assert main(["lab", "conform", str(tmp_path), "count"]) == status


def test_does_not_compare_goals_of_unfinished_matches(tmp_path: Path) -> None:
    """A match that stops before its end has no goals to compare."""
    data = trace()
    data["games"][0]["steps"].pop()
    data["games"][0]["goals"] = None
    write_corpus(tmp_path, data)
    assert not run(tmp_path)[0].failed


SEVERAL = SHEET + "(<= (goal a 30) (true (n 2)))"
"""With two goal values at the end."""


@pytest.mark.parametrize(
    ("sheet", "goals", "differs"),
    [
        (SEVERAL, [None], False),
        (SEVERAL, None, False),
        (SEVERAL, [100], True),
        (SHEET, [None], True),
        (SHEET, None, True),
    ],
)
def test_a_trace_has_no_goal_where_a_role_has_several_values(
    tmp_path: Path, sheet: str, goals: Any, differs: bool
) -> None:
    """The reasoner gave up there and nowhere else."""
    data = trace()
    data["games"][0]["goals"] = goals
    write_corpus(tmp_path, data, sheet)
    assert run(tmp_path)[0].failed == differs


def refuse(_checked: CheckedRules) -> StateMachine:
    """A compiler that gives up."""
    raise LimitError("too large")


def crash(_checked: CheckedRules) -> StateMachine:
    """A compiler whose process dies."""
    os._exit(3)


@pytest.mark.parametrize(
    ("compiler", "engine"), [(refuse, "interpreter"), (crash, "interpreter"), (Interpreter, "circuit")]
)
def test_falls_back_to_the_interpreter(tmp_path: Path, compiler: Any, engine: str) -> None:
    """Rules that do not compile, or kill the process that tries, are interpreted."""
    write_corpus(tmp_path, trace())
    result, _ = run(tmp_path, compile_machine=compiler)
    assert (result.sheets[0].engine, result.failed) == (engine, False)


def test_a_sheet_without_meaning_is_an_error_of_its_own(tmp_path: Path) -> None:
    """Bad rules fail their row, and say why; so does a trace that cannot be read."""
    write_corpus(tmp_path, trace(), sheet="(<= (p ?x) (q ?y)) (((")
    (tmp_path / "other.kif").write_text(SHEET)
    (tmp_path / "traces" / "other.json.gz").write_text("nothing compressed")
    result, _ = run(tmp_path)
    assert result.failed
    assert [sheet.error is not None for sheet in result.sheets] == [True, True]
    assert "gzip" in str(result.sheets[1].error)


def compile_wrongly(rule: str, wrong: str, checked: CheckedRules) -> StateMachine:
    """A compiler that gets a rule wrong."""
    return interpreter_of(SHEET.replace(rule, wrong))


def test_sheet_without_trace_is_compared_with_the_interpreter(tmp_path: Path) -> None:
    """Random matches, as many as were asked for, with no difference where both machines are right."""
    (tmp_path / "count.kif").write_text(SHEET)
    for target in (tmp_path, tmp_path / "count.kif"):
        result, lines = run(target, compile_machine=Interpreter, matches=7)
        (sheet,) = result.sheets
        assert (sheet.engine, sheet.against, sheet.matches, result.failed) == ("circuit", "interpreter", 7, False)
        assert sheet.states >= 7 * 2
        assert lines[-1].endswith("0 differences, 0 errors; 1 without a trace, compared with the interpreter")


def test_random_matches_follow_their_seed(tmp_path: Path) -> None:
    """The same seed plays the same matches."""
    (tmp_path / "count.kif").write_text(SHEET)
    states = [run(tmp_path, compile_machine=Interpreter, seed=seed)[0].sheets[0].states for seed in (1, 1, 2, 3, 4)]
    assert states[0] == states[1]
    assert len(set(states)) > 1


@pytest.mark.parametrize(
    ("rule", "wrong", "text"),
    [
        ("(legal a stay) (true (n 0))", "(legal a stay) (true (n 1))", "legal moves of a: only the "),
        ("(next (n ?x)) (does a (add", "(next (n 2)) (does a (add", "next state: only the circuit has (next (n 2)); "),
        ("terminal (true (n 2))", "terminal (true (n 1))", "terminal: only the circuit has (terminal); state: (n 1)"),
        ("(<= (goal a 100) (true (n 2)))", "(goal a 50)", "goal of a: only the circuit has (goal a 50); "),
        ("(init (n 0))", "(init (n 1))", "initial state: only the circuit has (init (n 1)); "),
    ],
)
def test_wrong_machine_differs_from_the_interpreter(tmp_path: Path, rule: str, wrong: str, text: str) -> None:
    """It is found out, with the place, the difference and the lines of the rules concerned (see `CrossCheck`)."""
    (tmp_path / "count.kif").write_text(SHEET)
    result, _ = run(tmp_path, compile_machine=partial(compile_wrongly, rule, wrong))
    assert result.failed
    told = result.sheets[0].described[0]
    assert told.startswith("random match 0, step ")
    assert text in told
    line = 1 + SHEET[: SHEET.index(rule.removeprefix("("))].count("\n")
    assert f"rules concerned: line {line}: " in told


def test_interpreter_alone_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    """A sheet that has neither circuit nor trace says so, and that is no failure."""
    (tmp_path / "count.kif").write_text(SHEET)
    result, lines = run(tmp_path, compile_machine=refuse)
    assert not result.failed
    assert result.sheets[0].against == "nothing"
    assert any("played by the interpreter alone" in line for line in lines)


def test_refuses_games_that_are_not_there(tmp_path: Path) -> None:
    """A name that is no sheet of the folder, and a folder without sheets."""
    with pytest.raises(InputError, match=r"no rulesheets"):
        run(tmp_path)
    write_corpus(tmp_path, trace())
    with pytest.raises(InputError, match="nothing"):
        run(tmp_path, games=["count", "nothing"])


def test_spreads_a_sample_evenly() -> None:
    """Every place comes once, and the first few are far apart."""
    places = [(0, i) for i in range(100)]
    order = list(spread(places))
    assert sorted(order) == places
    assert [step for _, step in order[:4]] == [0, 64, 32, 96]
    assert list(spread([(0, 0)])) == [(0, 0)]


def test_conforms_on_the_corpus(corpus: Path) -> None:
    """A few sheets of the corpus, with odd tokens, upper case, several goals at once."""
    games = ["ticTacToe", "pentago", "cittaceot", "wargame03", "laikLee_hex"]
    result, _ = run(corpus, games=games)
    assert [sheet.game for sheet in result.sheets] == games
    assert not result.failed
