"""The engine of one-player games: plans found by another process are played out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from agent.search.planning.engine import PuzzleSearch, make_engine
from agent.search.registry import engines_for
from games import rulesheets
from games.gdl.running.machine import CircuitMachine
from tests.agent.search.planning.puzzles import LOCK, latin_square
from tests.agent.search.thinking import opinions_of
from tests.circuits import Compile

EngineOf = Callable[[CircuitMachine], PuzzleSearch]


@pytest.fixture
def engine_of() -> Iterator[EngineOf]:
    """Engines at the start of a match."""
    engines: list[PuzzleSearch] = []

    def make(machine: CircuitMachine) -> PuzzleSearch:
        engines.append(PuzzleSearch(machine, 0, threads=1, memory_bytes=1 << 22, seed=1))
        engines[-1].begin(machine.initial())
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


def test_plays_a_plan_to_its_end(machine_of: Compile, engine_of: EngineOf) -> None:
    """It is proven at every turn, and known without another search."""
    machine = machine_of(latin_square(5))
    engine, state, playouts = engine_of(machine), machine.initial(), []
    while not machine.terminal(state):
        opinion = opinions_of(engine)[-1]
        assert (opinion.final, opinion.score and opinion.score.goal) == (True, 100)
        playouts.append(engine.playouts)
        state = machine.next(state, [opinion.move])
        engine.advance((opinion.move,), state)
    assert machine.goal(state, 0) == 100
    assert playouts == playouts[:1] * 25


def test_plans_anew_where_the_match_leaves_the_plan(machine_of: Compile, engine_of: EngineOf) -> None:
    """A move that was not the engine's makes another plan necessary."""
    machine = machine_of(latin_square(5))
    engine = engine_of(machine)
    planned = opinions_of(engine)[-1].move
    other = ("put", "5", "5", "2" if planned == ("put", "5", "5", "1") else "1")
    engine.advance((other,), machine.next(machine.initial(), [other]))
    opinion = opinions_of(engine)[-1]
    assert (opinion.final, opinion.score and opinion.score.goal) == (True, 100)


@pytest.mark.parametrize("dies", [False, True])
def test_proof_or_not_the_best_line_is_played(machine_of: Compile, engine_of: EngineOf, dies: bool) -> None:
    """A proof from the planner ends the search; a planner that dies takes nothing with it but its plans."""
    machine = machine_of(LOCK)
    engine = engine_of(machine)
    if dies:
        engine._planner._child.end()
    opinion = opinions_of(engine)[-1]
    assert opinion.move in machine.legal(machine.initial(), 0)
    assert (opinion.final, opinion.score and opinion.score.goal) == (True, 20)


@pytest.mark.parametrize(("game", "one_player"), [("eight_puzzle", True), ("tic_tac_toe", False)])
def test_only_one_player_games_are_planned(machine_of: Compile, game: str, one_player: bool) -> None:
    """All other games have the general engine."""
    machine = machine_of(rulesheets.text(game))
    assert (make_engine(machine, 0) is not None) is one_player
    engine = next(iter(engines_for(machine, 0)))
    assert isinstance(engine, PuzzleSearch) is one_player
