"""Wins by threats."""

from __future__ import annotations

import random

import numpy as np
import pytest

from agent.search.engine import Limit
from agent.search.tree.decisive.finding import find_decisive_moves
from agent.search.tree.engine import TreeSearch
from agent.search.tree.threats import Threats, ThreatSearch, _Position, _Threat
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term
from tests.agent.search.thinking import opinions_of
from tests.circuits import Compile, own_machine

pytestmark = pytest.mark.usefixtures("time_enough")

BLACK = "3,5 4,5 5,5 6,6 6,7"
WHITE = "2,5 9,9 1,9 1,1"
"""Black wins by (place 6 5) alone: a four, and after its only answer two threes."""


def position(machine: CircuitMachine, black: str, white: str) -> State:
    """Black moves; stones are written `x,y`."""
    stones = {("black", tuple(one.split(","))) for one in black.split()}
    stones |= {("white", tuple(one.split(","))) for one in white.split()}
    return machine.state({("control", "black"), *(("cell", *at, colour) for colour, at in stones)})


def searched(machine: CircuitMachine, state: State) -> ThreatSearch:
    """A search for black's win, at its end."""
    known = Threats(machine, find_decisive_moves(machine, patience=1000.0))
    search = ThreatSearch(known, machine.pack(state), 0, np.array([100.0, 0.0]))
    while not search.over:
        search.expand()
    return search


def test_a_win_by_threats_is_played_out() -> None:
    """It is found, and wins against any replies by moves that the search has named."""
    machine = own_machine("five_in_a_row")
    begin = position(machine, BLACK, WHITE)
    search = searched(machine, begin)
    assert search.won
    numbered = [move for moves in machine.game.moves for move in moves]
    moves = search.moves()
    chance = random.Random(1)
    for _ in range(20):
        state, plies = begin, 0
        while not machine.terminal(state):
            own: Term = numbered[moves[machine.pack(state).tobytes()]]
            state = machine.next(state, [own, "noop"])
            plies += 1
            if not machine.terminal(state):
                state = machine.next(state, ["noop", chance.choice(machine.legal(state, 1))])
        assert machine.goal(state, 0) == 100
        assert plies <= 6


def test_a_threat_wins_only_after_all_replies_were_looked_at() -> None:
    """However often it is found meanwhile that the first ones lose."""
    machine = own_machine("five_in_a_row")
    search = searched(machine, machine.initial())
    there = _Position(search.state)
    threat = _Threat(there, 3, search.state, 0, [1], [1, 2])
    assert search._settle(threat) == [threat]
    assert search._settle(threat) == []
    assert there.won < 0
    threat.complete = True
    assert search._settle(threat) == []
    assert there.won == 3


@pytest.mark.parametrize(
    ("black", "white"),
    [
        ("", ""),
        # Both ends are stopped, and an answer on the other line stands already.
        (BLACK, f"{WHITE} 7,5 6,8"),
        # White wins first.
        (BLACK, "2,5 9,6 9,7 9,8 9,9"),
    ],
)
def test_no_win_is_claimed_without_one(black: str, white: str) -> None:
    assert not searched(own_machine("five_in_a_row"), position(own_machine("five_in_a_row"), black, white)).won


def test_the_tree_plays_what_is_proven(own: Compile) -> None:
    """A proof at the root decides; what was proven for later positions is still known when they are reached."""
    machine = own("five_in_a_row")
    engine = TreeSearch(machine, 0, threads=1, memory_bytes=1 << 22, seed=1)
    state = position(machine, BLACK, WHITE)
    engine.begin(state)
    engine._forced_wins.look(engine._tree, 1000.0, np.zeros(1, np.uint8))
    while not machine.terminal(state):
        opinion = opinions_of(engine)[-1]
        assert opinion.final
        assert opinion.score.goal == 100
        state = follow(engine, state, (opinion.move, "noop"))
        if not machine.terminal(state):
            state = follow(engine, state, ("noop", machine.legal(state, 1)[0]))


def test_dear_decisive_moves_serve_threats_alone(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Playouts would be slow; proofs need few of them."""
    monkeypatch.setattr("agent.search.tree.engine.DEAREST", 0.01)
    engine = TreeSearch(own("five_in_a_row"), 0, threads=1, memory_bytes=1 << 22, seed=1)
    assert not len(engine._parameters.decisive.role)
    engine.begin(position(engine.machine, BLACK, WHITE))
    engine._forced_wins.look(engine._tree, 1000.0, np.zeros(1, np.uint8))
    assert opinions_of(engine)[-1].final


def follow(engine: TreeSearch, state: State, joint: tuple[Term, ...]) -> State:
    """The next state, which the engine is told."""
    after = engine.machine.next(state, joint)
    if not engine.machine.terminal(after):
        engine.advance(joint, after)
    return after


def test_levels_do_without(own: Compile) -> None:
    """A search that may not depend on the machine's speed proves nothing by the clock."""
    engine = TreeSearch(own("five_in_a_row"), 0, threads=1, memory_bytes=1 << 22, seed=1, timeless=True)
    engine.begin(position(own("five_in_a_row"), BLACK, WHITE))
    engine._forced_wins.look(engine._tree, 1000.0, np.zeros(1, np.uint8))
    assert not opinions_of(engine, Limit(nodes=64))[-1].final
