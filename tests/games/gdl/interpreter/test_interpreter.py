"""The interpreter: recursion, negation, functions, binding patterns, and bounds."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable

import pytest

from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from games.gdl.rules.terms import variables
from games.machine import IllegalMoveError, Interrupted, LimitError, Term
from protocol import kif
from tests.generated.naive import Naive
from tests.matches import interpreter_of

HEAD = "(role a) (init s) (<= (legal a noop) (true s)) (<= (next s) (true s)) (<= terminal (true never)) "


def legal_texts(machine: Interpreter, facts: Iterable[str], role: int = 0) -> list[str]:
    """The legal moves of a role where these facts are true, as text."""
    state = machine.state([kif.read_one(fact) for fact in facts])
    return [kif.write(move) for move in machine.legal(state, role)]


@pytest.mark.parametrize("odd", ["\0", "\\", "'", '"', "\x85", "\u2028", "\ud800", "\U0001f600", "%", "{", "#"])
def test_names_hold_any_character(odd: str) -> None:
    """Relations, functions and constants are only ever compared, whatever they are spelled with."""
    rules = [
        *[("role", odd), ("init", (odd, odd)), (f"p{odd}", odd), ("<=", "terminal", ("true", odd))],
        ("<=", (f"q{odd}", "?x"), (f"p{odd}", "?x"), ("true", (odd, "?x"))),
        ("<=", (f"r{odd}", "?x"), (f"q{odd}", "?x")),
        ("<=", (f"r{odd}", "?x"), (f"r{odd}", "?x"), ("does", odd, ("m", "?x"))),
        ("<=", ("legal", odd, ("m", "?x")), (f"r{odd}", "?x")),
        ("<=", ("next", "?x"), (f"r{odd}", "?x"), ("does", odd, ("m", "?x"))),
    ]
    machine = Interpreter(check(rules))
    state = machine.initial()
    assert machine.legal(state, 0) == [("m", odd)]
    assert machine.facts(machine.next(state, [("m", odd)])) == {odd}


def test_reaches_through_cycles_left_and_right_recursively() -> None:
    """Connectivity in a graph with cycles terminates and is complete, whichever way the recursion is written."""
    edges = {(i, (i + 1) % 7) for i in range(7)} | {(3, 10), (10, 11), (11, 3), (20, 21)}
    left = "(<= (reach ?x ?y) (true (edge ?x ?y))) (<= (reach ?x ?z) (reach ?x ?y) (true (edge ?y ?z)))"
    right = "(<= (reach ?x ?y) (true (edge ?x ?y))) (<= (reach ?x ?z) (true (edge ?x ?y)) (reach ?y ?z))"
    double = "(<= (reach ?x ?y) (true (edge ?x ?y))) (<= (reach ?x ?z) (reach ?x ?y) (reach ?y ?z))"
    asks = {"(<= (legal a (to ?y)) (reach 5 ?y))": "to", "(<= (legal a (from ?x)) (reach ?x 11))": "from"}
    facts = [f"(edge {x} {y})" for x, y in edges]
    for rules, (ask, name) in itertools.product((left, right, double), asks.items()):
        found = legal_texts(interpreter_of(HEAD + rules + ask), facts)
        assert sorted(found) == sorted(f"({name} {i})" for i in [*range(7), 10, 11])


def test_finds_cycles_in_a_later_state_than_the_first() -> None:
    """Recursion that has ended by itself so far still ends, and is complete, when the facts have become cyclic."""
    machine = interpreter_of(
        HEAD + "(<= (reach ?x ?y) (true (edge ?x ?y))) (<= (reach ?x ?z) (true (edge ?x ?y)) (reach ?y ?z))"
        "(<= (legal a (to ?y)) (reach 0 ?y)) (<= (legal a (not_to ?y)) (true (edge ?x ?y)) (not (reach 2 ?y)))"
    )
    path = ["(edge 0 1)", "(edge 1 2)", "(edge 2 3)"]
    for _ in range(2):
        assert legal_texts(machine, path) == ["(not_to 1)", "(not_to 2)", "(to 1)", "(to 2)", "(to 3)"]
        assert legal_texts(machine, [*path, "(edge 3 1)"]) == ["(to 1)", "(to 2)", "(to 3)"]


def test_builds_and_takes_apart_lists() -> None:
    """Recursion over lists made of functions appends, reverses membership, and ends."""
    machine = interpreter_of(
        HEAD + "(item 1) (item 2) (item 3) (item 4)"
        "(<= (append nil ?x (cons ?x nil)) (item ?x))"
        "(<= (append (cons ?h ?t) ?x (cons ?h ?u)) (append ?t ?x ?u) (item ?h))"
        "(<= (legal a (got ?l)) (true (list ?k)) (append ?k 4 ?l))"
        "(<= (legal a (last ?x)) (true (list ?l)) (append ?k ?x ?l))"
    )
    facts = ["(list (cons 1 (cons 2 (cons 3 nil))))"]
    assert legal_texts(machine, facts) == ["(got (cons 1 (cons 2 (cons 3 (cons 4 nil)))))", "(last 3)"]


def test_looks_for_simple_paths_with_lists_of_visited_cells() -> None:
    """A path search that carries its visited nodes as a list, as some sheets do to avoid cycles."""
    machine = interpreter_of(
        HEAD + "(node 1) (node 2) (node 3) (node 4)"
        "(<= (not_in ?x nil) (node ?x)) (<= (not_in ?x (cons ?y ?t)) (not_in ?x ?t) (node ?y) (distinct ?x ?y))"
        "(<= (walk ?x ?y ?v) (true (edge ?x ?y)) (not_in ?y ?v))"
        "(<= (walk ?x ?z ?v) (true (edge ?x ?y)) (not_in ?y ?v) (walk ?y ?z (cons ?y ?v)))"
        "(<= (legal a (go ?z)) (walk 1 ?z (cons 1 nil)))"
    )
    assert legal_texts(machine, ["(edge 1 2)", "(edge 2 1)", "(edge 2 3)", "(edge 3 1)", "(edge 4 4)"]) == [
        "(go 2)",
        "(go 3)",
    ]


def test_the_greatest_goal_value_counts() -> None:
    """Several values, values that are no integers, and no value."""
    machine = interpreter_of(
        "(role a) (role b) (role c) (init s) (<= (legal ?r m) (role ?r)) (<= (next s) (true s)) (<= terminal (true s))"
        "(<= (goal a 0) (true s)) (<= (goal a 100) (true s)) (<= (goal b high) (true s)) (<= (goal b 1.5) (true s))"
        "(<= (goal b 50) (true s))"
    )
    state = machine.initial()
    assert [machine.goal_values(state, role) for role in range(3)] == [[0, 100], [50], []]
    assert [machine.goal(state, role) for role in range(3)] == [100, 50, None]


@pytest.mark.parametrize("state", ["s", "t"])
def test_a_goal_may_depend_on_there_being_no_other(state: str) -> None:
    """A predicate that negates itself with other constants is no recursion, whether or not a state is needed for it."""
    machine = interpreter_of(f"{HEAD} (<= (goal ?r 25) (role ?r) (not (goal ?r 100))) (<= (goal a 100) (true t))")
    assert machine.goal(machine.state([state]), 0) == (25 if state == "s" else 100)
    machine = interpreter_of(f"{HEAD} (<= (goal ?r 25) (role ?r) (not (goal ?r 100)))")
    assert machine.goal(machine.state([state]), 0) == 25


def test_knows_the_shapes_of_moves() -> None:
    """Illegal moves of a known shape are followed; others, and joint moves of another length, are refused."""
    machine = interpreter_of(
        "(role a) (init (n 1)) (<= (legal a (put ?x)) (true (n ?x))) (<= (next (n ?x)) (does a (put ?x)))"
        "(<= terminal (true (n 9)))"
    )
    state = machine.initial()
    assert machine.next(state, [("put", "7")]) == machine.state([("n", "7")])
    for joint_move in ([("take", "1")], ["put"], [], [("put", "1"), ("put", "1")]):
        with pytest.raises(IllegalMoveError):
            machine.next(state, joint_move)
    stuck = machine.state([])
    assert machine.next(stuck, ["nil"]) == frozenset()


def test_follows_recursion_thousands_deep() -> None:
    """A counter that is counted down by recursion, far deeper than Python's usual limit."""
    count = 3000
    succ = " ".join(f"(succ {i} {i + 1})" for i in range(count))
    machine = interpreter_of(
        HEAD + succ + "(<= (below ?x 0) (true (top ?x))) (<= (ok 0) (true s))"
        "(<= (ok ?y) (succ ?x ?y) (ok ?x)) (<= (legal a yes) (true (top ?x)) (ok ?x))"
    )
    assert legal_texts(machine, ["s", f"(top {count})"]) == ["noop", "yes"]


def test_endless_recursion_is_a_limit_and_no_hang() -> None:
    """Rules with infinitely many answers, or infinitely deep calls, raise `LimitError`; the machine stays usable."""
    machine = interpreter_of(
        HEAD + "(<= (number zero) (true s)) (<= (number (s ?x)) (number ?x))"
        "(<= (legal a (say ?x)) (true endless) (number ?x))"
        "(<= (call ?x) (true s) (call (s ?x))) (<= (legal a deep) (true deep) (call zero))"
    )
    for fact in ("endless", "deep"):
        with pytest.raises(LimitError):
            machine.legal(machine.state(["s", fact]), 0)
    assert legal_texts(machine, ["s"]) == ["noop"]


def test_a_query_can_be_stopped() -> None:
    """A relation with 10^9 rows is given up on request, and smaller queries work afterwards."""
    names = [f"?{i}" for i in range(9)]
    digits = " ".join(f"(d {i})" for i in range(10))
    body = " ".join(f"(d {name})" for name in names)
    machine = interpreter_of(HEAD + digits + f"(<= (legal a (all {' '.join(names)})) (true hard) {body})")
    hard = machine.state(["s", "hard"])
    asked = itertools.count(1)
    with machine.interruptible(lambda: next(asked) == 5), pytest.raises(Interrupted):
        machine.legal(hard, 0)
    assert next(asked) == 6
    assert legal_texts(machine, ["s"]) == ["noop"]


def test_bodies_with_more_loops_than_python_nests() -> None:
    """A rule with 30 literals that each bind a variable."""
    body = " ".join(f"(true (f {i} ?{i}))" for i in range(30))
    move = "(m " + " ".join(f"?{i}" for i in range(30)) + ")"
    machine = interpreter_of(HEAD + f"(<= (legal a {move}) {body}) (<= (legal a some) {body} (distinct ?0 ?29))")
    facts = [f"(f {i} {i % 3})" for i in range(30)] + ["(f 4 7)"]
    assert len(legal_texts(machine, facts)) == 3


# ------------------------------------------------------------------------------------------- against naive evaluation


def random_rules(rng: random.Random) -> list[Term]:
    """Random rules over the facts `e` and the state's `t`, in two strata of mutually recursive relations."""
    below: list[str] = ["e"]
    rules: list[Term] = []
    for relations in ("pqr", "uv"):
        for relation in relations:
            for _ in range(rng.randint(1, 3)):
                body: list[Term] = []
                for _ in range(rng.randint(1, 3)):
                    other = rng.choice([*below, *relations, "true"])
                    arguments = tuple(rng.choice(["?x", "?y", "?z", "?x", "?y", "?z", "1", "2"]) for _ in range(2))
                    body.append(("true", ("t", *arguments)) if other == "true" else (other, *arguments))
                bound = list(variables(*body)) or ["1"]
                if len(below) > 1 and rng.random() < 0.7:
                    body.append(("not", (rng.choice(below), rng.choice(bound), rng.choice(bound))))
                rules.append(("<=", (relation, rng.choice(bound), rng.choice(bound)), *body))
        below += relations
    return rules


PATTERNS = (("?x", "?y"), ("1", "?y"), ("?x", "2"), ("1", "2"), ("?x", "?x"))


@pytest.mark.parametrize("seed", range(60))
def test_agrees_with_naive_evaluation_of_random_programs(seed: int) -> None:
    """Random recursive programs with negation, queried in some binding patterns."""
    rng = random.Random(seed)
    rules = random_rules(rng)
    pairs = [(str(x), str(y)) for x in range(5) for y in range(5)]
    for relation in "pqruv":
        for pattern in rng.sample(PATTERNS, 2):
            rules.append(("<=", ("legal", "a", ("ask", relation, *pattern)), (relation, *pattern)))
        rules.append(("<=", ("legal", "a", ("first", relation, "?x")), (relation, "?x", "?y")))
    rng.shuffle(rules)
    sheet: list[Term] = [("role", "a"), *[("e", *pair) for pair in rng.sample(pairs, 6)], *rules]
    facts: list[Term] = [("t", *pair) for pair in rng.sample(pairs, 6)]
    machine, naive = Interpreter(check(sheet)), Naive(sheet)
    found = machine.legal(machine.state(facts), 0)
    assert set(found) == naive.legal(naive.look(facts))[0]
    assert len(found) == len(set(found))
