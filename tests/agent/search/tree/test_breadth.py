"""Breadth-first search of one-player games."""

from __future__ import annotations

import threading

import numpy as np

from agent.search.engine import Opinion
from agent.search.tree.breadth import BreadthFirst
from agent.search.tree.engine import TreeSearch, warm_kernels
from games import rulesheets
from games.gdl.compile import compile_rules
from games.gdl.rules.check import check
from games.gdl.running.machine import CircuitMachine
from protocol import kif

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
"""A walk on a line that ends at 3 or after six steps; 60 is the best there is, though the sheet names no 100."""


def machine_of(text: str) -> CircuitMachine:
    """A compiled sheet."""
    return compile_rules(check(kif.read_rulesheet(text)))


def test_finds_the_shortest_way_to_the_best_goal() -> None:
    """All reachable states are seen once, and the line really reaches the goal it promises."""
    machine = machine_of(COIN_ROW)
    breadth = BreadthFirst(machine, 1 << 20)
    breadth.begin(machine.initial())
    breadth.run(NOT_STOPPED, 1 << 20)
    assert breadth.complete
    assert breadth.best_goal == 60
    moves = [machine.game.moves[0][index] for index in breadth.best_line()]
    assert moves == ["right", "right", "right"]


def test_stops_where_memory_ends() -> None:
    """A store that is too small is filled, and that is said."""
    machine = machine_of(rulesheets.text("eight_puzzle"))
    breadth = BreadthFirst(machine, 1)
    breadth.begin(machine.initial())
    breadth.run(NOT_STOPPED, 1 << 20)
    assert breadth.full
    assert not breadth.complete


def test_the_engine_plays_the_line_that_was_found() -> None:
    """Proven, and followed to the end without searching again."""
    machine = machine_of(COIN_ROW)
    warm_kernels(machine)
    engine = TreeSearch(machine, 0, threads=1, memory_bytes=1 << 22, seed=1)
    state = machine.initial()
    engine.begin(state)
    while not machine.terminal(state):
        opinions: list[Opinion] = []
        stop = np.zeros(1, np.uint8)
        timer = threading.Timer(20.0, stop.fill, (1,))
        timer.start()
        engine.think(stop, opinions.append, None)
        timer.cancel()
        assert opinions[-1].proven
        state = machine.next(state, [opinions[-1].move])
        engine.advance((opinions[-1].move,), state)
    assert machine.goal(state, 0) == 60
