"""One goal policy: of several goal values the greatest counts, and no value is worth nothing to whoever reads goals."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from agent.search.engine import Engine, Limit
from agent.search.evaluation.sampling import in_lanes, make_sampling_workspace, packed_states, play_batch
from agent.search.montecarlo import MonteCarlo
from agent.search.planning.plan import Known, Plan
from agent.search.planning.planner import Planner
from agent.search.planning.rollouts import Rollouts
from agent.search.tree.breadth import BreadthFirst
from agent.search.tree.engine import TreeSearch
from games.machine import StateMachine, Term, points
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

ALONE = "(role solo)" + ENDS
WATCHED = "(role solo) (role watcher) (legal watcher noop) (goal watcher 10) (goal watcher 20)" + ENDS
"""With a second role, which always has two values."""

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

CHOICES = ("neither", "one", "both")


@pytest.fixture(scope="module", autouse=True)
def _kernels(tree_kernels: None, alpha_beta_kernels: None) -> None:
    """Compile the kernels before they are used."""


def play_line(machine: StateMachine, choice: str) -> list[int | None]:
    """The goals at the end of the match that begins with this choice."""
    others: list[Term] = ["noop"] * (len(machine.roles) - 1)
    state = machine.next(machine.initial(), [("take", choice), *others])
    state = machine.next(state, ["on", *others])
    assert machine.terminal(state)
    return [machine.goal(state, role) for role in range(len(machine.roles))]


@pytest.mark.parametrize("make", [interpreter_of, machine_of])
def test_machines_take_the_greatest_value(make: type[StateMachine]) -> None:
    """Interpreter and circuit; None for no value."""
    assert [play_line(make(ALONE), choice) for choice in CHOICES] == [[None], [40], [80]]
    assert [play_line(make(WATCHED), choice) for choice in CHOICES] == [[None, 20], [40, 20], [80, 20]]


def test_no_goal_is_no_points() -> None:
    """Where a number is needed it is 0."""
    assert [points(goal) for goal in (None, 0, 40)] == [0, 0, 40]


def test_playouts_add_up_the_greatest_values() -> None:
    """An end without a value adds nothing."""
    result = machine_of(WATCHED).random_playouts(playouts=3000, seed=1)
    total, squares = result.goal_sums[0], result.goal_squares[0]
    both = (squares - 40 * total) / 3200
    one = (total - 80 * both) / 40
    assert [one, both] == pytest.approx([result.playouts / 3] * 2, rel=0.15)
    assert (result.goal_sums[1], result.goal_squares[1]) == (20 * result.playouts, 400 * result.playouts)


def test_samples_have_the_greatest_values() -> None:
    """What the judge learns from are all matches that came to an end; with 0 for a role without a goal."""
    machine = machine_of(WATCHED)
    workspace = make_sampling_workspace(machine.programs, 5)
    usable, ended, _ = play_batch(machine.programs, workspace, machine.pack(machine.initial())[None, :], NOT_STOPPED)
    assert in_lanes(int(usable)).all()
    assert in_lanes(int(ended)).all()
    for words, goals in zip(packed_states(workspace.drawn[0]), workspace.goals, strict=True):
        facts = machine.facts(machine.unpack(words))
        value = 0.4 if ("took", "one") in facts else 0.8 if ("took", "both") in facts else 0.0
        assert goals.tolist() == pytest.approx([value, 0.2])


def test_the_tree_backs_up_the_greatest_value() -> None:
    """The move with two values is proven best."""
    machine = machine_of(WATCHED)
    opinion = opinion_of(TreeSearch(machine, 0, threads=1, memory_bytes=1 << 22, seed=1), machine)
    assert (opinion.move, opinion.score.goal, opinion.final) == (("take", "both"), pytest.approx(80.0), True)


def test_breadth_first_search_finds_the_greatest_value() -> None:
    """Where no end has a value, one is still found, worth nothing."""
    for text, best in ((ALONE, 80), (re.sub(r"\(took \w+\)\)\)", "(step 0)))", ALONE), 0)):
        machine = machine_of(text)
        breadth = BreadthFirst(machine, 1 << 20)
        breadth.begin(machine.initial())
        breadth.run(NOT_STOPPED, 1 << 20)
        assert breadth.complete
        assert breadth.best_goal == best


def test_planners_find_the_greatest_value() -> None:
    """Formulas and rollouts, whose search ends with it."""
    machine = machine_of(ALONE)
    start = machine.initial()
    for found in (Planner(machine).plans(start, Known(), lambda: False), Rollouts(machine).plans(start, Known())):
        plans = [one for one in found if isinstance(one, Plan)]
        assert (machine.game.moves[0][plans[-1].moves[0]], plans[-1].goal) == (("take", "both"), 80)


@pytest.mark.parametrize(
    "make",
    [
        lambda machine: MonteCarlo(machine, 0),
        lambda machine: TreeSearch(machine, 0, threads=1, memory_bytes=1 << 22, seed=1),
        alpha_beta,
    ],
)
def test_a_win_that_is_a_loss_too_is_played_for(make: Callable[[StateMachine], Engine]) -> None:
    """Where the rules give the winner 100 and 0, every engine prefers the win to a draw."""
    machine = machine_of(SLIP)
    engine = make(machine)
    assert opinion_of(engine, machine, Limit(nodes=1000)).move == "line"


def test_monte_carlo_counts_the_greatest_value() -> None:
    """Also on the interpreter; the mean of each move is its goal."""
    machine = interpreter_of(ALONE)
    engine = MonteCarlo(machine, 0)
    opinion = opinion_of(engine, machine, Limit(nodes=1000))
    assert opinion.move == ("take", "both")
    assert opinion.score.goal == pytest.approx(80.0)
    root = engine._root
    assert root is not None
    goals = {("take", "neither"): 0, ("take", "one"): 40, ("take", "both"): 80}
    assert root.totals[0] == pytest.approx(
        [goals[move] * visits for move, visits in zip(root.moves[0], root.visits_of[0], strict=True)]
    )
