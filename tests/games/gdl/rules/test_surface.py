"""Answers from unchecked rulesheets."""

from __future__ import annotations

from games.gdl.rules.surface import has_imperfect_information, named_moves
from games.machine import Term
from protocol.kif import read_rulesheet


def test_perceiving_is_imperfect_information() -> None:
    """A statement that concludes `sees`, by a fact or a rule, makes the game one of imperfect information."""
    assert has_imperfect_information(read_rulesheet("(role x) (<= (sees x (p ?y)) (true (p ?y)))"))
    assert has_imperfect_information(read_rulesheet("(sees x p)"))


def test_only_what_is_concluded_counts() -> None:
    """`sees` in a body, as an argument or as a bare word does not count; odd statements do no harm."""
    assert not has_imperfect_information(read_rulesheet("(role sees) (<= (p ?x) (sees ?x q)) sees () (<=) (<= sees q)"))


def test_named_moves() -> None:
    """Ground moves in heads of `legal` and `input` are found, in order, for the given role."""
    rules = read_rulesheet(
        """
        (role red) (role blue)
        (input red (mark 1 2))
        (<= (legal red noop) (true (control blue)))
        (<= (legal ?anyone resign) (role ?anyone))
        (<= (legal red (mark ?x ?y)) (true (cell ?x ?y b)))
        (legal blue wait) (legal red) legal (<= (next (legal red cheat)))
        """
    )
    assert named_moves(rules, "red") == [("mark", "1", "2"), "noop", "resign"]
    assert named_moves(rules, "blue") == ["resign", "wait"]


def test_no_nesting_is_too_deep() -> None:
    """Unchecked statements cannot exhaust the stack."""
    move: Term = "?x"
    for _ in range(100_000):
        move = ("f", move)
    assert named_moves([("legal", "red", move)], "red") == []
    assert not has_imperfect_information([move])
