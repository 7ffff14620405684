"""The interpreter: recursion, negation, functions, binding patterns, bounds, and the corpus' reference traces."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules, check
from games.gdl.rules.terms import Atom, Literal, Rule, substitute_atom, variables
from games.machine import IllegalMoveError, Interrupted, LimitError, Term
from protocol import kif
from protocol.terms import decode
from tests.matches import interpreter_of

HEAD = "(role a) (init s) (<= (legal a noop) (true s)) (<= (next s) (true s)) (<= terminal (true never)) "


def legal_texts(machine: Interpreter, facts: Iterable[str], role: int = 0) -> list[str]:
    """The legal moves of a role where these facts are true, as text."""
    state = machine.state([kif.read_one(fact) for fact in facts])
    return [kif.write(move) for move in machine.legal(state, role)]


def test_plays_a_small_game_to_its_end() -> None:
    """Initial state, legal moves, next states, end and goals of a counting game."""
    machine = interpreter_of(
        "(role a) (role b) (init (n 0)) (succ 0 1) (succ 1 2) (succ 2 3)"
        "(<= (legal ?r (add ?x)) (role ?r) (or (succ 0 ?x) (succ 1 ?x)))"
        "(<= (next (n ?y)) (true (n ?x)) (succ ?x ?y) (does a (add ?k)) (does b (add ?k)))"
        "(<= (next (n ?x)) (true (n ?x)) (does a (add ?k)) (does b (add ?l)) (distinct ?k ?l))"
        "(<= terminal (true (n 2))) (<= (goal ?r 100) (role ?r) (true (n 2)))"
        "(<= (goal ?r 0) (role ?r) (not (true (n 2))))"
    )
    state = machine.initial()
    assert machine.roles == ("a", "b")
    assert machine.legal(state, 1) == [("add", "1"), ("add", "2")]
    assert machine.next(state, [("add", "1"), ("add", "2")]) == state
    for _ in range(2):
        assert not machine.terminal(state)
        state = machine.next(state, [("add", "1"), ("add", "1")])
    assert machine.facts(state) == {("n", "2")}
    assert machine.terminal(state)
    assert machine.goal(state, 0) == 100


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


def test_negates_only_what_recursion_has_completed() -> None:
    """A predicate that is not derivable by mutual recursion is false, also when asked for from several strata."""
    machine = interpreter_of(
        HEAD + "(<= (even ?x) (true (zero ?x))) (<= (even ?x) (true (pred ?x ?y)) (odd ?y))"
        "(<= (odd ?x) (true (pred ?x ?y)) (even ?y)) (<= (node ?x) (true (zero ?x))) (<= (node ?x) (true (pred ?x ?y)))"
        "(<= (legal a (odd_only ?x)) (node ?x) (not (even ?x)))"
        "(<= (plain ?x) (node ?x) (not (odd ?x))) (<= (legal a (neither ?x)) (plain ?x) (not (even ?x)))"
    )
    facts = ["(zero 0)", "(pred 1 0)", "(pred 2 1)", "(pred 3 2)", "(pred 8 9)", "(pred 9 8)"]
    assert legal_texts(machine, facts) == ["(neither 8)", "(neither 9)"] + [f"(odd_only {x})" for x in (1, 3, 8, 9)]


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


def test_takes_facts_and_moves_as_whole_terms_and_apart() -> None:
    """A bare variable for a fact or a move, next to literals that look inside it."""
    machine = interpreter_of(
        "(role a) (role b) (init (cell 1 x)) (init flag) (<= (legal ?r (copy ?f)) (role ?r) (true ?f))"
        "(<= (legal a pass) (legal b (copy flag)))"
        "(<= (next ?f) (does ?r (copy ?f))) (<= (next (seen ?r ?m)) (does ?r ?m))"
        "(<= (next (inside ?x)) (does a (copy (cell ?x ?y)))) (<= terminal (true flag))"
        "(<= (goal ?r 10) (does_nothing ?r)) (<= (goal ?r ?v) (role ?r) (value ?v)) (value 70)"
    )
    state = machine.initial()
    assert machine.legal(state, 0) == [("copy", ("cell", "1", "x")), ("copy", "flag"), "pass"]
    after = machine.facts(machine.next(state, [("copy", ("cell", "1", "x")), ("copy", "flag")]))
    assert after == {
        "flag",
        ("cell", "1", "x"),
        ("inside", "1"),
        ("seen", "a", ("copy", ("cell", "1", "x"))),
        ("seen", "b", ("copy", "flag")),
    }
    assert machine.terminal(state)
    assert machine.goal(state, 0) == 70


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


def naive_model(rules: Iterable[Rule], facts: Iterable[Atom], strata: list[set[str]]) -> set[Atom]:
    """All atoms that rules without functions derive, bottom-up, stratum by stratum."""
    model = set(facts)
    for relations in strata:
        mine = [rule for rule in rules if rule.head[0] in relations]
        while True:
            new = set()
            for rule in mine:
                for binding in _bindings(rule.body, model):
                    new.add(substitute_atom(rule.head, binding))
            if new <= model:
                break
            model |= new
    return model


def _bindings(body: tuple[Literal, ...], model: set[Atom]) -> list[dict[str, Term]]:
    bindings: list[dict[str, Term]] = [{}]
    for literal in sorted(body, key=lambda literal: not literal.positive):
        extended = []
        for binding in bindings:
            atom = substitute_atom(literal.atom, binding)
            if not literal.positive:
                if atom not in model:
                    extended.append(binding)
                continue
            for other in model:
                if other[0] == atom[0] and len(other) == len(atom):
                    more = dict(binding)
                    for left, right in zip(atom, other, strict=True):
                        if isinstance(left, str) and left.startswith("?"):
                            left = more.setdefault(left, right)
                        if left != right:
                            break
                    else:
                        extended.append(more)
        bindings = extended
    return bindings


def random_rules(rng: random.Random) -> tuple[list[Rule], list[set[str]]]:
    """A random program over the facts `e` and the state's `t`, and its strata of mutually recursive relations."""
    strata = [{"p", "q", "r"}, {"u", "v"}]
    below: list[str] = ["e"]
    rules = []
    for relations in strata:
        for relation in sorted(relations):
            for _ in range(rng.randint(1, 3)):
                body = []
                names = ["?x", "?y", "?z"]
                for _ in range(rng.randint(1, 3)):
                    other = rng.choice([*below, *sorted(relations), "true"])
                    arguments = tuple(rng.choice([*names, *names, "1", "2"]) for _ in range(2))
                    body.append(Literal(True, ("true", ("t", *arguments)) if other == "true" else (other, *arguments)))
                bound = list(variables(*[literal.atom for literal in body])) or ["1"]
                if len(below) > 1 and rng.random() < 0.7:
                    other = rng.choice(below)
                    body.append(Literal(False, (other, rng.choice(bound), rng.choice(bound))))
                rules.append(Rule((relation, rng.choice(bound), rng.choice(bound)), tuple(body), len(rules)))
        below += sorted(relations)
    return rules, strata


PATTERNS = (("?x", "?y"), ("1", "?y"), ("?x", "2"), ("1", "2"), ("?x", "?x"))


def fits(pattern: tuple[str, str], pair: tuple[str, str]) -> bool:
    """Whether a pair matches a pattern."""
    return all(name.startswith("?") or name == value for name, value in zip(pattern, pair, strict=True)) and (
        pattern[0] != pattern[1] or pair[0] == pair[1]
    )


@pytest.mark.parametrize("seed", range(150))
def test_agrees_with_naive_evaluation_of_random_programs(seed: int) -> None:
    """Random recursive programs with negation have the same model as bottom-up, queried in some binding patterns."""
    rng = random.Random(seed)
    rules, strata = random_rules(rng)
    pairs = [(str(x), str(y)) for x in range(5) for y in range(5)]
    given: list[Atom] = [("e", *pair) for pair in rng.sample(pairs, 6)]
    present = rng.sample(pairs, 6)
    model = naive_model(
        [Rule(rule.head, tuple([_plain(literal) for literal in rule.body]), 0) for rule in rules],
        [*given, *[("t", *pair) for pair in present]],
        strata,
    )
    asks = []
    expected: set[Term] = set()
    for relation in sorted(set.union(*strata)):
        true = {(str(atom[1]), str(atom[2])) for atom in model if atom[0] == relation}
        for pattern in rng.sample(PATTERNS, 2):
            head: Atom = ("legal", "a", ("ask", relation, *pattern))
            asks.append(Rule(head, (Literal(True, (relation, *pattern)),), 0))
            expected |= {("ask", relation, *pair) for pair in true if fits(pattern, pair)}
        asks.append(Rule(("legal", "a", ("first", relation, "?x")), (Literal(True, (relation, "?x", "?y")),), 0))
        expected |= {("first", relation, first) for first, _ in true}
    facts = [Rule(atom, (), 0) for atom in given]
    rng.shuffle(asks)
    machine = Interpreter(CheckedRules((*facts, *rules, *asks), ("a",), ()))
    found = machine.legal(machine.state([("t", *pair) for pair in present]), 0)
    assert set(found) == expected
    assert len(found) == len(expected)


def _plain(literal: Literal) -> Literal:
    """The literal with `(true (t ..))` as a relation of its own."""
    if literal.atom[0] == "true":
        assert isinstance(literal.atom[1], tuple)
        return Literal(literal.positive, literal.atom[1])
    return literal


# ------------------------------------------------------------------------------------------------------------- corpus


@pytest.mark.parametrize(
    ("game", "states"),
    [
        ("chess", 12),
        ("sudoku", 12),
        ("laikLee_hex", 10),
        ("alexChess", 2),
        ("wargame03", 6),
        ("cittaceot", 10),
        ("pentago", 10),
        ("ticTacToe", 20),
        ("gt_two_thirds_4p", 2),
        ("reversi", 10),
    ],
)
def test_follows_the_reference_traces(corpus: Path, game: str, states: int) -> None:
    """A sample of each trace's states has the same legal moves, next facts, end and goals."""
    machine = interpreter_of(decode((corpus / f"{game}.kif").read_bytes()))
    with gzip.open(corpus / "traces" / f"{game}.json.gz") as file:
        trace = json.load(file)
    places = [(match["steps"], i, match) for match in trace["games"] for i in range(len(match["steps"]))]
    for steps, i, match in random.Random(0).sample(places, min(states, len(places))):
        step = steps[i]
        state = machine.state(map(kif.read_one, step["state"]))
        assert machine.terminal(state) == step["terminal"]
        for role, moves in enumerate(step["legal"] or ()):
            assert set(machine.legal(state, role)) == set(map(kif.read_one, moves))
        if i + 1 < len(steps):
            successor = machine.next(state, list(map(kif.read_one, step["joint"])))
            assert successor == machine.state(map(kif.read_one, steps[i + 1]["state"]))
        elif step["terminal"]:
            assert [machine.goal(state, role) for role in range(len(machine.roles))] == match["goals"]
