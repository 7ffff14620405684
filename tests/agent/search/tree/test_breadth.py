"""Breadth-first search of one-player games."""

from __future__ import annotations

import numpy as np

from agent.search.tree.breadth import BreadthFirst
from agent.search.tree.engine import TreeSearch
from agent.search.tree.store import N_PLAYOUTS
from tests.circuits import Compile

NOT_STOPPED = np.zeros(1, np.uint8)

COIN_ROW = """
(role r) (init (at 0)) (init (step 0))
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6)
(<= (legal r right) (true (at ?x)) (succ ?x ?y))
(<= (legal r left) (true (at ?y)) (succ ?x ?y))
(<= (next (at ?y)) (does r right) (true (at ?x)) (succ ?x ?y))
(<= (next (at ?x)) (does r left) (true (at ?y)) (succ ?x ?y))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= terminal (true (step 6)))
(<= terminal (true (at 3)))
(<= (goal r 60) (true (at 3)))
(<= (goal r 10) (not (true (at 3))))
"""
"""A walk on a line that ends at 3 or after six steps; the best goal is 60, as the sheet names no 100."""


def test_finds_the_shortest_way_to_the_best_goal(machine_of: Compile) -> None:
    """All reachable states are seen once, and the line reaches its goal."""
    machine = machine_of(COIN_ROW)
    breadth = BreadthFirst(machine, 1 << 20)
    breadth.begin(machine.initial())
    breadth.run(NOT_STOPPED, 1 << 20)
    assert breadth.complete
    assert breadth.best_goal == 60
    moves = [machine.game.moves[0][index] for index in breadth.best_line()]
    assert moves == ["right", "right", "right"]


WIDE = 200

HOURGLASS = "\n".join(
    [
        "(role r) (init (at top 0))",
        *(f"(index {i})" for i in range(WIDE)),
        "(spreads top a) (spreads waist c) (leads a b) (leads c d) (gathers b waist) (gathers d end)",
        "(<= (legal r (spread ?i)) (true (at ?k 0)) (spreads ?k ?l) (index ?i))",
        "(<= (legal r on) (true (at ?k ?i)) (leads ?k ?l))",
        "(<= (legal r on) (true (at ?k ?i)) (gathers ?k ?l))",
        "(<= (next (at ?l ?i)) (does r (spread ?i)) (true (at ?k 0)) (spreads ?k ?l))",
        "(<= (next (at ?l ?i)) (does r on) (true (at ?k ?i)) (leads ?k ?l))",
        "(<= (next (at ?l 0)) (does r on) (true (at ?k ?i)) (gathers ?k ?l))",
        "(<= terminal (true (at end 0))) (<= (goal r 100) (true (at end 0)))",
    ]
)
"""From one state to three batches of 64 and a few more, to as many others, to one; then again."""


def test_states_of_many_words_are_told_apart(machine_of: Compile) -> None:
    """Leftovers of fuller batches in the lanes do no harm."""
    machine = machine_of(HOURGLASS)
    assert machine.words > 4
    breadth = BreadthFirst(machine, 1 << 22)
    breadth.begin(machine.initial())
    assert not breadth.closing
    closing_at: list[int] = []
    while not breadth.complete:
        breadth.run(NOT_STOPPED, 1)
        if breadth.closing:
            closing_at.append(breadth.states)
    assert breadth.states == 4 * WIDE + 3
    assert breadth.best_goal == 100
    assert closing_at[0] > WIDE


def test_stops_where_memory_ends(own: Compile) -> None:
    """A full store is reported."""
    machine = own("eight_puzzle")
    breadth = BreadthFirst(machine, 1)
    breadth.begin(machine.initial())
    breadth.run(NOT_STOPPED, 1 << 20)
    assert breadth.full
    assert not breadth.complete


def test_a_slow_tree_does_not_slow_the_enumeration_down(own: Compile) -> None:
    """A thread that alternates gives each its own budget."""
    machine = own("eight_puzzle")
    engine = TreeSearch(machine, 0, threads=1, memory_bytes=1 << 26, seed=1)
    engine.begin(machine.initial())
    scheduler = engine._scheduler
    scheduler._budgets[0], scheduler._enumeration_budget = 16, 4096
    for _ in range(2):
        scheduler.run_slice(0, NOT_STOPPED)
    assert scheduler._enumeration is not None
    assert scheduler._enumeration.states > 4096
    assert engine._tree.counts[N_PLAYOUTS] < 1024
