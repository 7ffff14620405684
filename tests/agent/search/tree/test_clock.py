"""Fluents that count moves, and their use in the enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from agent.search.tree.breadth import BreadthFirst
from agent.search.tree.clock import clock_fluents
from tests.circuits import Compile

RING = """
(role r) (init (at 0)) (init (step 0)) (init (late no))
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (succ 7 8)
(ring 0 1) (ring 1 2) (ring 2 3) (ring 3 4) (ring 4 0)
(legal r on) (legal r back) (legal r stay)
(<= (next (at ?y)) (does r on) (true (at ?x)) (ring ?x ?y))
(<= (next (at ?x)) (does r back) (true (at ?y)) (ring ?x ?y))
(<= (next (at ?x)) (does r stay) (true (at ?x)))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= (next (late no)) (true (late no)) (not (true (step 5))))
(<= (next (late yes)) (true (step 5)))
(<= (next (late yes)) (true (late yes)))
(<= terminal (true (step 8)))
(<= (goal r 100) (true (at 3)) (true (step 8)))
(<= (goal r 0) (not (true (at 3))))
"""
"""Eight steps on a ring of five: the time decides, not only the earliest visit of a place."""

CALLED = RING.replace("(legal r stay)", "(<= (legal r stay) (true (at 4)))").replace(
    "(true (step ?x)) (succ", "(does r ?m) (true (step ?x)) (succ"
)
"""The counter names the move, and one may stay at 4 only."""


@pytest.mark.parametrize("rules", [RING, CALLED])
def test_what_depends_on_the_choice_of_moves_is_no_clock(machine_of: Compile, rules: str) -> None:
    """The counter and everything computed from it alone are a clock; the place is not."""
    machine = machine_of(rules)
    found = {machine.game.fluents[f] for f in np.flatnonzero(clock_fluents(machine.programs))}
    assert found == {*(("step", str(n)) for n in range(9)), ("late", "no"), ("late", "yes")}


@pytest.mark.parametrize("rules", [RING, CALLED])
def test_times_are_told_apart_in_the_end(machine_of: Compile, rules: str) -> None:
    """First each place is visited once, in vain; then all states are seen, and the goal is found."""
    machine = machine_of(rules)
    breadth = BreadthFirst(machine, 1 << 20)
    breadth.begin(machine.initial())
    stop = np.zeros(1, np.uint8)
    breadth.run(stop, 1)
    breadth.run(stop, 1)
    assert not breadth.complete
    for _ in range(100):
        breadth.run(stop, 1)
    assert breadth.complete
    assert breadth.best_goal == 100
    state = machine.initial()
    for move in breadth.best_line():
        state = machine.next(state, [machine.game.moves[0][move]])
    assert machine.goal(state, 0) == 100
