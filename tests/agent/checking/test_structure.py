"""Symmetries, parts and random matches in `inspect`."""

from __future__ import annotations

import pytest

from agent.boards.layout import Layout
from agent.checking.sample_match import chosen, draw_sample, play_sample, sample_json
from agent.checking.structure import part_lines, patterns, structure_of, symmetry_lines
from agent.sheet import Sheet, load
from games.gdl.compile import compile_rules
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from games.machine import StateMachine
from protocol.kif import read_rulesheet


@pytest.fixture(scope="module")
def sheet() -> Sheet:
    return load("tic_tac_toe")


@pytest.fixture(scope="module")
def machine(sheet: Sheet) -> StateMachine:
    return Interpreter(sheet.checked)


@pytest.fixture(scope="module")
def layout(sheet: Sheet, machine: StateMachine) -> Layout:
    return Layout(machine.facts(machine.initial()), sheet.rulesheet)


def test_symmetries_are_told_in_the_words_of_a_board(sheet: Sheet, layout: Layout) -> None:
    """Symmetries name rows and columns, or the first position that differs."""
    found = structure_of(compile_rules(sheet.checked).game.circuit, layout)
    symmetries = found["symmetries"]
    assert isinstance(symmetries, dict)
    assert symmetries["order"] == 16
    lines = symmetry_lines(symmetries)
    assert lines[0].startswith("16 symmetries of the rules")
    assert any(("rows" in line or "columns" in line) and "1..3 mirrored" in line for line in lines)
    assert any("roles" in line and "(but not of the first position)" in line for line in lines)
    parts = found["parts"]
    assert isinstance(parts, dict)
    assert parts["count"] == 1
    assert part_lines(parts) == []


def test_parts_are_told_by_patterns() -> None:
    """Parts are described by patterns of their facts, and by their roles' moves."""
    two = {
        "count": 3,
        "parts": [
            {"facts": {"(cell left ? ?)": 9}, "moves": {"x": {"(mark left ?)": 3}, "o": {"(mark left ?)": 3}}},
            {"facts": {"(cell right ? ?)": 9}, "moves": {"x": {"(mark right ?)": 3}}},
        ],
        "manner": {"x": "choice", "o": "one"},
        "without_moves": {"(control ?)": 2},
    }
    text = "\n".join(part_lines(two))
    for expected in (
        "3 parts that do not influence one another",
        "facts (cell left ? ?) x 9; moves of x: (mark left ?); o: (mark left ?)",
        "and 1 more",
        "x chooses a part in each step; o moves in one part",
        "(control ?)",
    ):
        assert expected in text
    assert patterns([("f", "1", "a"), ("f", "1", "b"), "g", ("f", "2")]) == {"(f 1 ?)": 2, "g": 1, "(f 2)": 1}


def test_sample_match_is_drawn(machine: StateMachine, layout: Layout) -> None:
    """A sample match shows first, middle and last position, the moves between and the goals."""
    match = play_sample(machine)
    last = len(match.moves)
    assert match.goals is not None
    lines = draw_sample(match, layout, machine, 3)
    assert [line for line in lines if line.startswith(("after", "the first"))] == [
        "the first position:",
        f"after {round(last / 2)} plies:",
        f"after {last} plies:",
    ]
    assert sum("(mark" in line for line in lines) == last
    drawn = [line for line in lines if line.strip().startswith(("1 ", "2 ", "3 ")) and "mark" not in line]
    assert len(drawn) >= 9
    assert lines[-1] == "the end: " + ", ".join(
        f"{role} {goal}" for role, goal in zip(machine.roles, match.goals, strict=True)
    )
    data = sample_json(match, 2)
    assert [position["ply"] for position in data["positions"]] == [0, last]  # type: ignore[attr-defined]


def test_sample_match_without_a_board_or_an_end() -> None:
    """Without a board, new facts are shown; a match that gets stuck is named."""
    rules = read_rulesheet(
        "(role a) (init (f 1)) (<= (legal a (go b)) (true (f 1))) (<= (next (f 2)) (does a (go b)))"
        "(<= terminal (true (f 3))) (goal a 0)"
    )
    machine = Interpreter(check(rules))
    match = play_sample(machine)
    assert match.goals is None
    layout = Layout(match.positions[0], rules)
    lines = draw_sample(match, layout, machine, 5)
    assert "  (go b)" in lines
    assert "  (f 2)" in lines
    assert lines[-1].startswith("the match goes on, or is stuck")


def test_positions_are_spread() -> None:
    """Chosen positions include the first and the last."""
    assert chosen(10, 3) == [0, 4, 9]
    assert chosen(2, 5) == [0, 1]
    assert chosen(7, 1) == [0]
    assert chosen(7, 0) == []
    assert chosen(1, 4) == [0]
