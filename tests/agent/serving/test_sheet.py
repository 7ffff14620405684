"""What the server knows of a match's rules."""

from __future__ import annotations

import pytest

from agent.serving import sheet
from agent.serving.sheet import MatchSheet, exceeds, prepared
from protocol.kif import read_rulesheet
from protocol.messages import Start

RULES = read_rulesheet("(role Robot) (role x) (legal Robot (go 1)) (<= (legal Robot (go ?p)) (true (at ?p)))")


def test_rules_are_walked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Role, moves and kind of game are known then."""
    read = prepared(Start("m", "ROBOT", RULES, 9, 9))
    assert isinstance(read, MatchSheet)
    moves = (("go", "1"),)
    assert (read.start.role, read.roles, read.named, read.imperfect) == ("Robot", ("Robot", "x"), moves, False)
    monkeypatch.setattr(sheet, "MOST_ROLES", 1)
    assert MatchSheet.of(Start("m", "x", RULES, 9, 9)).roles == ("x",)
    assert MatchSheet.of(Start("m", "nobody", RULES, 9, 9)).roles == ("nobody",)


def test_length_of_a_term_is_seen_at_once() -> None:
    """However long or deep it is."""
    deep: tuple[object, ...] = ()
    for _ in range(100):
        deep = (deep,)
    for term, size in (("a", 1), (("a", ("b", "c")), 5), (deep, 101)):
        assert exceeds(term, size - 1)  # type: ignore[arg-type]
        assert not exceeds(term, size)  # type: ignore[arg-type]
