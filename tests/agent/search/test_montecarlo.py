"""Monte-Carlo search on any machine."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from agent.search.engine import Opinion
from agent.search.montecarlo import MonteCarlo
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from games.machine import StateMachine
from protocol.kif import read_rulesheet

TWO_STEPS = """
(role solo)
(init start)
(<= (legal solo left) (true start))
(<= (legal solo right) (true start))
(<= (legal solo on) (not (true start)))
(<= (next (went ?d)) (true start) (does solo ?d))
(<= (next (went ?d)) (true (went ?d)))
(<= (next done) (not (true start)))
(<= terminal (true done))
(<= (goal solo 100) (true (went right)))
(<= (goal solo 20) (true (went left)))
"""
"""One choice between a good and a bad end; then a forced move."""

MATCHING = """
(role even) (role odd)
(init first)
(side heads) (side tails)
(<= (legal ?r ?s) (role ?r) (side ?s))
(<= (next (shown ?r ?s)) (does ?r ?s))
(<= terminal (not (true first)))
(<= same (true (shown even ?s)) (true (shown odd ?s)))
(<= (goal even 100) same)
(<= (goal even 0) (not same))
(<= (goal odd 100) (not same))
(<= (goal odd 0) same)
"""
"""Both choose at once."""


def machine(rules: str) -> StateMachine:
    """The rules' interpreter."""
    return Interpreter(check(read_rulesheet(rules)))


def think(engine: MonteCarlo, seconds: float) -> list[Opinion]:
    """All opinions of an engine that thinks for some seconds, or until it stops by itself."""
    stop = np.zeros(1, np.uint8)
    timer = threading.Timer(seconds, stop.fill, (1,))
    timer.start()
    opinions: list[Opinion] = []
    engine.think(stop, opinions.append, seconds)
    timer.cancel()
    return opinions


def test_better_end_is_found() -> None:
    """The move to the better goal is preferred, with its value."""
    game = machine(TWO_STEPS)
    engine = MonteCarlo(game, 0)
    engine.begin(game.initial())
    best = think(engine, 0.2)[-1]
    assert best.move == "right"
    assert best.value == pytest.approx(100)


def test_forced_move_is_proven() -> None:
    """With one legal move there is nothing to think about."""
    game = machine(TWO_STEPS)
    engine = MonteCarlo(game, 0)
    engine.begin(game.initial())
    engine.advance(("left",), game.next(game.initial(), ("left",)))
    assert think(engine, 5.0) == [Opinion("on", proven=True)]


def test_tree_is_kept_when_the_match_goes_on() -> None:
    """What was searched below the move that is made still counts."""
    game = machine(TWO_STEPS)
    engine = MonteCarlo(game, 0)
    engine.begin(game.initial())
    think(engine, 0.2)
    assert engine._root is not None
    child = next(child for child in engine._root.children.values() if child.visits)
    engine.advance(("right",), game.next(game.initial(), ("right",)))
    assert engine._root.visits > 0
    assert child.visits > 0


def test_simultaneous_moves_are_played() -> None:
    """Where both choose at once, neither side is sure of anything."""
    game = machine(MATCHING)
    for role in range(2):
        engine = MonteCarlo(game, role)
        engine.begin(game.initial())
        best = think(engine, 0.2)[-1]
        assert best.move in ("heads", "tails")
        assert best.value is not None
        assert 20 < best.value < 80


def test_search_stops_when_it_is_told() -> None:
    """A raised stop flag ends the search at once."""
    game = machine(MATCHING)
    engine = MonteCarlo(game, 0)
    engine.begin(game.initial())
    begun = time.monotonic()
    think(engine, 0.1)
    assert time.monotonic() - begun < 0.3


def test_search_stops_in_the_middle_of_a_step() -> None:
    """A machine that would take minutes for one step is interrupted, and plays on afterwards."""
    digits = " ".join(f"(digit {i})" for i in range(10))
    names = [f"?{i}" for i in range(9)]
    body = " ".join(f"(digit {name})" for name in names)
    game = machine(
        f"(role solo) (init start) {digits} (<= (legal solo left) (true start)) (<= (legal solo right) (true start))"
        f"(<= (legal solo (all {' '.join(names)})) (not (true start)) {body}) (<= (next later) (true start))"
        "(<= terminal (true never)) (goal solo 50)"
    )
    engine = MonteCarlo(game, 0)
    engine.begin(game.initial())
    begun = time.monotonic()
    assert think(engine, 0.1)[-1].move in ("left", "right")
    assert time.monotonic() - begun < 1.0
    assert game.legal(game.initial(), 0) == ["left", "right"]
