"""The normal form of rules."""

from __future__ import annotations

import pytest

from games.gdl.rules.diagnostics import Diagnostic, InvalidRulesError
from games.gdl.rules.normalise import normalise
from games.gdl.rules.safety import make_safe
from games.machine import Term
from protocol.kif import read_rulesheet


def normal(text: str) -> list[str]:
    """The normal form of a rulesheet, as text."""
    return [str(rule) for rule in normalise(read_rulesheet(text))]


def test_facts_and_propositions() -> None:
    """Statements without a body are facts, and propositions with and without parentheses are the same."""
    assert normal("(role x) (<= (q a)) (<= terminal (open)) (<= (open) p)") == [
        "(role x)",
        "(q a)",
        "(<= (terminal) (open))",
        "(<= (open) (p))",
    ]


def test_disjunction_is_multiplied_out() -> None:
    """A body with `or` becomes one rule per alternative, with negations pushed down to the literals."""
    assert normal("(<= (p ?x) (q ?x) (or (r ?x) (s ?x)))") == ["(<= (p ?x) (q ?x) (r ?x))", "(<= (p ?x) (q ?x) (s ?x))"]
    assert normal("(<= p (not (and q (not r))))") == ["(<= (p) (not (q)))", "(<= (p) (r))"]


def test_many_disjunctions_stay_small() -> None:
    """Where the product of disjunctions would explode, auxiliary predicates keep the number of rules linear."""
    body = " ".join(f"(or (a{i} ?x) (b{i} ?x))" for i in range(30))
    rules = normalise(read_rulesheet(f"(<= (p ?x) (q ?x) {body})"))
    assert len(rules) == 61


def test_many_disjunctions_bind_for_each_other() -> None:
    """Auxiliary predicates are safe, whether a disjunction's variables are bound beside, around or within another."""
    wide = " ".join(f"(or (a{i} ?x) (b{i} ?x))" for i in range(6))
    for body in (
        f"(or (distinct ?x ?y) (not (c ?y))) {wide} (or (d ?y) (e ?y))",
        f"(q ?x) (d ?y) {wide} (and (f ?z) (or (distinct ?x ?y) (not (c ?z))))",
        f"(q ?x) (d ?y) (or (r ?x) (and (s ?x) {wide} (or (distinct ?x ?y) (not (c ?y)))))",
    ):
        diagnostics: list[Diagnostic] = []
        rules = normalise(read_rulesheet(f"(<= (p ?x ?y) {body})"))
        assert any(str(rule.head[0]).startswith("or ") for rule in rules)
        assert make_safe(rules, diagnostics) == rules
        assert diagnostics == []


def test_nested_disjunctions_get_predicates_of_their_own() -> None:
    """A disjunction, one within it, and one that is never satisfied have different auxiliary predicates."""
    wide = " ".join(f"(or (a{i} ?x) (b{i} ?x))" for i in range(6))
    rules = normalise(read_rulesheet(f"(<= (p ?x) (q ?x) (or (r ?x) (and {wide})))"))
    assert not any(literal.atom[0] == rule.head[0] for rule in rules for literal in rule.body)
    never = " ".join(f"(or (distinct {i} {i}) (distinct ?x ?x))" for i in range(6))
    rules = normalise(read_rulesheet(f"(<= (p ?x) (or (and (q ?x) {never}) (and (r ?x) {wide})))"))
    made = [{str(lit.atom[0]) for lit in rule.body} for rule in rules if rule.head == ("p", "?x")]
    assert len(made) == 2
    assert made[0].isdisjoint(made[1])


def test_distinct_is_decided_where_it_can_be() -> None:
    """A `distinct` of different constants goes, one of equal ones removes the rule, and its negation unifies."""
    assert normal("(<= p (q ?x) (distinct a b))") == ["(<= (p) (q ?x))"]
    assert normal("(<= p (distinct ?x ?x) (q ?x))") == []
    assert normal("(<= (p ?x) (q ?x ?y) (not (distinct ?y (f ?x))))") == ["(<= (p ?x) (q ?x (f ?x)))"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("(p a) ()", (1,)),
        ("(<=)", (0,)),
        ("(<= ?x p)", (0, 1)),
        ("(<= p (q a) (?r a))", (0, 3)),
        ("(<= p ((q a) b))", (0, 2)),
        ("(<= p (q (a ())))", (0, 2, 1, 1)),
        ("(<= p (not q r))", (0, 2)),
        ("(<= p (distinct a))", (0, 2)),
        ("(<= (true p) q)", (0, 1)),
        ("(<= p (<= q r))", (0, 2)),
    ],
)
def test_what_is_no_rule(text: str, path: tuple[int, ...]) -> None:
    """Statements that are no rules are reported with the place of the error."""
    with pytest.raises(InvalidRulesError) as error:
        normalise(read_rulesheet(text))
    assert [found.path for found in error.value.diagnostics] == [path]


def test_good_statements_survive_bad_ones() -> None:
    """With a list for diagnostics, the other statements are still normalised."""
    found: list[Diagnostic] = []
    assert len(normalise(read_rulesheet("(p a) (?x) (q b)"), found)) == 2
    assert [one.severity for one in found] == ["error"]


def test_deep_nesting_is_refused() -> None:
    """A statement nested deeper than any real one is an error, not a crash."""
    term: Term = "a"
    for _ in range(100_000):
        term = ("f", term)
    with pytest.raises(InvalidRulesError, match="deep"):
        normalise([("p", term)])
