"""Keys of static relations, and the estimates that use them."""

from __future__ import annotations

import pytest

from games.gdl.grounding.estimate import Estimates
from games.gdl.grounding.ground import ground
from games.gdl.grounding.keys import Keys
from games.gdl.grounding.rewrite import split
from games.gdl.rules.domains import Domains
from games.gdl.rules.normalise import normalise
from games.gdl.rules.terms import Predicate, predicate
from protocol.kif import read_rulesheet

NUMBERS = "".join(f"(succ {i} {i + 1})" for i in range(40))
PLUS = "(<= (plus ?x 0 ?x) (number ?x)) (<= (plus ?x ?y ?z) (succ ?y1 ?y) (succ ?x ?x1) (plus ?x1 ?y1 ?z))"
NUMBER = "(<= (number ?x) (succ ?x ?y)) (<= (number ?y) (succ ?x ?y))"


def keys(text: str, relation: Predicate) -> list[tuple[int, ...]]:
    rules = normalise(read_rulesheet(text))
    derived = {predicate(rule.head) for rule in rules if rule.body}
    return list(Keys(rules, derived, Domains(rules)).of(relation))


def test_keys_of_facts() -> None:
    assert keys(NUMBERS, ("succ", 2)) == [(1,), (2,)]
    assert keys("(p a b) (p a c) (p b c)", ("p", 2)) == []
    assert keys("(p a b 1) (p a c 2) (p b c 1)", ("p", 3)) == [(1, 2), (1, 3), (2, 3)]


def test_two_arguments_of_a_sum_determine_the_third() -> None:
    assert (1, 2) in keys(NUMBERS + NUMBER + PLUS, ("plus", 3))


@pytest.mark.parametrize(
    "rules",
    [
        "(<= (r ?x ?y) (succ ?x ?y)) (<= (r ?x ?z) (succ ?x ?y) (r ?y ?z))",
        "(<= (r ?x ?x) (number ?x)) (<= (r ?x ?y) (succ ?y1 ?y) (r ?x ?y1))",
    ],
)
def test_an_order_has_no_key(rules: str) -> None:
    """Each rule alone would give one, but both may conclude an atom of the same number."""
    assert keys(NUMBERS + NUMBER + rules, ("r", 2)) == []


def test_a_sum_is_estimated_by_its_key() -> None:
    """Two arguments of 40 numbers and more are 1,681 pairs; three would be 68,921 atoms."""
    rules = normalise(read_rulesheet(NUMBERS + NUMBER + PLUS))
    assert 861 <= Estimates(rules).size(("plus", 3)) <= 2 * 41 * 41


def test_a_chain_of_sums_is_split_though_its_first_step_saves_nothing() -> None:
    held = "".join(f"(init (has {name} {i}))" for name in "abcd" for i in range(41))
    text = f"""(role r) {NUMBERS} {NUMBER} {PLUS} {held} (legal r go) (<= (next (has ?p ?n)) (true (has ?p ?n)))
        (<= (next (total ?t)) (true (has a ?a)) (true (has b ?b)) (true (has c ?c)) (true (has d ?d))
            (plus ?a ?b ?s) (plus ?s ?c ?u) (plus ?u ?d ?t))"""
    rules = normalise(read_rulesheet(text))
    made = split(rules, Estimates(rules))
    (total,) = [rule for rule in made if str(rule.head) == str(("next", ("total", "?t")))]
    assert len(total.body) < 7
    assert len(ground(rules, ["r"], variant="split").rule_head) < 20_000
