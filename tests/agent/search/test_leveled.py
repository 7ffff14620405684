"""Levels: the moves of a match do not depend on the speed of the machine."""

from __future__ import annotations

import numpy as np
import pytest

from agent.search.engine import Limit, Opinion, consider
from agent.search.leveled import LevelSearch
from agent.search.levels import LEVELS, Level, level_of
from games.machine import StateMachine, Term
from tests.agent.search.stopping import StopWhen, never
from tests.circuits import Compile
from tests.matches import own_interpreter
from tests.processes import throttled

PLIES = 12
"""Plies that are compared."""


def moves_of(machine: StateMachine, level: Level) -> list[tuple[Term, ...]]:
    """The first joint moves of a match in which all play at a level."""
    state = machine.initial()
    engines = [LevelSearch(machine, role, level) for role in range(len(machine.roles))]
    for engine in engines:
        engine.begin(state)
    moves: list[tuple[Term, ...]] = []
    while len(moves) < PLIES and not machine.terminal(state):
        legal = [machine.legal(state, role) for role in range(len(machine.roles))]
        joint_move = tuple(
            consider(engine, options, Limit()).move for engine, options in zip(engines, legal, strict=True)
        )
        state = machine.next(state, joint_move)
        moves.append(joint_move)
        for engine in engines:
            engine.advance(joint_move, state)
    return moves


@pytest.mark.parametrize("game", ["connect_four", "reversi", "three_way_line", "rock_paper_scissors", "eight_puzzle"])
def test_a_throttled_process_plays_the_same_match(own: Compile, game: str) -> None:
    """Also with two busy processes on the same core, each move of a level is the same."""
    level = Level(nodes=600)
    alone = moves_of(own(game), level)
    with throttled():
        assert moves_of(own(game), level) == alone


def test_a_level_without_a_circuit_plays_the_same_match_each_time() -> None:
    """Monte-Carlo search on the interpreter has the level's seed, and ends by its number of nodes."""
    machine = own_interpreter("tic_tac_toe")
    assert moves_of(machine, Level(nodes=20)) == moves_of(machine, Level(nodes=20))


def test_the_turn_is_over_when_the_nodes_are_used_up(own: Compile) -> None:
    """The last opinion is final, long before any clock, and was found by about the level's number of playouts."""
    machine = own("reversi")
    engine = LevelSearch(machine, 0, LEVELS["normal"])
    engine.begin(machine.initial())
    opinions: list[Opinion] = []
    with StopWhen(never) as stop:
        engine.prepare(stop.flag, opinions.append, Limit(30.0))
        assert not opinions
        engine.think(stop.flag, opinions.append, Limit(30.0))
    assert opinions[-1].final
    assert LEVELS["normal"].nodes <= opinions[-1].info["playouts"] <= 1.5 * LEVELS["normal"].nodes  # type: ignore[operator]


def test_a_player_is_named_after_its_level_or_its_number_of_nodes() -> None:
    """`agent:easy` and `agent:1024` are levels; other names are not."""
    assert level_of("agent:easy") == LEVELS["easy"]
    assert level_of("agent:1024") == Level(1024)
    assert [level_of(name) for name in ("agent", "agent:", "agent:hard", "agent:0", "easy", "random")] == [None] * 6


def test_an_only_move_is_not_thought_about(own: Compile) -> None:
    """It is answered at once: how far a search came until the next turn would depend on time."""
    machine = own("reversi")
    engine = LevelSearch(machine, 1, Level(nodes=100))
    engine.begin(machine.initial())
    opinions: list[Opinion] = []
    engine.think(np.zeros(1, np.uint8), opinions.append, Limit(30.0))
    assert [(opinion.move, opinion.final, opinion.info) for opinion in opinions] == [("noop", True, {})]
