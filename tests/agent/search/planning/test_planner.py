"""Plans for small puzzles, and proofs that there is none."""

from __future__ import annotations

from itertools import islice

import pytest

from agent.search.planning import formula
from agent.search.planning import planner as planning
from agent.search.planning.gate_lists import read_circuit
from agent.search.planning.independence import Independence, find_independence
from agent.search.planning.plan import Bound, Known, Plan
from agent.search.planning.planner import Planner
from games.gdl.running.machine import CircuitMachine
from games.machine import State
from tests.agent.search.planning.puzzles import BRIDGES, LOCK, WALK, counting, latin_square, locks, nonogram
from tests.circuits import Compile


def _find(machine: CircuitMachine, state: State | None = None, known: int = -1) -> list[Plan | Bound]:
    """The planner's findings until it ends."""
    planner = Planner(machine)
    state = machine.initial() if state is None else state
    return [finding for finding in planner.plans(state, Known(known), lambda: False) if finding is not None]


def _independence(machine: CircuitMachine) -> Independence:
    """The independence of moves from the first state on."""
    circuit = machine.game.circuit
    found = find_independence(machine, read_circuit(circuit), circuit.initial)
    assert found is not None
    return found


def _play(machine: CircuitMachine, plan: Plan, state: State | None = None) -> None:
    """Checks that a plan has legal moves and its goal."""
    state = machine.initial() if state is None else state
    for move in plan.moves:
        assert not machine.terminal(state)
        term = machine.game.moves[0][move]
        assert term in machine.legal(state, 0)
        state = machine.next(state, (term,))
    assert machine.terminal(state)
    assert machine.goal(state, 0) == plan.goal


def test_fills_in_a_grid(machine_of: Compile) -> None:
    """Random play hardly ever ends with a Latin square of size 5."""
    machine = machine_of(latin_square(5))
    found = _find(machine)
    plan = found[-1]
    assert isinstance(plan, Plan)
    assert plan.goal == 100
    assert len(plan.moves) == 25
    _play(machine, plan)


HEART = [
    "..##..##..",
    ".####.###.",
    "##..######",
    "##.#######",
    "##########",
    ".########.",
    "..######..",
    "...####...",
    "....##....",
    ".#......#.",
]


@pytest.mark.parametrize(("counted", "legal"), [("", ""), ("(does solver (put ?x ?y))", ""), ("", "(not bad)")])
def test_one_step_marks_a_picture(machine_of: Compile, counted: str, legal: str) -> None:
    """The clock goes on where the first legal moves end the match at once; what ends it does not bind moves."""
    machine = machine_of(nonogram(HEART, counted, legal))
    planner = Planner(machine)
    # None is the turn of the first formula, which has one step.
    turn, plan = islice(planner.plans(machine.initial(), Known(-1), lambda: False), 2)
    assert turn is None
    assert isinstance(plan, Plan)
    assert plan.goal == 100
    assert len(plan.moves) == "".join(HEART).count("#")
    _play(machine, plan)


@pytest.mark.parametrize("able", ["", "(or (not (true (up ?n 3))) (distinct ?w swap))"])
def test_one_move_works_on_all_locks(machine_of: Compile, monkeypatch: pytest.MonkeyPatch, able: str) -> None:
    """Planning 243 moves that are five choices each takes few conflicts."""
    monkeypatch.setattr(formula, "OPTIONS", (*formula.OPTIONS, "--solve-limit=1000"))
    machine = machine_of(locks(5, able))
    planner = Planner(machine)
    # None is the turn of the first formula, of nine steps.
    turn, plan = islice(planner.plans(machine.initial(), Known(-1), lambda: False), 2)
    assert turn is None
    assert isinstance(plan, Plan)
    assert plan.goal == 100
    _play(machine, plan)


def test_plans_from_any_state(machine_of: Compile) -> None:
    """Filled cells stay as they are."""
    machine = machine_of(latin_square(4))
    state = machine.initial()
    for x, number in (("1", "2"), ("2", "4"), ("3", "1")):
        state = machine.next(state, [("put", x, x, number)])
    (plan,) = _find(machine, state)
    assert isinstance(plan, Plan)
    assert plan.goal == 100
    _play(machine, plan, state)


def test_proves_that_the_best_goal_is_out_of_reach(machine_of: Compile) -> None:
    """The walk's 100 has no match; its 90 takes exactly five steps."""
    machine = machine_of(WALK)
    found = _find(machine)
    assert Bound(90) in found
    plans = [finding for finding in found if isinstance(finding, Plan)]
    assert plans[-1].goal == 90
    assert len(plans[-1].moves) == 5
    for plan in plans:
        _play(machine, plan)


def test_finds_nothing_where_nothing_better_can_be(machine_of: Compile) -> None:
    """The parity of four presses forbids three switches."""
    assert _find(machine_of(LOCK)) == [Bound(20)]


def test_does_not_look_for_what_is_known(machine_of: Compile) -> None:
    """Nothing is better than the best."""
    assert _find(machine_of(latin_square(4)), known=100) == []


def test_recursive_rules_need_a_reason(machine_of: Compile) -> None:
    """Bridges in a ring do not reach each other out of nothing: the only way is a, c, d, e."""
    machine = machine_of(BRIDGES)
    assert len(machine.game.circuit.outputs.loop_signal)
    plan = _find(machine)[-1]
    assert isinstance(plan, Plan)
    assert plan.goal == 100
    built = {machine.game.moves[0][move] for move in plan.moves}
    assert built == {("build", "a", "c"), ("build", "c", "d"), ("build", "d", "e")}
    _play(machine, plan)


def test_moves_on_different_cells_are_independent(machine_of: Compile) -> None:
    """Two numbers in one cell exclude each other, all else can be done in any order."""
    machine = machine_of(latin_square(3))
    found = _independence(machine)
    assert found.independent_pairs() == 27 * 26 // 2 - 9 * 3


def test_moves_of_a_walk_depend_on_each_other(machine_of: Compile) -> None:
    """The step counter is a clock; left and right both change the place."""
    machine = machine_of(WALK)
    found = _independence(machine)
    clock = {machine.game.fluents[f] for f, is_clock in enumerate(found.clock) if is_clock}
    assert clock == {("step", str(n)) for n in range(7)}
    assert found.independent_pairs() == 0


def test_moves_after_the_end_do_not_count(machine_of: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """A formula leaves open what is done after the end: a plan is cut there, and not taken for a failure."""
    machine = machine_of(WALK)
    plan = _find(machine)[-1]
    assert isinstance(plan, Plan)
    trial = Planner._try_out
    after = plan.moves[-1]
    monkeypatch.setattr(Planner, "_try_out", lambda self, state, steps: trial(self, state, [*steps, [after], [after]]))
    assert _find(machine)[-1] == plan


def test_failed_plans_prove_nothing(machine_of: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Formulas that are given up may have had too few steps for better goals."""
    monkeypatch.setattr(Planner, "_try_out", lambda *_: None)
    monkeypatch.setattr(planning, "FAILED_TRIALS", 1)
    monkeypatch.setattr(planning, "ROUNDS_FOR_THE_BEST", 2)
    assert _find(machine_of(counting(20))) == []
