"""Engines on lean games: they search fewer facts than the match has."""

from __future__ import annotations

import pytest

from agent.lab.tournament.engine_player import make_named_engine
from agent.search.engine import Engine, Limit, consider
from agent.search.lean import LeanSearch, on_lean
from agent.search.registry import engines_for
from agent.search.tree.engine import TreeSearch
from games.gdl.running.machine import CircuitMachine
from games.machine import StateMachine, Term
from tests.agent.search.teams import CannedTeam
from tests.agent.search.thinking import opinions_of, play_match
from tests.circuits import machine_with_lean
from tests.connection_games import labelled_hex

NODES = Limit(nodes=400)


@pytest.fixture
def machine() -> CircuitMachine:
    return machine_with_lean(labelled_hex())


@on_lean
def small_search(machine: StateMachine, role: int) -> Engine:
    """A search with little memory, the same each time."""
    assert isinstance(machine, CircuitMachine)
    return TreeSearch(machine, role, threads=1, memory_bytes=1 << 22, seed=1)


def test_an_engine_follows_a_match_of_the_whole_game(machine: CircuitMachine) -> None:
    """It plays legal moves to the end, and wins against random ones."""
    engine = small_search(machine, 0)
    assert isinstance(engine, LeanSearch)
    turns, end = play_match(machine, {0: engine}, lambda engine: opinions_of(engine, NODES)[-1])
    moves = set(machine.game.moves[0])
    assert all({one.move for one in turn[0].candidates} <= moves for turn in turns)
    assert machine.goal(end, 0) == 100


def test_a_win_is_found_from_a_state_of_the_whole_game(machine: CircuitMachine) -> None:
    """The opinion is on the moves of the match: one of two joins a chain with the other side."""
    state = machine.initial()
    for file in "abc":
        state = machine.next(state, (("put", file, "2"), "wait"))
        state = machine.next(state, ("wait", ("put", file, "4")))
    wins: set[Term] = {("put", "d", "1"), ("put", "d", "2")}
    engine = small_search(machine, 0)
    assert engine is not None
    engine.begin(state)
    opinion = consider(engine, machine.legal(state, 0), NODES)
    assert opinion.move in wins
    assert opinion.score is not None
    assert opinion.score.proven
    assert opinion.score.goal == 100
    assert machine.goal(machine.next(state, (opinion.move, "wait")), 0) == 100


def test_the_agent_and_its_helpers_search_the_lean_game(machine: CircuitMachine) -> None:
    """The first engine of the registry is one for the lean game, and helpers are given that."""

    class Listening(CannedTeam):
        def play(self, machine: CircuitMachine, role: int) -> None:
            self.machine = machine

    team = Listening()
    engine = next(engines_for(machine, 0, team=team))
    assert isinstance(engine, LeanSearch)
    assert team.machine is machine.lean
    assert engine.uses_start_clock
    assert engine.name == "alpha-beta or tree search"
    assert "random matches are cheap" in engine.reason


@pytest.mark.parametrize("name", ["general", "tree"])
def test_named_engines_search_the_lean_game(machine: CircuitMachine, name: str) -> None:
    """In tournaments, too."""
    assert isinstance(make_named_engine(name, machine, 1), LeanSearch)
