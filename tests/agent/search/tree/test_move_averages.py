"""Playouts that choose by average results of moves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from agent.search.engine import UNLIMITED
from agent.search.tree.engine import TreeSearch
from agent.search.tree.move_averages import FADING, UNKNOWN
from games.gdl.running.machine import CircuitMachine
from tests.agent.search.stopping import StopWhen
from tests.agent.search.thinking import tree_search
from tests.circuits import Compile

FromText = Callable[[str], CircuitMachine]

THREE_PICKS = """
(role red) (role blue) (init (turn 1)) (init (control red)) (succ 1 2) (succ 2 3) (succ 3 4) (number 1) (number 2)
(number 3) (number 4) (number 5) (number 6) (number 7) (number 8)
(<= (legal ?r (pick ?n)) (true (control ?r)) (number ?n))
(<= (legal ?r noop) (role ?r) (not (true (control ?r))))
(<= (next (control red)) (true (control blue))) (<= (next (control blue)) (true (control red)))
(<= (next (turn ?n)) (true (turn ?m)) (succ ?m ?n))
(<= (next (picked ?r)) (does ?r (pick 5))) (<= (next (picked ?r)) (true (picked ?r)))
(<= terminal (true (turn 4)))
(<= (goal red 100) (true (picked red))) (<= (goal red 0) (not (true (picked red))))
(<= (goal blue 0) (true (picked red))) (<= (goal blue 100) (not (true (picked red))))
"""
"""Red picks twice, blue once; who plays red has won with a 5."""


def searched(search: TreeSearch, machine: CircuitMachine, playouts: int = 2000) -> TreeSearch:
    """The search after some playouts from the initial state."""
    search.begin(machine.initial())
    with StopWhen(lambda: search.playouts >= playouts) as stop:
        search.think(stop.flag, lambda opinion: None, UNLIMITED)
    return search


def test_worth_is_the_mean_of_the_matches_with_a_move(own: Compile) -> None:
    """Moves of both roles count; less after a turn, not at all in another match."""
    machine = own("connect_four")
    search = searched(TreeSearch(machine, 0, threads=1, memory_bytes=1 << 22, draws=2, seed=1), machine)
    (workspace,) = search._workspaces
    made, worth = workspace.made, workspace.move_workspace.worth
    for role in (0, 1):
        assert (made[machine.programs.role_start[role] :][: len(machine.game.moves[role])] > 0).sum() >= 7
    known = made > 0
    assert ((worth[known] > 0) & (worth[known] < 1)).all()
    # One of both wins, mostly, whoever made the move.
    assert np.average(worth[known], weights=made[known]) == pytest.approx(0.5, abs=0.1)
    assert (worth[~known] == UNKNOWN).all()
    before = made.copy()
    joint = tuple(machine.legal(machine.initial(), role)[0] for role in (0, 1))
    search.advance(joint, machine.next(machine.initial(), joint))
    assert made == pytest.approx(FADING * before)
    search.begin(machine.initial())
    assert not made.any()
    assert (worth == UNKNOWN).all()


def test_what_wins_is_worth_more(machine_of: FromText) -> None:
    """The move with which all matches are won has the highest worth."""
    machine = machine_of(THREE_PICKS)
    best = machine.move_index(0, ("pick", "5"))
    search = tree_search(machine, draws=4, seed=2)
    # Before the root is proven, as it soon is.
    search._scheduler._budgets[0] = 500
    search._scheduler.run_slice(0, np.zeros(1, np.uint8))
    (workspace,) = search._workspaces
    assert workspace.move_workspace.worth[best] == 1.0


def test_uniform_playouts_note_nothing(own: Compile) -> None:
    """Playouts of a single player are random whatever the draws."""
    for name, draws in (("connect_four", 1), ("eight_puzzle", 4)):
        machine = own(name)
        search = searched(TreeSearch(machine, 0, threads=1, memory_bytes=1 << 22, draws=draws, seed=1), machine, 200)
        assert not search._workspaces[0].made.any()
