"""Errors and warnings about rulesheets."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from games.gdl.rules.diagnostics import InvalidRulesError
from tests.matches import interpreter_of, rules_of

GAME = """
(role white) (role black) (init (step 1)) (succ 1 2)
(<= (legal ?r wait) (role ?r))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= terminal (true (step 2)))
(<= (goal ?r 50) (role ?r))
"""


def test_clean_game() -> None:
    """A game by the book gives no diagnostics; roles are in order."""
    found = rules_of(GAME)
    assert found.roles == ("white", "black")
    assert found.diagnostics == ()


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("(<= (q ?x) (p ?y)) (p a)", None),
        ("(<= (next (q ?x)) (succ ?y ?z))", "nothing binds"),
        ("(next (q ?x))", "nothing binds"),
        ("(<= a (not b)) (<= b (not a))", "own negation"),
        ("(<= (init (p ?x)) (true (step ?x)))", "depends on the state"),
        ("(<= (role ?x) (does ?x wait))", "depends on the state"),
        ("(?x)", "variable"),
    ],
)
def test_no_meaning(extra: str, message: str | None) -> None:
    """A sheet without a meaning is an error with a reason; an unsafe rule that nothing calls does no harm."""
    if message is None:
        assert rules_of(GAME + extra).diagnostics
        return
    with pytest.raises(InvalidRulesError, match=message):
        rules_of(GAME + extra)


def test_no_roles() -> None:
    """Without roles there is no game."""
    with pytest.raises(InvalidRulesError, match="no roles"):
        rules_of("(init (p a))")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("word", "bare atom"),
        ("(succ 2)", "1 arguments|2 and 1"),
        ("(legal white)", "takes 2 arguments"),
        ("(goal white 1000)", "1000 is not from 0 to 100"),
        ("(goal white -5)", "-5 is not from 0 to 100"),
        ("(goal white high)", "no integer, so no goal"),
        (f"(goal white 1{'0' * 5000})", "no integer, so no goal"),
        ("(<= (next p) (unknown a))", "never true"),
        ("(:- (next p) (true p))", "`:-` is not `<=`: this is a fact, no rule"),
        ("(<= (next p) (not (true (step ?any))))", "for no"),
        ("(<= (next (step (s ?x))) (true (step ?x)))", "without end"),
    ],
)
def test_oddities_are_warnings(extra: str, message: str) -> None:
    """Oddities that have a meaning are warnings."""
    with pytest.raises(AssertionError, match=message):
        assert not [str(found) for found in rules_of(GAME + extra).diagnostics]


@pytest.mark.parametrize(
    ("extra", "place", "message"),
    [
        ("(succ 1 Wait)", (8, 2), "`Wait` and `wait` differ by case alone: they are two names"),
        ("(<= (next q) (true (stop 2)))", (8, 2), "(true (stop 2)) is never true: nothing makes it so"),
        ("(<= (next q) (not (true q2)))", (8, 2, 1), "(true q2) is never true: nothing makes it so"),
        ("(<= (next (n ?x)) (true (n ?x)))", (8, 2), "(true (n ?x)) is never true: nothing makes it so"),
        ("(<= (next q) (does white stop))", (8, 2), "(does white stop) is never true: no such move is ever legal"),
        ("(<= (next q) (succ 2 ?x))", (8, 2), "(succ 2 ?x) is never true: no rule concludes it"),
        ("(<= (next q) p) (<= p (distinct a a))", (8, 2), "`p` is never true: its rules can never fire"),
        ("(init (step 1 2))", (8, 1), "function `step` is used with 1 and 2 arguments"),
        ("(<= (next q) (or))", (8, 2), "an empty `or` is never true"),
        ("(<= (next q) (or (succ 1 2) (and (or (succ 1 2)))))", (8, 2, 2, 1), "`or` inside `or`"),
        ("(<= (base ?f) (true ?f))", (8,), "`base` depends on the state"),
        ("(<= (input ?r ?m) (legal ?r ?m) (on ?r)) (<= (on ?r) (does ?r ?m))", (8,), "`input` depends on the state"),
        ("(init (goal 1))", (8, 1), "`goal` is a word of the language, here a function"),
        ("(succ 1 terminal)", (8, 2), "`terminal` is a word of the language, here a constant"),
        ("(sees white 1)", (8,), "`sees` makes it a game of imperfect information (GDL-II)"),
        ("(distinct white black)", (8,), "`distinct` is built in: what concludes it is left out"),
        ("(distinct a a) (distinct a)", (8,), "`distinct` is built in: what concludes it is left out"),
        ("(<= (distinct ?x ?y) (succ ?x ?y))", (8,), "`distinct` is built in: what concludes it is left out"),
        ("(<= (input blakc wait) (succ 1 2)) (legal blakc wait)", (8, 1, 1), "`blakc` is no role; did you mean `bl"),
        ("(goal north 1) (goal north 2)", (8, 1), "`north` is no role"),
        ("(init “q\u200b”)", (8, 1), "`“q\u200b”` holds an invisible character"),
        ("(<= (nxet (step 1)) (true (step 2)))", (8, 1, 0), "nothing asks for `nxet`; did you mean `next`?"),
        ("(<= terminl (true (step 2)))", (8, 1), "nothing asks for `terminl`; did you mean `terminal`?"),
        ("(goall white 1)", (8, 0), "nothing asks for `goall`; did you mean `goal`?"),
        ("(sess white 1)", (8, 0), "nothing asks for `sess`; did you mean `sees`?"),
        ("(<= (next q) (succ ?x 2) (not (succ ?x ?y)))", (8,), "read as `for no ?y`; ggp-base's prover leaves the li"),
    ],
)
def test_a_word_for_authors(extra: str, place: tuple[int, ...], message: str) -> None:
    """What has a meaning, but hardly the one that was wanted, is one warning at its place."""
    (found,) = rules_of(GAME + extra).diagnostics
    assert found.severity == "warning"
    assert found.path == place
    assert message in found.message


@pytest.mark.parametrize(
    "extra",
    [
        "(<= (next q) (true p)) (<= (next p) (true (step 2)))",
        "(<= (free ?x) (not (true (step ?x)))) (<= (next (q ?x)) (succ ?x ?y) (free ?x))",
        "(<= (next (on ?f)) (true ?f)) (init (f (g 1)))",
        "(<= (next q) (or (true q) (and (succ 1 2) (not (true q)))))",
        "(<= (next q) (or (succ 1 2) (not (nxet 1)))) (nxet 1) (goals white) (nest 1 2) (next_to 1)",
        "(<= (role ?x) (third ?x)) (third gray) (goal gray 0) (<= (legal ?x stop) (third ?x))",
    ],
)
def test_no_word_where_nothing_is_wrong(extra: str) -> None:
    """Facts or roles by rules, relations for top-down provers, facts as variables: nothing is called wrong."""
    told = " ".join(found.message for found in rules_of(GAME + extra).diagnostics)
    assert "never" not in told
    assert "no role" not in told


def test_after_an_error_nothing_is_said_of_what_is_missing() -> None:
    """A faulty rule for `legal` or `role` is the error; that nobody has a move, or a relation is empty, is not told."""
    for sheet in (
        GAME.replace("(legal ?r wait)", "(legal ?r (wait ?x))") + "(<= (next q) (legal ?r ?m))",
        GAME.replace("(role white) (role black)", "(<= (role ?x))"),
    ):
        with pytest.raises(InvalidRulesError) as raised:
            rules_of(sheet)
        assert ["nothing binds" in found.message for found in raised.value.diagnostics] == [True]


def test_negation_between_many_goal_rules(
    grows_by_less_than: Callable[[float, Callable[[int], object], int], bool],
) -> None:
    """Rules for a goal value count as one in comparisons, if their conclusions are alike: time is linear."""
    rest = "(<= (goal ?r 0) (role ?r) (not (goal ?r 50)))"

    def sheet(rules: int) -> str:
        many = "".join(f"(<= (goal ?p{i} 50) (true (n ?p{i} {i})))" for i in range(rules))
        return f"(role a) (init (n a 0)) (legal a x) (next (n a 1)) (<= terminal (true (n a 1))) {many} {rest}"

    assert grows_by_less_than(8, lambda rules: rules_of(sheet(rules)), 150)
    assert not [found for found in rules_of(sheet(9)).diagnostics if found.severity == "error"]
    with pytest.raises(InvalidRulesError, match="own negation"):
        rules_of(f"{sheet(9)} (<= (goal ?q 50) (role ?q) (goal ?q 0))")


def test_negation_between_goal_values() -> None:
    """`goal` may depend on the negation of another goal value: the rules decide, not the predicate."""
    assert rules_of(GAME + "(<= (goal white 0) (not (goal white 50)))").diagnostics == ()


def test_rules_for_top_down_provers() -> None:
    """A rule that leaves its variables to its callers is unfolded into them, below negations too."""
    text = (
        GAME
        + """
    (<= (free ?x) (not (true (step ?x))))
    (<= (next (a ?x)) (succ ?x ?y) (free ?x))
    (<= (next (b ?x)) (succ ?x ?y) (not (free ?x)))
    """
    )
    texts = [str(rule) for rule in rules_of(text).rules]
    assert any("(next (a " in one and "(not (true (step " in one for one in texts)
    assert not any("(free" in one for one in texts)


@pytest.mark.parametrize(
    ("rules", "legal"),
    [
        ("(<= (some ?x) (not (free ?x))) (<= (legal white (go ?x)) (number ?x) (some ?x))", {"2"}),
        ("(<= (some ?x) (not (free ?x))) (<= (legal white (go ?x)) (number ?x) (not (some ?x)))", {"1", "3"}),
        ("(<= (some ?x ?y) (number ?y) (not (free ?x))) (<= (legal white (go ?x)) (number ?x) (some ?x 3))", {"2"}),
        (
            "(<= (some ?x) (free ?x)) (<= (more ?x) (number 3) (not (some ?x)))"
            "(<= (legal white (go ?x)) (number ?x) (not (more ?x)))",
            {"1", "3"},
        ),
    ],
)
def test_rules_for_top_down_provers_on_top_of_each_other(rules: str, legal: set[str]) -> None:
    """Negated calls between rules that leave variables to their callers: the outermost caller binds them."""
    numbers = "(number 1) (number 2) (number 3) (init (taken 2)) (<= (free ?x) (not (true (taken ?x))))"
    machine = interpreter_of(GAME + numbers + rules)
    found = machine.legal(machine.initial(), 0)
    assert {move[1] for move in found if isinstance(move, tuple)} == legal


def test_roles_by_rule() -> None:
    """Roles may be concluded by rules that do not depend on the state."""
    assert set(rules_of(GAME + "(<= (role ?x) (player ?x)) (player red)").roles) == {"white", "black", "red"}


def test_roles_without_end() -> None:
    """Rules that conclude roles without end are an error."""
    with pytest.raises(InvalidRulesError, match="`role` takes too long"):
        rules_of(GAME + "(<= (role (twin ?x ?x)) (role ?x))")


def test_stands_below_the_other_stages() -> None:
    """A check imports neither the later stages nor their libraries."""
    program = "import sys, games.gdl.rules.check, games.gdl.rules.surface; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "games.gdl.rules.check" in modules
    assert {name.split(".")[0] for name in modules}.isdisjoint(["clingo", "numba", "numpy"])
    stages = {name.split(".")[2] for name in modules if name.startswith("games.gdl.")}
    assert stages == {"rules"}


def test_a_relation_asked_twice_in_one_body_keeps_its_callers_apart() -> None:
    """A relation whose callers bind its variables, called twice in a body: negated and not, for different roles."""
    text = """
        (role one) (role red) (init s) (kind a)
        (<= (legal one (mark ?r)) (role ?r)) (legal red noop)
        (<= (asked ?y ?z) (not (true (p ?y ?z))))
        (<= (next (cell ?z)) (does ?y (mark ?z)) (kind ?v) (not (asked ?v red)) (asked ?v ?y))
        (next s) (<= terminal (true t)) (goal one 0) (goal red 0)
    """
    machine = interpreter_of(text)
    # `asked` holds for everybody, so there is nobody for whom it does not.
    state = machine.next(machine.initial(), [("mark", "red"), "noop"])
    assert machine.facts(state) == {"s"}


def test_a_disjunction_does_not_ask_for_just_any_value() -> None:
    """Variables that one disjunction binds for a relation are bound in another disjunction's rule, too."""
    wide = " ".join(f"(or (true (off {i} ?v)) (kind ?v))" for i in range(6))
    text = f"""
        (role one) (init (taken b)) (kind a) (given a)
        (<= (free ?v) (not (true (taken ?v))))
        (<= (legal one (take ?v)) (free ?v) (or (not (view ?other)) (true s)) (or (given ?v) (true (on ?v))) {wide})
        (<= terminal (true t)) (goal one 0)
    """
    machine = interpreter_of(text)
    # `b` is taken; that says nothing about `a`.
    assert machine.legal(machine.initial(), 0) == [("take", "a")]
