"""Comparison of two machines along random matches: differences, tolerated deviations, and stopping in between."""

from __future__ import annotations

import pytest

from games.gdl.crosscheck import CrossCheck, Observation, Step, compare, observe
from games.gdl.interpreter.machine import Interpreter
from games.machine import Interrupted, State, Term, UnknownFactError
from tests.matches import first_difference, interpreter_of, rules_of

RULES = """
(role a) (role b)
(init (at 0))
(next-to 0 1) (next-to 1 2) (next-to 2 3)
(<= (legal a walk) (true (at ?x)))
(<= (legal a rest) (true (at ?x)))
(<= (legal b look) (true (at ?x)) (distinct ?x 2))
(<= (next (at ?y)) (does a walk) (true (at ?x)) (next-to ?x ?y))
(<= (next (at ?x)) (does a rest) (true (at ?x)))
(<= (next seen) (does b look))
(<= (next odd) (does b dance))
(<= terminal (true (at 3)))
(<= (goal a 100) (true (at 3)))
(goal b 50) (goal b 60)
"""


def test_equal_machines_agree() -> None:
    """Also in roles without a goal value or with several, and when a role has no legal move and the match stops."""
    assert first_difference(interpreter_of(RULES), interpreter_of(RULES), 20) is None


@pytest.mark.parametrize(
    ("old", "new", "query"),
    [
        ("(init (at 0))", "(init (at 0)) (init seen)", "initial state"),
        ("(<= terminal (true (at 3)))", "(<= terminal (true (at 2)))", "terminal"),
        ("(<= (legal b look)", "(<= (legal b dance) (true (at 2))) (<= (legal b look)", "legal moves of b"),
        ("(does b dance)", "(does b look)", "next state"),
        ("(goal b 50) (goal b 60)", "(goal b 50)", "goal of b"),
    ],
)
def test_everything_is_compared(old: str, new: str, query: str) -> None:
    """What only the tested machine has counts as much as what it lacks."""
    difference = first_difference(interpreter_of(RULES.replace(old, new)), interpreter_of(RULES), 20)
    assert difference is not None
    assert difference.query == query


def test_difference_names_the_rules_concerned() -> None:
    """The rules that could conclude the differing atoms, once per statement, and no others."""
    wrong = RULES.replace("(<= (legal a rest) (true (at ?x)))", "(<= (legal a rest) (true (at 1)))")
    difference = first_difference(interpreter_of(wrong), interpreter_of(RULES), 20)
    assert difference is not None
    assert (difference.query, difference.extra, difference.missing) == (
        "legal moves of a",
        (),
        (("legal", "a", "rest"),),
    )
    rules = rules_of(RULES).rules
    assert [str(rule) for rule in difference.rules(rules)] == ["(<= (legal a rest) (true (at ?x)))"]
    assert difference.describe(rules, tested="new", trusted="old") == (
        "legal moves of a: only the old has (legal a rest); state: (at 0); "
        "rules concerned: statement 7: (<= (legal a rest) (true (at ?x)))"
    )


def test_other_roles_are_a_difference() -> None:
    """Joint moves of such machines could not be compared."""
    difference = first_difference(
        interpreter_of(RULES.replace("(role a) (role b)", "(role b) (role a)")), interpreter_of(RULES), 20
    )
    assert difference is not None
    assert (difference.query, difference.failure) == ("roles", "b a against a b")


class Forgetful(Interpreter):
    """A machine that does not know one of its own states."""

    def terminal(self, state: State) -> bool:
        """Fails there."""
        if ("at", "1") in self.facts(state):
            raise UnknownFactError("(at 1)")
        return super().terminal(state)


def test_error_of_the_tested_machine_is_a_difference() -> None:
    """It is described with the step after which it came."""
    difference = first_difference(Forgetful(rules_of(RULES)), interpreter_of(RULES), 20)
    assert difference is not None
    assert difference.failure == "it raises UnknownFactError: (at 1)"
    assert difference.joint_move == ("walk", "look")


class Stopped(Interpreter):
    """A machine that is interrupted at every query while stopped."""

    stopped = False

    def terminal(self, state: State) -> bool:
        """Raises `Interrupted` while stopped."""
        if self.stopped:
            raise Interrupted
        return super().terminal(state)


def test_state_is_asked_about_again_after_an_interruption() -> None:
    """An interruption does not end the match."""
    trusted = Stopped(rules_of(RULES))
    cross_check = CrossCheck(interpreter_of(RULES), trusted)
    assert cross_check.step() is None
    trusted.stopped = True
    for _ in range(3):
        with pytest.raises(Interrupted):
            cross_check.step()
        assert (cross_check.states, cross_check.ply, cross_check.matches) == (1, 1, 0)
    trusted.stopped = False
    assert cross_check.step() is None
    assert cross_check.states == 2


def test_step_of_a_role_without_legal_moves_is_nobodys_rule() -> None:
    """The state after a move that cannot be legal may differ."""
    truth = interpreter_of(RULES)
    before = truth.state([("at", "2")])
    after = truth.next(before, ("walk", "dance"))
    seen = observe(truth, after, Step(truth.facts(before), ("walk", "look")))
    assert compare(seen, truth) is None
    facts: frozenset[Term] = frozenset([("at", "1")])
    wrong = Observation(
        facts, False, (("walk", "rest"), ("look",)), None, Step(frozenset([("at", "0")]), ("walk", "look"))
    )
    difference = compare(wrong, truth)
    assert difference is not None
    assert difference.missing == (("next", "seen"),)
