"""Rules against the letter of the language mean the same to the interpreter and to every circuit."""

from __future__ import annotations

from collections.abc import Sequence

from games.gdl.grounding.ground import VARIANTS
from games.machine import NO_MOVE, StateMachine
from tests.circuits import machine_of
from tests.matches import interpreter_of, rules_of

DOES = """
(role w) (role b) (init (at 1)) (init quiet) (succ 1 2) (succ 2 3)
(legal w go) (legal b go) (<= (legal b stay) (true (at 1)))
(<= (moved ?r) (does ?r go))
(<= (idle ?r) (role ?r) (not (moved ?r)))
(<= (legal w jump) (moved w))
(<= (legal w rest) (idle w) (not (does b stay)))
(<= (next (at ?y)) (true (at ?x)) (succ ?x ?y))
(<= (next (did ?r)) (moved ?r))
(<= (next over) terminal)
(<= terminal (true (at 3)))
(<= terminal (moved w))
(<= (goal w 100) (moved w))
(<= (goal ?r 50) (idle ?r))
"""
"""`does` straight and through relations that `next` asks as well."""

IDLE = """
(role a) (role b) (role c) (init (at 1)) (succ 1 2) (succ 2 3) (succ 3 4)
(<= (legal a go) (true (at 1)))
(<= (legal b ?m) (some ?m) (not (true (at 2)))) (some x) (some y) (some z)
(legal c wait)
(<= (next (at ?y)) (true (at ?x)) (succ ?x ?y))
(<= (next (did ?r ?m)) (does ?r ?m))
(<= (next (moved ?r)) (does ?r ?m))
(<= (next (not_go a)) (not (does a go)))
(<= (next few) (not (does b x)) (not (does b y)))
(<= (next many) (or (does b x) (does b y) (does b z)))
(<= terminal (true (at 4))) (goal a 100) (goal b 50) (goal c 0)
"""
"""Role a has a move at 1 alone, b none at 2."""

OPEN = """
(role north) (role south) (flag up) (init (t 0)) (listed south)
(<= (legal ?who wave) (flag up))
(<= (busy ?x) (not (free ?x))) (<= (free ?x) (not (listed ?x)))
(<= (legal ?who rest) (busy ?who))
(<= (next (t 1)) (true (t 0)))
(<= terminal (true (t 1)))
(<= (goal ?who 100) (listed ?who)) (<= (goal ?who 0) (not (listed ?who)))
"""


def machines(text: str) -> list[StateMachine]:
    """The interpreter, and a circuit of each variant."""
    return [interpreter_of(text), *(machine_of(text, variant) for variant in VARIANTS)]


def played(machine: StateMachine, *joint_moves: Sequence[str]) -> list[set[str]]:
    """The facts after each joint move."""
    state, found = machine.initial(), []
    for joint_move in joint_moves:
        state = machine.next(state, joint_move)
        facts = machine.facts(state)
        found.append({fact if isinstance(fact, str) else " ".join(map(str, fact)) for fact in facts})
    return found


def test_no_does_holds_where_no_move_has_been_made() -> None:
    """Legal moves, the end and goals see no `does`, and what `next` asks of moves keeps its meaning."""
    for machine in machines(DOES):
        for state in (machine.initial(), machine.next(machine.initial(), ["go", "stay"])):
            assert sorted(map(str, machine.legal(state, 0))) == ["go", "rest"]
            assert not machine.terminal(state)
            assert [machine.goal(state, role) for role in (0, 1)] == [50, 50]
        assert played(machine, ["go", "stay"], ["rest", "go"]) == [{"at 2", "did w"}, {"at 3", "did b"}]


def test_a_role_without_a_move_does_nothing() -> None:
    """No `does` of it holds, whatever move it is given, and the moves of the others count."""
    first = {"at 2", "did a go", "did b z", "did c wait", "moved a", "moved b", "moved c", "few", "many"}
    second = {"at 3", "did c wait", "moved c", "not_go a", "few"}
    third = {"at 4", "did b x", "did c wait", "moved b", "moved c", "not_go a", "many"}
    for machine in machines(IDLE):
        assert played(machine, ["go", "z", "wait"], ["go", NO_MOVE, "wait"], [NO_MOVE, "x", "wait"]) == [
            first,
            second,
            third,
        ]


def test_a_role_that_nothing_binds_is_each_role() -> None:
    """Heads of `legal` and `goal` hold for each role, also where a negation or a callee has the variable."""
    for machine in machines(OPEN):
        state = machine.initial()
        assert [sorted(map(str, machine.legal(state, role))) for role in (0, 1)] == [["wave"], ["rest", "wave"]]
        assert [machine.goal(state, role) for role in (0, 1)] == [0, 100]


def test_authors_are_told() -> None:
    """`does` below what is asked of a state is an error that names its way, a role that nothing binds a warning."""
    errors = [found.message for found in rules_of(DOES).diagnostics if found.severity == "error"]
    assert [message.split(":")[0] for message in errors] == [
        "`moved` depends on `does`, in a rule of `legal`",
        "`idle` depends on `does`, in a rule of `legal`",
        "`moved` depends on `does`, in a rule of `terminal`",
        "`moved` depends on `does`, in a rule of `goal`",
        "`idle` depends on `does`, in a rule of `goal`",
    ]
    found = {(one.severity, one.path, one.message) for one in rules_of(OPEN).diagnostics}
    assert ("warning", (5,), "nothing binds ?who in (legal ?who wave): read as each role") in found
    assert {severity for severity, _, _ in found} == {"warning"}
