"""Unfolding, and bodies with negated static relations."""

from __future__ import annotations

from games.gdl.grounding.estimate import Estimates
from games.gdl.grounding.ground import ground
from games.gdl.grounding.unfold import unfold_large
from games.gdl.rules.normalise import normalise
from protocol.kif import read_rulesheet

PIECES = "".join(f"(init (piece {i} {j})) (owner {'w' if i % 2 else 'b'} {i})" for i in range(20) for j in range(12))
BETWEEN = """
    (<= (next ?f) (true ?f))
    (<= (between ?a ?b ?c) (true (piece ?a ?x)) (true (piece ?b ?x)) (true (piece ?c ?x)))
    (<= (next (pinned ?b)) (between ?a ?b ?c) (owner ?p ?a) (owner ?p ?b) (owner ?o ?c) (distinct ?p ?o))
"""


def test_a_large_relation_that_one_literal_asks_for_is_unfolded() -> None:
    rules = normalise(read_rulesheet(PIECES + BETWEEN))
    estimates = Estimates(rules)
    estimates._sizes["between", 3] = 1e6  # the relation of this test would have to be larger to count as large
    unfolded = unfold_large(rules, estimates)
    assert unfolded is not None
    assert all("between" not in str(rule) for rule in unfolded)
    (rule,) = (rule for rule in unfolded if "pinned" in str(rule.head))
    assert len(rule.body) == 7
    before, after = (ground(these, ["r"], variant="plain") for these in (rules, unfolded))
    assert set(before.fluents) == set(after.fluents)


def test_what_two_literals_ask_for_stays() -> None:
    twice = BETWEEN + "(<= (next (free ?b)) (true (piece ?b ?x)) (not (between 1 ?b 2)))"
    rules = normalise(read_rulesheet(PIECES + twice))
    estimates = Estimates(rules)
    estimates._sizes["between", 3] = 1e6
    assert unfold_large(rules, estimates) is None


def test_a_negated_static_relation_does_not_keep_a_body_together() -> None:
    """Of three steps, two are not before the first: each is compared with it alone."""
    numbers = "".join(f"(succ {i} {i + 1})" for i in range(25)) + "".join(
        f"(init (took {player} {i}))" for player in "abc" for i in range(25)
    )
    text = (
        numbers
        + """
    (<= (next ?f) (true ?f))
    (<= (before ?x ?y) (succ ?x ?y)) (<= (before ?x ?z) (before ?x ?y) (succ ?y ?z))
    (<= (next (last ?p)) (true (took ?p ?x)) (true (took ?q ?y)) (true (took ?r ?z)) (distinct ?p ?q) (distinct ?p ?r)
        (distinct ?q ?r) (not (before ?x ?y)) (not (before ?x ?z)))"""
    )
    rules = normalise(read_rulesheet(text))
    plain, split = (ground(rules, ["r"], variant=variant) for variant in ("plain", "split"))
    assert 5 * len(split.body) < len(plain.body)
    assert set(split.fluents) == set(plain.fluents)
