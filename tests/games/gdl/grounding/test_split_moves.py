"""Taking rules about moves apart keeps what they mean and makes fewer instances."""

from __future__ import annotations

import random

import pytest

from games.gdl.circuit.circuit import build_circuit
from games.gdl.grounding.estimate import Estimates
from games.gdl.grounding.ground import ground
from games.gdl.grounding.split_moves import separate_moves
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules, check
from games.gdl.rules.terms import Rule
from games.gdl.running.machine import CircuitMachine, compiled_game
from protocol import kif

BOARD = (
    "(role w) (role b) (init (cell 0 0 rook)) (init (cell 4 4 king)) (init (cell 2 3 rock)) (init (turn w))"
    + " ".join(f"(n {i})" for i in range(5))
    + """
(piece rook w) (piece king b) (turns w b) (turns b w)
(<= (legal ?r (move ?x ?y ?u ?v))
    (true (turn ?r)) (true (cell ?x ?y ?p)) (piece ?p ?r) (n ?u) (n ?v) (not (true (cell ?u ?v ?p))))
(<= (legal ?r noop) (role ?r) (not (true (turn ?r))))
(<= (next (turn ?s)) (true (turn ?r)) (turns ?r ?s))
"""
)
END = "(<= terminal (true (gone king))) (<= (goal ?r 50) (role ?r))"

PLAIN_MOVE = """
(<= (next (cell ?u ?v ?p)) (does ?r (move ?x ?y ?u ?v)) (true (cell ?x ?y ?p)))
(<= (next (cell ?a ?b ?p)) (true (cell ?a ?b ?p)) (does ?r (move ?x ?y ?u ?v))
    (or (distinct ?a ?x) (distinct ?b ?y)) (or (distinct ?a ?u) (distinct ?b ?v)))
(<= (next (gone ?p)) (does ?r (move ?x ?y ?u ?v)) (true (cell ?u ?v ?p)))
"""
ALIASED = """
(<= (moved ?x ?y ?u ?v) (does ?r (move ?x ?y ?u ?v)))
(<= (next (cell ?u ?v ?p)) (moved ?x ?y ?u ?v) (true (cell ?x ?y ?p)))
(<= (next (cell ?a ?b ?p)) (true (cell ?a ?b ?p)) (moved ?x ?y ?u ?v) (distinct ?a ?x) (distinct ?a ?u))
(<= (next (gone ?p)) (moved ?x ?y ?u ?v) (true (cell ?u ?v ?p)) (not (moved ?u ?v ?x ?y)))
"""
CAPTURE = """
(<= (next (cell ?u ?v ?p)) (does ?r (move ?x ?y ?u ?v)) (true (cell ?x ?y ?p)) (true (cell ?u ?v ?q)) (piece ?p ?r))
(<= (next (cell ?u ?v ?p)) (does ?r (move ?x ?y ?u ?v)) (true (cell ?x ?y ?p)) (not (full ?u ?v)))
(<= (next (cell ?a ?b ?p)) (true (cell ?a ?b ?p)) (does ?r (move ?x ?y ?u ?v)) (distinct ?p rook) (distinct ?b ?y))
(<= (full ?a ?b) (true (cell ?a ?b ?p)))
(<= (next (gone ?p)) (does ?r (move ?x ?x ?u ?v)) (true (cell ?u ?x ?p)) (distinct ?x ?u) (not (true (gone rock))))
"""


def machine(checked: CheckedRules, rules: list[Rule]) -> CircuitMachine:
    """The circuit of rules that are grounded as they are."""
    return CircuitMachine(compiled_game(build_circuit(ground(rules, checked.roles, variant="plain"))))


def separated(checked: CheckedRules) -> list[Rule]:
    """The rules after the rewriting."""
    return separate_moves(list(checked.rules), Estimates(checked.rules))


@pytest.mark.parametrize("sheet", [PLAIN_MOVE, ALIASED, CAPTURE])
def test_separated_rules_play_the_same_game(sheet: str) -> None:
    """Random matches before and after the rewriting have the same states, as circuits and with the interpreter."""
    checked = check(kif.read_rulesheet(BOARD + sheet + END))
    rules = separated(checked)
    assert set(rules) != set(checked.rules)
    before, after, reference = machine(checked, list(checked.rules)), machine(checked, rules), Interpreter(checked)
    rng = random.Random(1)
    for _ in range(12):
        states = [before.initial(), after.initial(), reference.initial()]
        for _ in range(10):
            legal = reference.legal(states[2], 0), reference.legal(states[2], 1)
            if reference.terminal(states[2]) or not all(legal):
                break
            joint = [rng.choice(moves) for moves in legal]
            states = [m.next(s, joint) for m, s in zip((before, after, reference), states, strict=True)]
            facts = [m.facts(s) for m, s in zip((before, after, reference), states, strict=True)]
            assert facts[0] == facts[2]
            assert facts[1] == facts[2]


def test_a_movement_rule_has_fewer_instances() -> None:
    """One instance per square and piece instead of one per pair of squares and piece."""
    checked = check(kif.read_rulesheet(BOARD + PLAIN_MOVE + END))
    before = ground(checked.rules, checked.roles, variant="plain")
    after = ground(separated(checked), checked.roles, variant="plain")
    assert len(after.body) < len(before.body) / 3


def test_rules_without_a_compound_move_stay_as_they_are() -> None:
    """Where a move has no parts, or all of them are needed together, there is nothing to take apart."""
    checked = check(
        kif.read_rulesheet(
            "(role a) (init (p 1)) (n 1) (n 2)"
            "(<= (legal a (go ?x)) (n ?x)) (<= (legal a stop) (true (p 1)))"
            "(<= (next (p ?x)) (does a (go ?x)) (true (p ?y)))"
            "(<= (next q) (does a stop) (true (p ?y)))"
            "(<= terminal (true q)) (<= (goal a 100) (true q))"
        )
    )
    assert set(separated(checked)) == set(checked.rules)
