"""Splitting moves in rules keeps the meaning and makes fewer instances."""

from __future__ import annotations

import itertools

import pytest

from games.gdl.circuit.circuit import build_circuit
from games.gdl.grounding.estimate import Estimates
from games.gdl.grounding.ground import VARIANTS, ground
from games.gdl.grounding.split_moves import separate_moves
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules, check
from games.gdl.rules.terms import Literal, Rule
from games.gdl.running.machine import CircuitMachine, compiled_game
from protocol import kif
from tests.circuits import machine_of
from tests.matches import first_difference, rules_of

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
    """The circuit of rules grounded as they are."""
    return CircuitMachine(compiled_game(build_circuit(ground(rules, checked.roles, variant="plain"))))


def separated(checked: CheckedRules) -> list[Rule]:
    """The rules after the rewriting."""
    return separate_moves(list(checked.rules), Estimates(checked.rules))


@pytest.mark.parametrize("sheet", [PLAIN_MOVE, ALIASED, CAPTURE])
def test_separated_rules_play_the_same_game(sheet: str) -> None:
    """Random matches have the same states before and after the rewriting, as circuits and with the interpreter."""
    checked = rules_of(BOARD + sheet + END)
    rules = separated(checked)
    assert set(rules) != set(checked.rules)
    for these in (list(checked.rules), rules):
        assert first_difference(machine(checked, these), Interpreter(checked), matches=6, plies=10) is None


def test_a_movement_rule_has_fewer_instances() -> None:
    """One instance per square and piece instead of one per pair of squares and piece."""
    checked = rules_of(BOARD + PLAIN_MOVE + END)
    before = ground(checked.rules, checked.roles, variant="plain")
    after = ground(separated(checked), checked.roles, variant="plain")
    assert len(after.body) < len(before.body) / 3


def test_rules_without_a_compound_move_stay_as_they_are() -> None:
    """A move without parts, or with all parts needed together, is not split."""
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


JOINT = """
(role a) (role b) (index 1) (index 2) (index 3) (succ 1 2) (succ 2 3) (init (step 1))
(<= (init (cell ?x ?y z)) (index ?x) (index ?y))
(<= (legal ?r (mark ?m ?n)) (role ?r) (true (cell ?m ?n z)))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= terminal (true (step 3))) (<= (goal ?r 100) (role ?r))
"""
STAYS = "(<= (next (cell ?p ?q z)) (true (cell ?p ?q z))"
TWO_ROLES = f"""
{STAYS} (does a (mark ?j ?k)) (does b (mark ?m ?n))
    (or (distinct ?j ?p) (distinct ?k ?q)) (or (distinct ?m ?p) (distinct ?n ?q)))
"""
ONE_INEQUALITY_EACH = f"{STAYS} (does a (mark ?j ?k)) (does b (mark ?m ?n)) (distinct ?j ?p) (distinct ?n ?q))"
SHARED_INEQUALITY = f"""
{STAYS} (does a (mark ?j ?k)) (does b (mark ?m ?n)) (distinct ?j ?m) (distinct ?k ?p) (distinct ?n ?p))
"""
SHARED_PART = f"{STAYS} (does a (mark ?j ?k)) (does b (mark ?j ?n)) (distinct ?k ?p) (distinct ?n ?q))"
NEGATED = """
(<= (next (cell ?p ?q z)) (true (cell ?p ?q z)) (does a (mark ?j ?k)) (does b (mark ?m ?n))
    (not (same ?j ?p)) (not (same ?n ?q)))
(<= (same ?x ?x) (index ?x))
"""
THREE_ROLES = f"""
(role c)
{STAYS} (does a (mark ?j ?k)) (does b (mark ?m ?n)) (does c (mark ?s ?t))
    (or (distinct ?j ?p) (distinct ?k ?q))
    (or (distinct ?m ?p) (distinct ?n ?q))
    (or (distinct ?s ?p) (distinct ?t ?q)))
"""
NESTED_OR = f"""
{STAYS} (does a (mark ?j ?k)) (does b (mark ?m ?n))
    (or (distinct ?j ?p) (and (distinct ?k ?q) (or (distinct ?m ?p) (not (true (step 2)))))) (distinct ?n ?q))
"""
ROLES_AS_VARIABLES = f"""
{STAYS} (does ?r (mark ?j ?k)) (does ?s (mark ?m ?n)) (distinct ?r ?s) (distinct ?j ?p) (distinct ?n ?q))
"""
ALIASES_THAT_BIND = """
(<= (marked (mark ?x ?y)) (does a (mark ?x ?y)))
(<= (also (mark ?x ?y)) (does b (mark ?x ?y)))
(<= (by a ?m) (does a ?m))
(<= (from b ?x) (does b (mark ?x ?y)))
(<= (next (cell ?p ?q z)) (true (cell ?p ?q z)) (marked ?m) (not (also ?m)))
(<= (next (both ?m)) (marked ?m) (also ?m))
(<= (next (split ?x)) (by ?r ?m) (from ?r ?x))
"""
DEEP = f"""
(init (path (to 1 (to 2 (to 3 (to 1 nil))))))
(<= (next (path (to 2 (to 3 (to 1 (to 2 nil)))))) (true (path (to 1 ?rest))))
(<= (next (path ?p)) (true (path ?p)) (true (path (to 2 ?rest))))
{STAYS} (true (path (to ?a (to ?b (to ?c (to ?d nil)))))) (index ?d)
    (does a (mark ?j ?k)) (distinct ?j ?p) (distinct ?k ?d))
"""


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "sheet",
    [
        TWO_ROLES,
        ONE_INEQUALITY_EACH,
        SHARED_INEQUALITY,
        SHARED_PART,
        NEGATED,
        THREE_ROLES,
        NESTED_OR,
        ROLES_AS_VARIABLES,
        ALIASES_THAT_BIND,
        DEEP,
    ],
)
def test_moves_of_several_roles_in_one_rule(sheet: str, variant: str) -> None:
    """Each move in a rule is split by itself; the rest of the rule keeps its meaning."""
    checked = rules_of(JOINT + sheet)
    reference = Interpreter(checked)
    circuit = machine_of(JOINT + sheet, variant)
    start, same = reference.initial(), circuit.initial()
    moves = [("mark", x, y) for x in "123" for y in "123"]
    for joint in itertools.islice(itertools.product(moves, repeat=len(checked.roles)), 0, None, len(checked.roles)):
        assert circuit.facts(circuit.next(same, joint)) == reference.facts(reference.next(start, joint)), joint


def test_domains_of_variables_are_whole_or_not_known() -> None:
    """Rules that ask for an unknown relation, or for terms nested too deep, have no known domains."""
    checked = rules_of(JOINT + DEEP)
    estimates = Estimates(checked.rules)
    rule = next(rule for rule in checked.rules if len(rule.body) > 4)
    index = Literal(True, ("index", "?p"))
    assert estimates.constants([index], "?p") == {"1", "2", "3"}
    assert estimates.constants(rule.body, "?p") is None
    assert estimates.constants([index, Literal(True, ("unheard", "?p"))], "?p") is None
