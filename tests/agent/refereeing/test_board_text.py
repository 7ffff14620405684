"""Boards drawn from nothing but the structure of facts."""

from __future__ import annotations

from agent.refereeing.board_text import TextBoard
from games import rulesheets
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from protocol.kif import read, read_rulesheet


def initial_facts(name: str) -> frozenset[object]:
    """The facts of an own sheet's first state."""
    machine = Interpreter(check(read_rulesheet(rulesheets.text(name))))
    return machine.facts(machine.initial())


def test_full_board_is_drawn_from_the_first_state() -> None:
    """Breakthrough's men show where the board is; y goes upwards, cells without a fact are dots."""
    facts = initial_facts("breakthrough")
    board = TextBoard.find(facts)
    assert board is not None
    drawing = board.draw(facts)
    assert drawing is not None
    lines = drawing.splitlines()
    assert lines[0] == "8  b b b b b b b b"
    assert lines[3] == "5  . . . . . . . ."
    assert lines[-2] == "1  w w w w w w w w"
    assert lines[-1] == "   1 2 3 4 5 6 7 8"
    assert board.legend() == "b black  w white"


def test_possible_facts_show_the_size_of_an_empty_board() -> None:
    """A board that starts without pieces has the size that the possible facts say."""
    board = TextBoard.find(read("(control x)"), read("(cell 1 1 x) (cell 3 3 x) (cell 3 1 o) (control x)"))
    assert board is not None
    assert board.draw(read("(cell 1 3 x)")) == "3  x . .\n2  . . .\n1  . . .\n   1 2 3"


def test_most_frequent_content_is_drawn_as_empty() -> None:
    """A content that fills more than half of the board at the start is what an empty cell holds."""
    facts = initial_facts("reversi_tally")
    board = TextBoard.find(facts)
    assert board is not None
    assert board.draw(facts) == "\n".join(
        [f"{row}  . . . . . . . ." for row in (8, 7, 6)]
        + ["5  . . . r b . . .", "4  . . . b r . . ."]
        + [f"{row}  . . . . . . . ." for row in (3, 2, 1)]
        + ["   1 2 3 4 5 6 7 8"]
    )


def test_contents_with_the_same_first_letter_are_told_apart() -> None:
    """As many letters are shown as it takes to tell the contents apart."""
    board = TextBoard.find(read("(at a 1 black) (at b 1 blue) (at a 2 red)"))
    assert board is not None
    assert board.symbols == {"black": "bla", "blue": "blu", "red": "red"}


def test_facts_that_are_no_board_are_not_drawn() -> None:
    """No board without two axes, and none where a cell would hold two things."""
    assert TextBoard.find(read("(step 1) (points red 3) (pair 1 1 x)")) is None
    assert TextBoard.find(read("(likes 1 1 a) (likes 1 1 b) (likes 2 2 a)")) is None
