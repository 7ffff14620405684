"""Ground programs mean the same as the rules, however rewritten."""

from __future__ import annotations

from typing import Any

import pytest

from games.gdl.grounding import observer
from games.gdl.grounding.ground import ALWAYS, NEVER, VARIANTS, GroundProgram, ground
from games.machine import LimitError, Term
from tests.matches import rules_of

GAME = """
(role white) (role black) (init (step 1)) (init (light ++)) (succ 1 2) (succ 2 -3)
(<= (legal ?r wait) (role ?r))
(<= (legal white (set ?x)) (true (step ?x)) (succ ?x ?y))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= (next (light on)) (does white (set ?x)) (not (true (light ++))))
(<= (next ?f) (kept ?f) (true ?f))
(kept (light ++))
(next (seen))
(<= terminal (true (step -3)))
(<= (goal ?r 50) (role ?r) (true (light on)))
(<= (goal white ?x) (true (step ?x)))
"""


def grounded(text: str, **options: Any) -> GroundProgram:
    checked = rules_of(text)
    return ground(checked.rules, checked.roles, **options)


@pytest.mark.parametrize("variant", VARIANTS)
def test_contract(variant: str) -> None:
    """Fluents, moves, goals and their atoms are those the rules derive, in the sheet's spelling."""
    program = grounded(GAME, variant=variant)
    assert program.roles == ("white", "black")
    names: set[Term] = {("step", "1"), ("step", "2"), ("step", "-3"), ("light", "++"), ("light", "on"), "seen"}
    assert set(program.fluents) == names
    assert {program.fluents[i] for i in program.initial} == {("step", "1"), ("light", "++")}
    assert [set(moves) for moves in program.moves] == [{"wait", ("set", "1"), ("set", "2")}, {"wait"}]
    next_atom = dict(zip(program.fluents, program.next_atom.tolist(), strict=True))
    true_atom = dict(zip(program.fluents, program.true_atom.tolist(), strict=True))
    assert next_atom["seen"] == ALWAYS
    assert next_atom["step", "1"] == NEVER
    assert true_atom["seen"] == NEVER
    assert program.legal_atom[1].tolist() == [ALWAYS]
    assert [value for value, _ in program.goals[0]] == [-3, 1, 2, 50]
    assert program.body_start[-1] == len(program.body)
    assert len(program.body_start) == len(program.rule_head) + 1


def test_size_is_bounded() -> None:
    """Grounding stops at the bound on literals, even if it would never end."""
    with pytest.raises(LimitError):
        grounded(GAME + "(<= (next (step (s ?x))) (true (step ?x)))", limit_literals=2000)


def test_public_observer_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without clingo's C interface the public observer finds the same program."""
    fast = grounded(GAME)
    monkeypatch.setattr(observer, "_interface", lambda: None)
    slow = grounded(GAME)
    assert fast.fluents == slow.fluents
    assert fast.goals == slow.goals
    assert fast.rule_head.tolist() == slow.rule_head.tolist()
    assert fast.body.tolist() == slow.body.tolist()


def test_a_goal_that_is_no_integer_is_told() -> None:
    """It counts as no goal; any integer is one."""
    program = grounded(GAME + "(<= (goal black ?x) (true (light ?x))) (goal black 101)")
    assert 101 in [value for value, _ in program.goals[1]]
    assert [warning for warning in program.warnings if "no integer" in warning] == [
        f"a goal value that is no integer: {value}" for value in ("++", "on")
    ]
