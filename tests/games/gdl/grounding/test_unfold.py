"""Large relations with one caller are unfolded into it; the meaning stays."""

from __future__ import annotations

import pytest

from games.gdl.grounding import unfold
from games.gdl.grounding.estimate import Estimates
from games.gdl.grounding.ground import ground
from games.gdl.grounding.unfold import unfold_large
from games.gdl.rules.normalise import normalise
from games.gdl.rules.terms import Rule, body_variables
from protocol.kif import read_rulesheet
from tests.matches import rules_of


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lowers the bound, so that sheets of a few lines suffice."""
    monkeypatch.setattr(unfold, "_LARGE", 0.0)


def unfolded(text: str) -> dict[str, list[Rule]]:
    """The rules of a sheet after unfolding, by the name of their heads."""
    sheet = f"(role r) (init (at a b)) (init (on b c)) (legal r go) (goal r 0) {text}"
    rules = rules_of(sheet).rules
    made = unfold_large(rules, Estimates(rules))
    by_name: dict[str, list[Rule]] = {}
    for rule in rules if made is None else made:
        by_name.setdefault(str(rule.head[0]), []).append(rule)
    return by_name


KEEP = "(<= (next (at ?x ?y)) (true (at ?x ?y))) (<= (next (on ?x ?y)) (true (on ?x ?y)))"


def test_a_relation_asked_for_once_goes() -> None:
    made = unfolded(f"{KEEP} (<= terminal (near ?x ?y)) (<= (near ?x ?y) (true (at ?x ?y)) (true (on ?y ?x)))")
    assert "near" not in made
    (rule,) = made["terminal"]
    (first, second) = (literal.atom for literal in rule.body)
    assert first[0] == second[0] == "true"
    # The same two variables, the other way round.
    assert len(body_variables(rule.body)) == 2
    assert tuple(first[1])[1:] == tuple(second[1])[:0:-1]


def test_each_rule_of_it_makes_one() -> None:
    made = unfolded(f"{KEEP} (<= terminal (near ?x)) (<= (near ?x) (true (at ?x ?y))) (<= (near ?x) (true (on ?y ?x)))")
    assert len(made["terminal"]) == 2


@pytest.mark.parametrize(
    "text",
    [
        "(<= terminal (near ?x)) (<= (goal r 1) (near ?x)) (<= (near ?x) (true (at ?x ?y)))",
        "(<= terminal (not (near a))) (<= (near ?x) (true (at ?x ?y)))",
        "(<= terminal (near ?x)) (<= (near ?x) (true (at ?x ?y))) (<= (near ?x) (near ?y) (true (at ?x ?y)))",
    ],
    ids=["asked for twice", "negated", "recursive"],
)
def test_other_relations_stay(text: str) -> None:
    assert "near" in unfolded(f"{KEEP} {text}")


def test_variables_of_the_same_name_stay_apart() -> None:
    """One unfolded relation calls another with variables of the same names."""
    made = unfolded(
        f"""{KEEP} (<= terminal (one ?x ?y) (true (at ?y ?y))) (<= (one ?x ?y) (two ?y ?z) (true (on ?x ?z)))
        (<= (two ?x ?y) (true (at ?x ?z)) (true (on ?z ?y)))"""
    )
    assert not made.keys() & {"one", "two"}
    (rule,) = made["terminal"]
    # at(Y, W), on(W, Z), on(X, Z), at(Y, Y)
    (y, w), (w_again, z), (x, z_again), last = (tuple(literal.atom[1])[1:] for literal in rule.body)
    assert (w_again, z_again, last) == (w, z, (y, y))
    assert len({x, y, z, w}) == 4


PIECES = "".join(f"(init (piece {i} {j})) (owner {'w' if i % 2 else 'b'} {i})" for i in range(20) for j in range(12))
BETWEEN = """
    (<= (next ?f) (true ?f))
    (<= (between ?a ?b ?c) (true (piece ?a ?x)) (true (piece ?b ?x)) (true (piece ?c ?x)))
    (<= (next (pinned ?b)) (between ?a ?b ?c) (owner ?p ?a) (owner ?p ?b) (owner ?o ?c) (distinct ?p ?o))
"""


def test_what_is_unfolded_means_the_same() -> None:
    rules = normalise(read_rulesheet(PIECES + BETWEEN))
    estimates = Estimates(rules)
    unfolded = unfold_large(rules, estimates)
    assert unfolded is not None
    assert all("between" not in str(rule) for rule in unfolded)
    (rule,) = (rule for rule in unfolded if "pinned" in str(rule.head))
    assert len(rule.body) == 7
    before, after = (ground(these, ["r"], variant="plain") for these in (rules, unfolded))
    assert set(before.fluents) == set(after.fluents)


STATIC = "(<= (alike ?x ?y) (kind ?x ?k) (kind ?y ?k)) (kind a k) (kind b k)"


def test_a_static_relation_goes_though_several_ask_for_it() -> None:
    asking = "(<= terminal (true (at ?x ?z)) (alike ?x ?y) (true (on ?y ?z))) (<= (legal r wait) (alike ?x a))"
    made = unfolded(f"{KEEP} {STATIC} {asking}")
    assert "alike" not in made
    assert {literal.atom[0] for literal in made["terminal"][0].body} == {"true", "kind"}


@pytest.mark.parametrize(
    "more", ["(<= (legal r wait) (not (alike a b)))", "(<= (alike ?x ?x) (kind ?x ?k) (kind ?k ?k))"]
)
def test_a_static_relation_stays_where_it_is_negated_or_has_several_rules(more: str) -> None:
    made = unfolded(f"{KEEP} {STATIC} (<= terminal (true (at ?x ?z)) (alike ?x ?y) (true (on ?y ?z))) {more}")
    assert "alike" in made
