"""Goals: of several values the greatest counts, none is worth nothing, and any integer is one."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from agent.search.engine import Engine, Limit
from agent.search.montecarlo import MonteCarlo
from agent.search.planning.engine import PuzzleSearch
from agent.search.planning.plan import Bound, Known, Plan
from agent.search.planning.planner import Planner
from agent.search.planning.rollouts import Rollouts
from agent.search.tree.breadth import BreadthFirst
from agent.search.tree.engine import TreeSearch
from games.machine import GoalScale, StateMachine, Term, points
from tests.agent.search.thinking import NOT_STOPPED, alpha_beta, opinion_of
from tests.circuits import machine_of
from tests.matches import interpreter_of

ENDS = """
(init (step 0)) (succ 0 1) (succ 1 2)
(take neither) (take one) (take both)
(<= (legal solo (take ?m)) (true (step 0)) (take ?m))
(<= (legal solo on) (true (step 1)))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= (next (took ?m)) (does solo (take ?m)))
(<= (next (took ?m)) (true (took ?m)))
(<= terminal (true (step 2)))
(<= (goal solo 30) (true (took both)))
(<= (goal solo 40) (true (took one)))
(<= (goal solo 80) (true (took both)))
"""
"""Three ends, in which no goal value, the value 40, and the values 30 and 80 are true for the first role."""

SEVERAL = "(role solo)" + ENDS
WATCHED = "(role solo) (role watcher) (legal watcher noop) (goal watcher 10) (goal watcher 20)" + ENDS
"""With a second role, which always has two values."""

WIDE = """
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

DEBTS = WIDE.replace("75", "-5").replace("120", "-7").replace("150", "-40")
"""All goals are negative, so no goal at all is the best result."""

SLIP = """
(role black) (role red) (init open)
(legal red noop) (legal black settle) (legal black line)
(<= (next settled) (does black settle)) (<= (next (line black)) (does black line)) (<= (next over) (true open))
(<= terminal (true over))
(<= (goal ?r 50) (role ?r) (true settled))
(<= (goal red 0) (true (line black))) (<= (goal red 100) (true (line red)))
(<= (goal black 100) (true (line black))) (<= (goal black 0) (not (true (line red))) (not (true settled)))
"""
"""A win of black has the goals 100 and 0: the 0 asks for `(not (line red))` where it means `(not (line black))`."""

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

BEST = [(SEVERAL, ("take", "both"), 80), (WIDE, ("take", "best"), 150), (DEBTS, ("take", "none"), 0)]
"""Sheets for one player, with its best move and goal."""

Make = Callable[[str], StateMachine]


def tree_search(machine: StateMachine) -> TreeSearch:
    """A tree search for the first role."""
    return TreeSearch(machine, 0, threads=1, memory_bytes=1 << 22, seed=1)  # type: ignore[arg-type]


def goals_of(machine: StateMachine, choice: str) -> list[int | None]:
    """The goals at the end of the match that begins with this choice."""
    others: list[Term] = ["noop"] * (len(machine.roles) - 1)
    state = machine.next(machine.initial(), [("take", choice), *others])
    state = machine.next(state, ["on", *others])
    assert machine.terminal(state)
    return [machine.goal(state, role) for role in range(len(machine.roles))]


@pytest.mark.parametrize("make", [interpreter_of, machine_of])
@pytest.mark.parametrize(
    ("text", "goals"),
    [
        (SEVERAL, {"neither": [None], "one": [40], "both": [80]}),
        (WATCHED, {"neither": [None, 20], "one": [40, 20], "both": [80, 20]}),
        (WIDE, {"bad": [-20], "fair": [75], "good": [120], "best": [150], "none": [None]}),
    ],
)
def test_machines_tell_the_greatest_value(make: Make, text: str, goals: dict[str, list[int | None]]) -> None:
    """Interpreter and circuit; None for no value, which is no points."""
    assert {choice: goals_of(make(text), choice) for choice in goals} == goals
    assert [points(goal) for goal in (None, 0, 40, -5)] == [0, 0, 40, -5]


def test_the_scale_keeps_the_order() -> None:
    """Worths are from 0 to 100, in the order of the goals, and tell the goals; ordinary goals are their own worths."""
    scale = GoalScale().including([-20, 150])
    worths = [scale.worth(goal) for goal in (-20, 0, 75, 120, 150)]
    assert worths == sorted(worths)
    assert (worths[0], worths[-1]) == (0, 100)
    assert [scale.goal(worth) for worth in worths] == [-20, 0, 75, 120, 150]
    assert all(GoalScale().worth(goal) == GoalScale().goal(goal) == goal for goal in range(101))


@pytest.mark.parametrize(("text", "total"), [(WATCHED, 40 + 80), (WIDE, 195)])
def test_playouts_add_up_the_greatest_values(text: str, total: float) -> None:
    """An end without a value adds nothing; negative ones count."""
    result = machine_of(text).random_playouts(playouts=3000, seed=1)
    assert result.goal_sums[0] / result.playouts == pytest.approx(total / 3, abs=5)


@pytest.mark.parametrize(
    ("text", "best"), [(SEVERAL, 80), (re.sub(r"\(took \w+\)\)\)", "(step 0)))", SEVERAL), 0), (WIDE, 150), (DEBTS, 0)]
)
def test_enumeration_finds_the_highest_goal(text: str, best: int) -> None:
    """Where no end has a value, one is still found, worth nothing."""
    machine = machine_of(text)
    breadth = BreadthFirst(machine, 1 << 20)
    breadth.begin(machine.initial())
    breadth.run(NOT_STOPPED, 1 << 20)
    assert breadth.complete
    assert machine.goal_scale.goal(breadth.best_goal) == best


@pytest.mark.parametrize(("text", "move", "goal"), BEST)
def test_planners_find_the_highest_goal(text: str, move: Term, goal: int) -> None:
    """Formulas and rollouts, whose search ends with it; a bound never excludes the points of an end without a goal."""
    machine = machine_of(text)
    start = machine.initial()
    planned = list(Planner(machine).plans(start, Known(), lambda: False))
    assert all(bound.goal >= goal for bound in planned if isinstance(bound, Bound))
    for found in (planned, Rollouts(machine).plans(start, Known())):
        plans = [(machine.game.moves[0][one.moves[0]], one.goal) for one in found if isinstance(one, Plan)]
        assert text == DEBTS or plans[-1] == (move, goal)


@pytest.mark.parametrize("make", [TreeSearch, PuzzleSearch])
@pytest.mark.parametrize(("text", "move", "goal"), BEST)
def test_searches_prove_the_highest_goal(text: str, move: Term, goal: int, make: Callable[..., Engine]) -> None:
    """It is told as the rules count."""
    machine = machine_of(text)
    opinion = opinion_of(make(machine, 0, threads=1, memory_bytes=1 << 22, seed=1), machine)
    assert (opinion.move, opinion.score.goal, opinion.final) == (move, pytest.approx(goal), True)


@pytest.mark.parametrize("make", [interpreter_of, machine_of])
@pytest.mark.parametrize(("text", "move", "goal"), BEST)
def test_monte_carlo_goes_for_the_highest_goal(text: str, move: Term, goal: int, make: Make) -> None:
    """The mean of the best move is its goal."""
    machine = make(text)
    opinion = opinion_of(MonteCarlo(machine, 0), machine, Limit(nodes=1000))
    assert opinion.move == move
    assert opinion.score.goal == pytest.approx(goal)


@pytest.mark.parametrize("make", [lambda machine: MonteCarlo(machine, 0), tree_search, alpha_beta])
def test_a_win_that_is_a_loss_too_is_played_for(make: Callable[[StateMachine], Engine]) -> None:
    """Where the rules give the winner 100 and 0, every engine prefers the win to a draw."""
    machine = machine_of(SLIP)
    assert opinion_of(make(machine), machine, Limit(nodes=1000)).move == "line"


def test_what_the_other_one_gets_counts() -> None:
    """Tree search proves the goal that best play of both brings, alpha-beta the greatest lead on the game's scale."""
    machine = machine_of(DUEL)
    assert machine.goal_scale == GoalScale(-50, 150)
    for engine, goal in ((tree_search(machine), 110), (alpha_beta(machine), 50 + (110 - 25) / 2)):
        opinion = opinion_of(engine, machine, Limit(plies=4))
        assert (opinion.move, opinion.final) == ("dear", True)
        assert opinion.score.goal == pytest.approx(goal, abs=0.1)
