"""Boards as text for a terminal."""

from __future__ import annotations

from agent.boards.layout import Layout
from protocol.kif import read
from tests.agent.boards.states import Sheet


def test_full_board_is_drawn_from_the_first_state() -> None:
    """Breakthrough's board is found from its men; y goes upwards, squares without a fact are dots."""
    sheet = Sheet.own("breakthrough")
    layout = Layout(sheet.initial)
    drawing = layout.text(sheet.initial)
    assert drawing is not None
    lines = drawing.splitlines()
    assert lines[0] == "8  b b b b b b b b"
    assert lines[3] == "5  . . . . . . . ."
    assert lines[-2] == "1  w w w w w w w w"
    assert lines[-1] == "   a b c d e f g h"


def test_rules_show_the_size_of_an_empty_board() -> None:
    """A board that starts without pieces has the size of the rules' bounds of arguments."""
    sheet = Sheet.own("connect_four")
    text = Layout(sheet.initial, sheet.rules).text(sheet.initial)
    assert text is not None
    assert text.splitlines()[-1].split() == list("abcdefg")


def test_most_frequent_content_is_drawn_as_empty() -> None:
    """A content of more than half of the board at the start means an empty square."""
    sheet = Sheet.own("reversi_tally")
    assert Layout(sheet.initial).text(sheet.initial) == "\n".join(
        [f"{row}  . . . . . . . ." for row in (8, 7, 6)]
        + ["5  . . . r b . . .", "4  . . . b r . . ."]
        + [f"{row}  . . . . . . . ." for row in (3, 2, 1)]
        + ["   a b c d e f g h"]
    )


def test_blocked_squares_are_drawn_as_such() -> None:
    """The walls of Reversi with holes are no pieces."""
    sheet = Sheet.own("reversi_holes")
    text = Layout(sheet.initial, sheet.rules).text(sheet.initial)
    assert text is not None
    assert text.splitlines()[2] == "6  . . # . . # . ."


def test_contents_with_the_same_first_letter_are_told_apart() -> None:
    """Signs have as many letters as tell the contents apart."""
    facts = read("(at a 1 black) (at b 1 blue) (at a 2 red)")
    layout = Layout(facts)
    assert layout.text(facts) == "2  red   .\n1  bla blu\n     a   b"


def test_planes_stand_beside_one_another() -> None:
    """Planes are as far apart as in a picture."""
    facts = read(" ".join(f"(cell {plane} {x} {y} b)" for plane in "12" for x in "123" for y in "123"))
    layout = Layout(facts, read("(init (cell 1 1 1 x)) (init (cell 1 1 1 b))"))
    text = layout.text((set(facts) - {("cell", "2", "1", "3", "b")}) | set(read("(cell 2 1 3 x)")))
    assert text is not None
    assert text.splitlines()[:2] == ["3  . . .   x . .", "2  . . .   . . ."]


def test_facts_that_are_no_board_are_not_drawn() -> None:
    """There is no board without two axes, and none of unordered words that do not fill it."""
    assert Layout(read("(step 1) (points red 3) (pair 1 1 x)")).text(read("(step 1)")) is None
    assert Layout(read("(likes ann bob a) (likes eve bob b) (likes eve sue a)")).boards == ()
