"""Deriving the atoms of relations that do not depend on the state."""

from __future__ import annotations

import pytest

from games import rulesheets
from games.gdl.grounding.ground import ground
from games.gdl.rules import evaluate
from games.gdl.rules.evaluate import static_atoms
from games.gdl.rules.normalise import normalise
from games.machine import LimitError
from protocol.kif import read_rulesheet, write
from tests.matches import rules_of


def derived(text: str, relation: str, arity: int) -> list[str]:
    """The atoms of a relation that the rules of a text derive, as text."""
    return [write(atom) for atom in static_atoms(normalise(read_rulesheet(text)), (relation, arity))]


def test_facts_come_first() -> None:
    """Facts come first, in the order of the statements; derived atoms of the same relation follow."""
    text = "(role z) (<= (role ?x) (player ?x)) (player red) (role a) (player blue)"
    assert derived(text, "role", 1) == ["(role z)", "(role a)", "(role red)", "(role blue)"]


def test_recursion() -> None:
    """Mutually recursive rules are followed until nothing is new, also through cycles in the facts."""
    text = """
        (step a b) (step b c) (step c a) (step c d)
        (<= (path ?x ?y) (step ?x ?y))
        (<= (path ?x ?z) (path ?x ?y) (path ?y ?z))
        (<= (even ?x) (start ?x)) (<= (odd ?y) (even ?x) (step ?x ?y)) (<= (even ?y) (odd ?x) (step ?x ?y)) (start d)
    """
    assert len(derived(text, "path", 2)) == 12
    assert derived(text, "even", 1) == ["(even d)"]


def test_tests_of_a_body() -> None:
    """Negation and `distinct` are decided once their variables are bound, wherever they are written."""
    text = """
        (n a) (n b) (n c) (bad b)
        (<= (good ?x) (not (bad ?x)) (n ?x))
        (<= (pair ?x ?y) (distinct ?x ?y) (good ?x) (good ?y))
    """
    assert derived(text, "pair", 2) == ["(pair a c)", "(pair c a)"]


def test_negation_within_a_relation() -> None:
    """A relation may depend on its own negation if its single rules do not."""
    text = "(n a) (n b) (<= (p ?x one) (n ?x) (not (p ?x two))) (<= (p ?x two) (mark ?x)) (mark b)"
    assert sorted(derived(text, "p", 2)) == ["(p a one)", "(p b two)"]


def test_functions() -> None:
    """Terms are taken apart and built."""
    text = "(at (cell 1 2)) (<= (row ?x) (at (cell ?x ?y))) (<= (box (in ?x)) (row ?x))"
    assert derived(text, "box", 1) == ["(box (in 1))"]


@pytest.mark.parametrize(
    "text",
    [
        "(p z) (<= (p (s ?x)) (p ?x))",
        "(p z) (<= (p (f ?x ?x)) (p ?x))",
        "".join(f"(n {i})" for i in range(100)) + "(<= (p ?a) (n ?a) (n ?b) (n ?c) (n ?d))",
    ],
    ids=["deep", "doubling", "wide"],
)
def test_bounded(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Endless or very long evaluations are given up."""
    monkeypatch.setattr(evaluate, "_MOST_STEPS", 10_000)
    with pytest.raises(LimitError):
        derived(text, "p", 1)


def test_as_gringo() -> None:
    """Initial facts are those that gringo finds."""
    for name in rulesheets.names()[::3]:
        checked = rules_of(rulesheets.text(name))
        program = ground(checked.rules, checked.roles, variant="plain")
        expected = {program.fluents[number] for number in program.initial}
        assert {atom[1] for atom in static_atoms(checked.rules, ("init", 1))} == expected, name
