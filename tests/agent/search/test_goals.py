"""One goal policy: what derives no goal value, or several at once, is worth nothing to whoever reads goals."""

from __future__ import annotations

import numpy as np
import pytest

from agent.search.engine import UNLIMITED, Engine, Opinion
from agent.search.evaluation.sampling import in_lanes, make_sampling_workspace, packed_states, play_batch
from agent.search.montecarlo import MonteCarlo
from agent.search.tree.breadth import BreadthFirst
from agent.search.tree.engine import TreeSearch, warm_kernels
from games.gdl.compile import warm_kernels as warm_circuits
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules, check
from games.machine import StateMachine, Term, points
from protocol import kif
from tests.agent.search.stopping import StopWhen
from tests.circuits import machine_of

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

CHOICES = ("neither", "one", "both")
NOT_STOPPED = np.zeros(1, np.uint8)


def rules_of(text: str) -> CheckedRules:
    """A sheet's checked rules."""
    return check(kif.read_rulesheet(text))


@pytest.fixture(scope="module", autouse=True)
def _kernels() -> None:
    """Compile the kernels before they are used."""
    warm_kernels(warm_circuits())


def play_line(machine: StateMachine, choice: str) -> list[int | None]:
    """The goals at the end of the match that begins with this choice."""
    others: list[Term] = ["noop"] * (len(machine.roles) - 1)
    state = machine.next(machine.initial(), [("take", choice), *others])
    state = machine.next(state, ["on", *others])
    assert machine.terminal(state)
    return [machine.goal(state, role) for role in range(len(machine.roles))]


def last_opinion(engine: Engine, machine: StateMachine, reports: int | None = None) -> Opinion:
    """After thinking about the first state until the engine stops by itself, or has reported that often."""
    opinions: list[Opinion] = []
    engine.begin(machine.initial())
    with StopWhen(lambda: reports is not None and len(opinions) >= reports) as stop:
        engine.think(stop.flag, opinions.append, UNLIMITED)
    return opinions[-1]


@pytest.mark.parametrize("make", [lambda text: Interpreter(rules_of(text)), machine_of])
def test_machines_have_no_goal(make: type[StateMachine]) -> None:
    """Interpreter and circuit: None for no value and for several."""
    assert [play_line(make(ALONE), choice) for choice in CHOICES] == [[None], [40], [None]]
    assert [play_line(make(WATCHED), choice) for choice in CHOICES] == [[None, None], [40, None], [None, None]]


def test_no_goal_is_no_points() -> None:
    """Where a number is needed it is 0."""
    assert [points(goal) for goal in (None, 0, 40)] == [0, 0, 40]


def test_playouts_count_no_points() -> None:
    """Only the end with one value adds to the sums."""
    result = machine_of(WATCHED).random_playouts(playouts=3000, seed=1)
    ends = result.goal_sums[0] / 40
    assert ends == pytest.approx(result.playouts / 3, rel=0.15)
    assert result.goal_squares.tolist() == [1600 * ends, 0]
    assert result.goal_sums[1] == 0


def test_samples_count_no_points() -> None:
    """What the judge learns from are all matches that came to an end; with 0 for a role without a goal."""
    machine = machine_of(WATCHED)
    workspace = make_sampling_workspace(machine.programs, 5)
    usable, ended, _ = play_batch(machine.programs, workspace, machine.pack(machine.initial())[None, :], NOT_STOPPED)
    assert in_lanes(int(usable)).all()
    assert in_lanes(int(ended)).all()
    for words, goals in zip(packed_states(workspace.drawn[0]), workspace.goals, strict=True):
        took_one = ("took", "one") in machine.facts(machine.unpack(words))
        assert goals.tolist() == pytest.approx([0.4 if took_one else 0.0, 0.0])


def test_the_tree_backs_up_no_points() -> None:
    """The move with one value is proven best, though the sheet names a higher one."""
    machine = machine_of(WATCHED)
    opinion = last_opinion(TreeSearch(machine, 0, threads=1, memory_bytes=1 << 22, seed=1), machine)
    assert (opinion.move, opinion.score.goal, opinion.final) == (("take", "one"), pytest.approx(40.0), True)


def test_breadth_first_search_counts_no_points() -> None:
    """The best match is the one with one value; where none has one, an end is still found, worth nothing."""
    for text, best in (
        (ALONE, 40),
        (ALONE.replace("goal solo 40", "goal solo 30").replace("took one", "took both"), 0),
    ):
        machine = machine_of(text)
        breadth = BreadthFirst(machine, 1 << 20)
        breadth.begin(machine.initial())
        breadth.run(NOT_STOPPED, 1 << 20)
        assert breadth.complete
        assert breadth.best_goal == best


def test_monte_carlo_counts_no_points() -> None:
    """Also on the interpreter; the mean of the best move comes near its goal, and others are worth nothing."""
    machine = Interpreter(rules_of(ALONE))
    engine = MonteCarlo(machine, 0)
    opinion = last_opinion(engine, machine, 1000)
    assert opinion.move == ("take", "one")
    assert opinion.score.goal == pytest.approx(40.0)
    root = engine._root
    assert root is not None
    assert sum(sum(totals) for totals in root.totals) == pytest.approx(
        40 * root.visits_of[0][root.moves[0].index(opinion.move)]
    )
