"""Constants in parentheses are read without them; replies have them where the rules do."""

from __future__ import annotations

import pytest

from protocol import infix, kif
from protocol.constants import bare, listed, listed_names
from protocol.messages import Dialect, MoveReply, Play, Start, parse, render
from protocol.spelling import Spelling

RULES = """
(ROLE (white)) (role 1) (init (over)) (init (at (home) ((odd))))
(<= (ready) (or (true over) (not (true (at (?x) ?y)))))
(<= (legal white (wait)) (TRUE (over)) ready)
(<= (legal white ?m) (move ?m)) (move (go)) (move (go (far))) (move stay) (move (stay))
(<= (next (over)) (does white wait))
(<= (goal white (100)) (terminal))
"""


def test_rules_are_read_without_parentheses_around_constants() -> None:
    """In every place where a term may stand; atoms keep theirs, and so does what is no term."""
    assert kif.read_rulesheet(RULES) == kif.read(
        """
        (role white) (role 1) (init over) (init (at home ((odd))))
        (<= (ready) (or (true over) (not (true (at (?x) ?y)))))
        (<= (legal white wait) (true over) ready)
        (<= (legal white ?m) (move ?m)) (move go) (move (go far)) (move stay) (move stay)
        (<= (next over) (does white wait))
        (<= (goal white 100) (terminal))
        """
    )
    text = "init(over()) legal(R, wait()) :- role(R) & ready()"
    assert infix.read_rulesheet(text)[0] == ("init", "over")
    assert infix.read_rulesheet(text)[1][1] == ("legal", "?R", "wait")


def test_replies_have_the_parentheses_of_legal_moves() -> None:
    """Heads of `legal` decide; what they do not name has parentheses if it has them everywhere."""
    rules = kif.read(RULES)
    names = listed_names(rules)
    assert names == {"home", "wait", "go", "far", "100"}
    move = ("go", ("far",), ("stay",))
    assert listed(bare(move), names) == ("go", ("far",), "stay")


@pytest.mark.parametrize(
    ("start", "told", "written"),
    [
        ("(START m (white) ({}) 9 9)", "(PLAY m (wait))", "(wait)"),
        ("(START m white ({}) 9 9)", "(PLAY m ((wait)))", "(wait)"),
        ("start(m, white, [role(white), legal(white, wait()) :- ready], 9, 9)", "play(m, [wait])", "wait()"),
    ],
)
def test_a_match_in_which_moves_have_parentheses(start: str, told: str, written: str) -> None:
    """Role and moves are read with and without them, and the reply has those of the rules."""
    message, dialect = parse(start.format(RULES))
    assert isinstance(message, Start)
    spelling = Spelling(message)
    assert spelling.read(message.role) == "white"
    play = parse(told)[0]
    assert isinstance(play, Play)
    assert spelling.read_moves(play).moves == ("wait",)
    assert render(MoveReply(spelling.write("wait")), dialect) == written
    assert dialect == Dialect("infix" if "[" in start else "prefix")
