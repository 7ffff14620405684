"""Ground programs mean the same as the rules, however rewritten."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from games.gdl.grounding import observer
from games.gdl.grounding.ground import ALWAYS, NEVER, VARIANTS, GroundProgram, ground
from games.gdl.rules.dependencies import components
from games.machine import LimitError, Term
from protocol.kif import read_one
from tests.matches import rules_of

GAMES = ["ticTacToe", "tictactoe-init1", "connectFour", "eightPuzzle", "pentago", "nim4", "roshambo2"]

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


class Evaluator:
    """The plainest evaluation of a ground program: component by component, each until nothing changes."""

    def __init__(self, program: GroundProgram) -> None:
        self.program = program
        self._bodies: dict[int, list[list[int]]] = {}
        starts, body = program.body_start.tolist(), program.body.tolist()
        for i, head in enumerate(program.rule_head.tolist()):
            self._bodies.setdefault(head, []).append(body[starts[i] : starts[i + 1]])
        graph = {head: [abs(lit) for body in bodies for lit in body] for head, bodies in self._bodies.items()}
        self._order = components(graph)
        self._fluents = {fluent: i for i, fluent in enumerate(program.fluents)}
        self._moves = [{move: i for i, move in enumerate(moves)} for moves in program.moves]

    def values(self, facts: Iterable[Term], joint_move: Sequence[Term] = ()) -> list[bool]:
        """The truth of every atom; index -1 holds True, for `ALWAYS`."""
        program = self.program
        values = [False] * (program.n_atoms + 1) + [True]
        asked = [int(program.true_atom[self._fluents[fact]]) for fact in facts]
        asked += [int(program.does_atom[r][self._moves[r][move]]) for r, move in enumerate(joint_move)]
        for atom in asked:
            values[atom] = True
        values[0] = False
        for members in self._order:
            changed = True
            while changed:
                changed = False
                for head in members:
                    for body in self._bodies.get(head, ()):
                        if not values[head] and all(values[lit] if lit > 0 else not values[-lit] for lit in body):
                            values[head] = changed = True
        return values

    def successor(self, facts: Iterable[Term], joint_move: Sequence[Term]) -> set[Term]:
        """The facts of the next state."""
        values = self.values(facts, joint_move)
        atoms = self.program.next_atom.tolist()
        return {fluent for fluent, atom in zip(self.program.fluents, atoms, strict=True) if values[atom]}

    def legal(self, facts: Iterable[Term]) -> list[set[Term]]:
        """The legal moves of each role."""
        values = self.values(facts)
        return [
            {move for move, atom in zip(moves, atoms.tolist(), strict=True) if values[atom]}
            for moves, atoms in zip(self.program.moves, self.program.legal_atom, strict=True)
        ]

    def terminal(self, facts: Iterable[Term]) -> bool:
        """Whether the match is over."""
        return self.values(facts)[self.program.terminal_atom]

    def goals(self, facts: Iterable[Term]) -> list[int | None]:
        """The goal of each role; None if it has not exactly one."""
        values = self.values(facts)
        found = [{points for points, atom in goals if values[atom]} for goals in self.program.goals]
        return [goal.pop() if len(goal) == 1 else None for goal in found]


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


def _terms(texts: list[str]) -> set[Term]:
    return {read_one(text) for text in texts}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("game", GAMES)
def test_against_reference_traces(game: str, variant: str, corpus: Path) -> None:
    """Every variant agrees with the reference on legal moves, successors, terminal states and goals."""
    program = grounded((corpus / f"{game}.kif").read_text(), variant=variant)
    evaluator = Evaluator(program)
    trace = json.loads(gzip.decompress((corpus / "traces" / f"{game}.json.gz").read_bytes()))
    match = trace["games"][0]
    steps = match["steps"]
    assert {program.fluents[i] for i in program.initial} == _terms(steps[0]["state"])
    for step, following in zip(steps[:8], [*steps[1:8], steps[-1]], strict=False):
        facts = _terms(step["state"])
        assert evaluator.terminal(facts) == step["terminal"]
        if not step["terminal"]:
            assert evaluator.legal(facts) == [_terms(moves) for moves in step["legal"]]
            if following is not steps[-1]:
                assert evaluator.successor(facts, [read_one(m) for m in step["joint"]]) == _terms(following["state"])
    if not match["capped"]:
        assert evaluator.terminal(_terms(steps[-1]["state"]))
        assert evaluator.goals(_terms(steps[-1]["state"])) == match["goals"]


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
