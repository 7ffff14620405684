"""Tokens that differ from the rules' by case alone."""

from __future__ import annotations

from protocol.kif import read_rulesheet
from protocol.messages import Play, Start
from protocol.spelling import Spelling

RULES = read_rulesheet(
    "(role robot) (role Walker) (init (at Tower)) (init (at tower)) (<= (legal robot (go ?p)) (at ?p))"
)


def test_a_role_in_capitals_is_found() -> None:
    """Where one token of the rules fits; words that they do not have stay."""
    spelling = Spelling(Start("m", "ROBOT", RULES, 9, 9))
    assert [spelling.read(role) for role in ("ROBOT", "walker", "GUARD")] == ["robot", "Walker", "GUARD"]


def test_moves_in_capitals_are_found() -> None:
    """Token by token; one that two tokens of the rules fit stays, as it would be a guess, and so does an exact one."""
    told = Play("m", (("GO", "TOWER"), ("go", "Tower"), ("Go", "tower"), "NIL"), last_move="GO", percepts=("AT",))
    spelling = Spelling(Start("m", "robot", RULES, 9, 9))
    read = spelling.read_moves(told)
    assert read.moves == (("go", "TOWER"), ("go", "Tower"), ("go", "tower"), "NIL")
    assert (read.last_move, read.percepts) == ("go", ("at",))
    assert spelling.read_moves(Play("m")) == Play("m")
