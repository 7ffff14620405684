"""The engine of one-player games: plans found by another process are played out."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from agent.search.engine import UNLIMITED, Opinion
from agent.search.planning.engine import PuzzleSearch, make_engine
from agent.search.registry import engines_for
from games import rulesheets
from games.gdl.running.machine import CircuitMachine
from tests.agent.search.planning.puzzles import LOCK, latin_square
from tests.circuits import Compile
from tests.processes import PATIENCE


def _engine(machine: CircuitMachine) -> PuzzleSearch:
    return PuzzleSearch(machine, 0, threads=1, memory_bytes=1 << 22, seed=1)


def _think(engine: PuzzleSearch) -> Opinion:
    """The last opinion of an engine that thinks until it has a proof."""
    opinions: list[Opinion] = []
    stop = np.zeros(1, np.uint8)
    timer = threading.Timer(PATIENCE, lambda: stop.fill(1))
    timer.start()
    engine.think(stop, opinions.append, UNLIMITED)
    timer.cancel()
    return opinions[-1]


def test_plays_a_plan_to_its_end(machine_of: Compile) -> None:
    """The plan is proven at once, and at every later turn."""
    machine = machine_of(latin_square(5))
    engine = _engine(machine)
    state = machine.initial()
    engine.begin(state)
    while not machine.terminal(state):
        opinion = _think(engine)
        assert opinion.final
        assert opinion.score.goal == 100
        state = machine.next(state, [opinion.move])
        engine.advance((opinion.move,), state)
    engine.close()
    assert machine.goal(state, 0) == 100


def test_a_known_plan_is_played_without_a_search(machine_of: Compile) -> None:
    """The next move is there at once, however long a tree search takes to begin."""
    machine = machine_of(latin_square(5))
    engine = _engine(machine)
    engine.begin(machine.initial())
    move = _think(engine).move
    engine.advance((move,), machine.next(machine.initial(), [move]))
    before = engine.playouts
    assert _think(engine).final
    engine.close()
    assert engine.playouts == before


def test_plans_anew_where_the_match_leaves_the_plan(machine_of: Compile) -> None:
    """A move that was not the engine's makes another plan necessary."""
    machine = machine_of(latin_square(5))
    engine = _engine(machine)
    state = machine.initial()
    engine.begin(state)
    _think(engine)
    other = ("put", "5", "5", "1") if _think(engine).move != ("put", "5", "5", "1") else ("put", "5", "5", "2")
    state = machine.next(state, [other])
    engine.advance((other,), state)
    opinion = _think(engine)
    engine.close()
    assert opinion.final
    assert opinion.score.goal == 100


def test_does_not_think_on_where_nothing_better_is_possible(machine_of: Compile) -> None:
    """A proof from the planner ends the search, too."""
    machine = machine_of(LOCK)
    engine = _engine(machine)
    engine.begin(machine.initial())
    opinion = _think(engine)
    engine.close()
    assert opinion.final
    assert opinion.score.goal == 20


def test_goes_on_without_its_planner(machine_of: Compile) -> None:
    """A planner that dies takes nothing with it but its plans."""
    machine = machine_of(LOCK)
    engine = _engine(machine)
    engine.begin(machine.initial())
    engine._planner._child.end()
    opinion = _think(engine)
    assert opinion.move in machine.legal(machine.initial(), 0)
    assert opinion.score.goal == 20


@pytest.mark.parametrize(("game", "one_player"), [("eight_puzzle", True), ("tic_tac_toe", False)])
def test_only_one_player_games_are_planned(machine_of: Compile, game: str, one_player: bool) -> None:
    """All other games have the general engine."""
    machine = machine_of(rulesheets.text(game))
    assert (make_engine(machine, 0) is not None) is one_player
    engine = next(iter(engines_for(machine, 0)))
    assert isinstance(engine, PuzzleSearch) is one_player
