"""Goals below 0 and above 100 are goals: machines tell them, and every engine goes for the highest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.search.engine import Limit
from agent.search.montecarlo import MonteCarlo
from agent.search.planning.engine import PuzzleSearch
from agent.search.planning.plan import Bound, Known, Plan
from agent.search.planning.planner import Planner
from agent.search.planning.rollouts import Rollouts
from agent.search.tree.breadth import BreadthFirst
from agent.search.tree.engine import TreeSearch
from games.machine import GoalScale, StateMachine
from tests.agent.search.thinking import NOT_STOPPED, alpha_beta, opinion_of
from tests.circuits import machine_of
from tests.matches import interpreter_of

ALONE = """
(role solo) (init start)
(worth bad -20) (worth fair 75) (worth good 120) (worth best 150)
(way none) (<= (way ?way) (worth ?way ?n))
(<= (legal solo (take ?way)) (true start) (way ?way))
(<= (legal solo on) (not (true start)))
(<= (next (took ?way)) (does solo (take ?way)))
(<= (next (took ?way)) (true (took ?way)))
(<= (next over) (does solo on))
(<= terminal (true over))
(<= (goal solo ?n) (true (took ?way)) (worth ?way ?n))
"""
"""Each way has its worth; that of `none` is no goal, 0 points."""

DEBTS = ALONE.replace("75", "-5").replace("120", "-7").replace("150", "-40")
"""All goals are negative, so no goal at all is the best result."""

DUEL = """
(role x) (role o) (init (turn x))
(worth dear mild 110 25) (worth dear wild 150 -50) (worth cheap mild 75 100) (worth cheap wild 100 75)
(<= (legal x ?way) (true (turn x)) (worth ?way ?answer ?first ?second))
(<= (legal x noop) (true (turn o)))
(<= (legal o ?answer) (true (turn o)) (worth ?way ?answer ?first ?second))
(<= (legal o noop) (true (turn x)))
(<= (next (turn o)) (true (turn x)))
(<= (next (took ?who ?way)) (does ?who ?way))
(<= (next (took x ?way)) (true (took x ?way)) (true (turn o)))
(<= terminal (took ?way ?answer))
(<= (took ?way ?answer) (true (took x ?way)) (true (took o ?answer)) (worth ?way ?answer ?first ?second))
(<= (goal x ?n) (took ?way ?answer) (worth ?way ?answer ?n ?other))
(<= (goal o ?n) (took ?way ?answer) (worth ?way ?answer ?other ?n))
"""
"""`x` gets 110 by `dear`, as `o` prefers 25 to a debt of 50, and 75 by `cheap`."""


@pytest.fixture(scope="module", autouse=True)
def _kernels(tree_kernels: None, alpha_beta_kernels: None) -> None:
    """Compile the kernels before they are used."""


@pytest.mark.parametrize("make", [interpreter_of, machine_of])
def test_machines_tell_any_integer(make: Callable[[str], StateMachine]) -> None:
    """Interpreter and circuit give the rules' own numbers."""
    machine = make(ALONE)
    for way, goal in (("bad", -20), ("fair", 75), ("good", 120), ("best", 150), ("none", None)):
        state = machine.next(machine.initial(), [("take", way)])
        assert machine.goal(machine.next(state, ["on"]), 0) == goal


def test_the_scale_keeps_the_order() -> None:
    """Worths are from 0 to 100, in the order of the goals, and tell the goals; ordinary goals are their own worths."""
    scale = GoalScale().including([-20, 150])
    worths = [scale.worth(goal) for goal in (-20, 0, 75, 120, 150)]
    assert worths == sorted(worths)
    assert (worths[0], worths[-1]) == (0, 100)
    assert [scale.goal(worth) for worth in worths] == [-20, 0, 75, 120, 150]
    assert all(GoalScale().worth(goal) == GoalScale().goal(goal) == goal for goal in range(101))


def test_playouts_add_up_the_rules_numbers() -> None:
    """Negative goals count, and no goal counts nothing."""
    result = machine_of(ALONE).random_playouts(playouts=3000, seed=1)
    assert result.goal_sums[0] / result.playouts == pytest.approx((-20 + 75 + 120 + 150) / 5, abs=5)


@pytest.mark.parametrize(("text", "way", "goal"), [(ALONE, "best", 150), (DEBTS, "none", 0)])
@pytest.mark.parametrize("make", [TreeSearch, PuzzleSearch])
def test_a_single_player_gets_the_highest_goal(text: str, way: str, goal: int, make: type[TreeSearch]) -> None:
    """It is proven, and told as the rules count."""
    machine = machine_of(text)
    opinion = opinion_of(make(machine, 0, threads=1, memory_bytes=1 << 22, seed=1), machine)
    assert (opinion.move, opinion.score.goal, opinion.final) == (("take", way), goal, True)


def test_enumeration_finds_the_highest_goal() -> None:
    """Also where it is none."""
    for text, best in ((ALONE, 150), (DEBTS, 0)):
        machine = machine_of(text)
        breadth = BreadthFirst(machine, 1 << 20)
        breadth.begin(machine.initial())
        breadth.run(NOT_STOPPED, 1 << 20)
        assert breadth.complete
        assert machine.goal_scale.goal(breadth.best_goal) == best


def test_planners_find_the_highest_goal() -> None:
    """Formulas and rollouts; a bound never excludes the points of an end without a goal."""
    machine = machine_of(ALONE)
    planned = list(Planner(machine).plans(machine.initial(), Known(), lambda: False))
    assert [one.goal for one in planned if isinstance(one, Plan)][-1] == 150
    assert [one.goal for one in Rollouts(machine).plans(machine.initial(), Known()) if one is not None][-1] == 150
    machine = machine_of(DEBTS)
    bounds = [one for one in Planner(machine).plans(machine.initial(), Known(), lambda: False) if one]
    assert all(bound.goal >= 0 for bound in bounds if isinstance(bound, Bound))


@pytest.mark.parametrize("make", [interpreter_of, machine_of])
@pytest.mark.parametrize(("text", "way", "goal"), [(ALONE, "best", 150), (DEBTS, "none", 0)])
def test_monte_carlo_goes_for_the_highest_goal(
    text: str, way: str, goal: int, make: Callable[[str], StateMachine]
) -> None:
    """The mean of the best move is its goal."""
    machine = make(text)
    opinion = opinion_of(MonteCarlo(machine, 0), machine, Limit(nodes=1000))
    assert opinion.move == ("take", way)
    assert opinion.score.goal == pytest.approx(goal)


def test_tree_search_knows_what_the_other_one_gets() -> None:
    """The move is proven, with the goal that best play of both brings."""
    machine = machine_of(DUEL)
    opinion = opinion_of(TreeSearch(machine, 0, threads=1, memory_bytes=1 << 22, seed=1), machine)
    assert (opinion.move, opinion.score.goal, opinion.final) == ("dear", 110, True)


def test_alpha_beta_goes_for_the_difference() -> None:
    """It proves the move with the greatest lead, on the game's own scale."""
    machine = machine_of(DUEL)
    opinion = opinion_of(alpha_beta(machine), machine, Limit(plies=4))
    assert (opinion.move, opinion.final) == ("dear", True)
    assert machine.goal_scale == GoalScale(-50, 150)
    assert opinion.score.goal == pytest.approx(50 + (110 - 25) / 2, abs=0.1)
