"""Rules freed of their first position say which facts there may be."""

from __future__ import annotations

import pytest

from games.gdl.grounding.freeing import freed
from games.gdl.rules.check import check
from games.machine import Term
from protocol.kif import read

GAME = "(role a) (init (at 1)) (<= (legal a (go ?x)) (true (at ?x))) (<= (next (at ?x)) (does a (go ?x))) "


def facts_of(text: str) -> set[Term] | None:
    """The facts that freed rules have at first."""
    rules = freed(check(read(text)).rules)
    return None if rules is None else {rule.head[1] for rule in rules if rule.head[0] == "init"}


def test_facts_of_any_number_of_arguments() -> None:
    """A constant, a function without arguments, and one whose values moves show."""
    more = "(init over) (init (begun)) (legal a (go 2))"
    assert facts_of(GAME + more) == {"over", ("begun",), ("at", "1"), ("at", "2")}


@pytest.mark.parametrize(
    "more",
    [
        "(init (high z)) (<= (next (high (s ?h))) (true (high ?h)))",
        "(init (high (s (s z)))) (<= (next (high ?h)) (true (high (s ?h))))",
        "(init (list nil)) (<= (next (list (on ?x ?l))) (true (list ?l)) (true (at ?x)))",
    ],
)
def test_terms_that_grow_or_shrink_are_refused(more: str) -> None:
    """Without following them for ever."""
    assert facts_of(GAME + more) is None
