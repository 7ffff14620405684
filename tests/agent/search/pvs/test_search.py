"""Scores of the search, against exhaustive search in plain Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from agent.search.alphabeta.table import probe
from agent.search.evaluation.network import WIN, WON
from agent.search.pvs.expansion import place_root
from agent.search.pvs.search import STOPPED, search
from agent.search.pvs.table import EXACT, LOWER, UPPER, child_of, depth_of, kind_of, store, value_of
from agent.search.pvs.workspace import ROOT, SIDE
from games.gdl.running.machine import CircuitMachine
from games.machine import State
from tests.agent.search.pvs.plain import Plain, new_searcher
from tests.agent.search.pvs.sheets import heap
from tests.circuits import Compile

States = Callable[[CircuitMachine, int], list[State]]

GO = np.zeros(1, np.uint8)
DEEP = 60
"""Deeper than any match of these games, after all reductions."""


def score(plain: Plain, state: State, depth: int, side: int) -> int:
    """The kernel's score of a state, from an empty table and an open window."""
    game = plain.searcher.game
    assert place_root(game, plain.machine.pack(state)) > 0
    game.table[:] = 0
    game.settings[SIDE] = side
    return int(search(game, ROOT, 0, -WIN, WIN, depth, GO))


def same(found: int, expected: int) -> bool:
    """Whether scores are equal, or both wins or both losses: the search stops at the first win."""
    return (found > WON) - (found < -WON) == (expected > WON) - (expected < -WON) and (
        abs(found) > WON or found == expected
    )


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 5])
def test_same_scores_to_a_depth(machine_of: Compile, random_states: States, depth: int) -> None:
    """From both sides, where a role moves twice in a row and where nobody chooses; no node has moves to reduce."""
    machine = machine_of(heap(12))
    plain = Plain(machine, new_searcher(machine, 2))
    states = random_states(machine, 25)
    found = [(score(plain, state, depth, side), plain.score(state, side, depth)) for state in states for side in (0, 1)]
    assert all(same(*pair) for pair in found)
    # The last ply sees all terminal states, so distances agree, too.
    assert depth > 1 or all(one == other for one, other in found)
    assert len({expected for _, expected in found}) > 5


@pytest.mark.parametrize("depth", [1, 2, DEEP])
def test_same_scores_of_tic_tac_toe(own: Compile, random_states: States, depth: int) -> None:
    """With nine moves and an evaluation that counts nearly full lines."""
    machine = own("tic_tac_toe")
    plain = Plain(machine, new_searcher(machine, 4))
    assert len(plain.searcher.game.conjunctions.far)
    for state in random_states(machine, 30 if depth < DEEP else 8):
        side = plain.mover(state) & 1
        assert same(score(plain, state, depth, side), plain.score(state, side, depth))


def test_windows_bound_the_score(machine_of: Compile, random_states: States) -> None:
    """A null window shows on which side of it the score lies; the bound is right."""
    machine = machine_of(heap(12))
    plain = Plain(machine, new_searcher(machine, 2))
    for state in random_states(machine, 10):
        exact = plain.score(state, 0, 3)
        if abs(exact) > WON:
            continue
        for alpha in (exact - 40, exact - 1, exact, exact + 40):
            assert place_root(plain.searcher.game, machine.pack(state)) > 0
            plain.searcher.game.table[:] = 0
            plain.searcher.game.settings[SIDE] = 0
            bound = int(search(plain.searcher.game, ROOT, 0, alpha, alpha + 1, 3, GO))
            assert alpha < bound <= exact if exact > alpha else exact <= bound <= alpha


def test_table_is_used_from_one_depth_to_the_next(own: Compile) -> None:
    """A second search expands no node, and finds the same."""
    machine = own("connect_four")
    plain = Plain(machine, new_searcher(machine, 2))
    first = score(plain, machine.initial(), 4, 0)
    before = plain.searcher.nodes
    assert int(search(plain.searcher.game, ROOT, 0, -WIN, WIN, 4, GO)) == first
    assert plain.searcher.nodes == before


def test_stopped_search_has_no_score(own: Compile) -> None:
    """A stopped search ends before its first node."""
    machine = own("connect_four")
    searcher = new_searcher(machine, 2)
    place_root(searcher.game, machine.pack(machine.initial()))
    before = searcher.nodes
    assert search(searcher.game, ROOT, 0, -WIN, WIN, 20, np.ones(1, np.uint8)) == STOPPED
    assert searcher.nodes == before


def test_plies_without_a_choice_cost_no_depth(machine_of: Compile) -> None:
    """The end of a move made in several forced steps is seen at depth 1."""
    machine = machine_of(
        """
        (role w) (role b) (init (step 0))
        (after 0 1) (after 1 2) (after 2 3) (after 3 4) (after 4 5) (after 5 6) (after 6 7)
        (<= (legal w (take ?x)) (true (step 0)) (thing ?x)) (thing good) (thing bad) (thing worse)
        (<= (legal w wait) (true (step ?n)) (distinct ?n 0))
        (legal b wait)
        (<= (next (step ?m)) (true (step ?n)) (after ?n ?m))
        (<= (next (has ?x)) (does w (take ?x)))
        (<= (next (has ?x)) (true (has ?x)))
        (<= terminal (true (step 7)))
        (<= (goal w 100) (true (has good))) (<= (goal b 0) (true (has good)))
        (<= (goal w 0) (not (true (has good)))) (<= (goal b 100) (not (true (has good))))
        """
    )
    plain = Plain(machine, new_searcher(machine, 1))
    assert score(plain, machine.initial(), 1, 0) == WIN - 7


def test_lines_longer_than_the_memory_are_judged(machine_of: Compile) -> None:
    """A game of more plies than PLIES is searched to that length."""
    machine = machine_of(
        """
        (role w) (role b) (init (at 0)) (init (control w)) (after w b) (after b w)
        (<= (legal ?r go) (true (control ?r))) (<= (legal ?r noop) (true (control ?s)) (after ?s ?r))
        (<= (next (control ?r)) (true (control ?s)) (after ?s ?r))
        (next (at 0))
        (<= terminal (true (at 1)))
        (<= (next (at 1)) (does w never) (true (at 1)))
        (goal w 50) (goal b 50)
        """
    )
    searcher = new_searcher(machine, 1)
    plain = Plain(machine, searcher)
    assert score(plain, machine.initial(), 200, 0) == plain.score(machine.initial(), 0, 200)


def entry(key: int, *data: int) -> tuple[np.uint64, ...]:
    """Arguments of `store`."""
    return (np.uint64(key), *(np.int64(value) for value in data))  # type: ignore[return-value]


def test_table_returns_what_was_stored() -> None:
    """Negative and large scores, depths, kinds and children come back; other keys have no entry."""
    table = np.zeros((64, 2), np.uint64)
    key = 0x123456789ABCDEF0
    for value, depth, kind, child in (
        (-WIN, 1, LOWER, 511),
        (WIN, 255, EXACT, 0),
        (-7, 0, UPPER, 3),
        (0, 96, EXACT, 1),
    ):
        store.py_func(table, *entry(key, value, depth, kind, child, 5))
        data = probe(table, np.uint64(key))
        assert (value_of(data), depth_of(data), kind_of(data), child_of(data)) == (value, depth, kind, child)
    assert np.count_nonzero(table[:, 1]) == 1
    assert probe(table, np.uint64(key ^ 1)) == 0
    assert probe(table, np.uint64(key ^ (1 << 60))) == 0


def test_torn_entry_is_ignored() -> None:
    """Halves of two entries, as two threads may leave them, are no entry."""
    table, other = np.zeros((64, 2), np.uint64), np.zeros((64, 2), np.uint64)
    key = 0x123456789ABCDEF0
    store.py_func(table, *entry(key, 100, 3, EXACT, 1, 0))
    store.py_func(other, *entry(key, 200, 3, EXACT, 1, 0))
    assert probe(table, np.uint64(key)) != 0
    table[:, 0] = other[:, 0]
    assert probe(table, np.uint64(key)) == 0


def test_old_and_shallow_entries_give_way() -> None:
    """A full bucket loses its oldest entry, and of equal age the shallowest."""
    table = np.zeros((4, 2), np.uint64)
    for key, depth, date in ((1, 9, 1), (2, 30, 0), (3, 5, 1), (4, 7, 1)):
        store.py_func(table, *entry(key << 40, 0, depth, EXACT, 0, date))

    def held() -> set[int]:
        return {key for key in range(1, 7) if probe(table, np.uint64(key << 40))}

    store.py_func(table, *entry(5 << 40, 0, 1, EXACT, 0, 1))
    assert held() == {1, 3, 4, 5}
    store.py_func(table, *entry(6 << 40, 0, 2, EXACT, 0, 1))
    assert held() == {1, 3, 4, 6}
