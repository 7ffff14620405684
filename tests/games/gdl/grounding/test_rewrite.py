"""Rewritings before grounding."""

from __future__ import annotations

from games.gdl.grounding.demand import demand
from games.gdl.grounding.estimate import Estimates
from games.gdl.grounding.ground import ground
from games.gdl.grounding.rewrite import Auxiliaries, split
from games.gdl.rules.normalise import normalise
from protocol.kif import read_rulesheet

NUMBERS = "".join(f"(succ {i} {i + 1})" for i in range(40))


def test_auxiliaries_are_shared() -> None:
    """Bodies that are equal up to names of variables share an auxiliary rule."""
    auxiliaries = Auxiliaries("some")
    rules = normalise(read_rulesheet("(<= (p ?x) (q ?x ?y) (r ?x)) (<= (s ?a) (q ?a ?b) (t ?a))"))
    first, second = (
        auxiliaries.literal([name], rule.body[:1], 0) for name, rule in zip(("?x", "?a"), rules, strict=True)
    )
    assert first.atom[0] == second.atom[0]
    assert [str(rule) for rule in auxiliaries.rules] == ["(<= (some 0 ?0) (q ?0 ?1))"]


def test_split_breaks_up_a_chain() -> None:
    """A chain of joins is eliminated variable by variable."""
    facts = "".join(f"(init (f {i} {j}))" for i in range(20) for j in range(20))
    text = facts + "(<= (next (f ?a ?d)) (true (f ?a ?b)) (true (f ?b ?c)) (true (f ?c ?d)))"
    rules = normalise(read_rulesheet(text))
    found = split(rules, Estimates(rules))
    assert len(found) == len(rules) + 1
    assert len(ground(rules, ["r"], variant="plain").body) > 3 * len(ground(rules, ["r"], variant="split").body)


def test_demand_restricts_counting() -> None:
    """Counting with an accumulator derives only what is asked for."""
    text = f"""
    (role r) (init (on 0)) (init (on 5)) {NUMBERS}
    (<= (next ?f) (true ?f))
    (<= (next (on ?y)) (true (on ?x)) (succ ?x ?y))
    (<= (count ?i ?n ?m) (true (on ?i)) (succ ?n ?k) (succ ?i ?j) (count ?j ?k ?m))
    (<= (count ?i ?n ?m) (not (true (on ?i))) (succ ?i ?j) (succ ?n ?l) (count ?j ?n ?m))
    (<= (count 40 ?n ?n) (succ ?n ?k))
    (<= (goal r ?n) (count 0 0 ?n))
    """
    rules = normalise(read_rulesheet(text))
    demanding = demand(rules, Estimates(rules))
    assert any("demand count" in str(rule) for rule in demanding)
    plain, asked = (ground(rewritten, ["r"], variant="plain") for rewritten in (rules, demanding))
    assert [value for value, _ in plain.goals[0]] == [value for value, _ in asked.goals[0]]
    assert len(asked.body) < len(plain.body)


def test_estimates() -> None:
    """Sizes of relations given by facts are exact, domains follow through rules and states."""
    rules = normalise(read_rulesheet("(p a) (p b) (q a c) (init (f a)) (<= (next (f ?y)) (true (f ?x)) (q ?x ?y))"))
    estimates = Estimates(rules)
    assert estimates.size(("p", 1)) == 2
    assert estimates.size(("true", 1)) == 2
    assert estimates.domains(rules[-1].body) == {"?x": 1.0, "?y": 1.0}


def test_a_negated_static_relation_does_not_keep_a_body_together() -> None:
    """Of three steps, two are not before the first: each of these is compared with the first alone."""
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
