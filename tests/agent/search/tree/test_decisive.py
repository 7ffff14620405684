"""Decisive moves of playouts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import chain, repeat

import numpy as np
import pytest
from numba import njit

from agent.search.engine import Opinion
from agent.search.tree.decisive.endings import find_endings
from agent.search.tree.decisive.finding import decisive_moves_of, find_decisive_moves
from agent.search.tree.decisive.kernels import DecisiveMoves, DecisiveWorkspace, find_decisive
from agent.search.tree.decisive.makers import Transitions, find_makers, with_groups
from agent.search.tree.engine import TreeSearch
from games.bits.arrays import allocate
from games.bits.words import aligned_words
from games.gdl.running.batches import load_initial, load_lanes
from games.gdl.running.kernels import ALL, NARROW, evaluate
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term
from tests.circuits import Compile

Think = Callable[..., Opinion]


pytestmark = pytest.mark.usefixtures("time_enough")

moves_of = cache(find_decisive_moves)


@njit(cache=True)
def find_in_lanes(moves, n_fluents, legal_slot, slots, lanes, work):
    """The kernel has no entry from Python of its own."""
    return find_decisive(moves, n_fluents, legal_slot, slots, lanes, work)


def _chosen(machine: CircuitMachine, moves: DecisiveMoves, states: list[State]) -> list[tuple[int, Term] | None]:
    """The role and the decisive move found in each of up to 64 states."""
    programs = machine.programs
    slots = aligned_words(programs.n_slots)
    load_initial(programs, slots)
    load_lanes(len(programs.next_slot), slots, np.stack([machine.pack(state) for state in states]))
    evaluate(programs.legal, slots, NARROW)
    work = allocate(DecisiveWorkspace, threats=len(moves.role), roles=len(machine.roles))
    found: list[tuple[int, Term] | None] = [None] * len(states)
    lanes = ALL >> np.uint64(64 - len(states))
    for _ in range(2):
        # What was found the first time must leave nothing behind.
        n = find_in_lanes(moves, len(programs.next_slot), programs.legal_slot, slots, lanes, work)
    assert not work.lanes.any()
    for move, word in zip(work.move[:n].tolist(), work.word[:n].tolist(), strict=True):
        role = int(np.searchsorted(programs.role_start, move, side="right")) - 1
        for lane in range(len(states)):
            if word >> lane & 1:
                assert found[lane] is None
                found[lane] = role, machine.game.moves[role][move - int(programs.role_start[role])]
    return found


def _waiting(machine: CircuitMachine, state: State) -> list[Term]:
    """A move of each role: the only one of all but the mover."""
    return [machine.legal(state, role)[0] for role in range(len(machine.roles))]


def _wins(machine: CircuitMachine, state: State, role: int) -> list[Term]:
    """A role's moves after which it has won; none where it has to wait."""
    won = []
    others = [len(machine.legal(state, other)) for other in range(len(machine.roles)) if other != role]
    if len(machine.legal(state, role)) > 1 or max(others) == 1:
        joint = _waiting(machine, state)
        for move in machine.legal(state, role):
            joint[role] = move
            after = machine.next(state, joint)
            if machine.terminal(after) and machine.goal(after, role) == 100:
                won.append(move)
    return won


def _positions(machine: CircuitMachine, seed: int) -> list[State]:
    """64 states of random matches, none of them terminal."""
    positions = machine.random_matches(64, seed, max_plies=200)
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(~positions.terminal))[:64]
    return [machine.unpack(state) for state in positions.states[rows]]


@pytest.mark.parametrize(
    ("name", "share"), [("tic_tac_toe", 1.0), ("connect_four", 1.0), ("breakthrough", 0.6), ("three_way_line", 1.0)]
)
def test_wins_in_one_move_are_found(own: Compile, name: str, share: float) -> None:
    """In states of random matches all claimed wins are wins, and few rare ones are missed."""
    machine = own(name)
    moves = moves_of(machine)
    winnable = found_wins = 0
    for seed in (2, 3):
        states = _positions(machine, seed)
        for state, found in zip(states, _chosen(machine, moves, states), strict=True):
            wins = [(role, move) for role in range(len(machine.roles)) for move in _wins(machine, state, role)]
            if wins:
                winnable += 1
                found_wins += found in wins
                assert found is None or found in wins
    assert winnable > 10
    assert found_wins >= share * winnable


@pytest.mark.parametrize("name", ["connect_four", "three_way_line"])
def test_what_the_next_one_would_win_by_is_stopped(own: Compile, name: str) -> None:
    """By a move to the missing cell of its line, where the mover cannot win; else there is none."""
    machine = own(name)
    roles = range(len(machine.roles))
    moves = moves_of(machine)
    stopped = 0
    for seed in (2,):
        states = _positions(machine, seed)
        for state, found in zip(states, _chosen(machine, moves, states), strict=True):
            mover = max(roles, key=lambda role: len(machine.legal(state, role)))
            if found is None or _wins(machine, state, mover):
                continue
            role, move = found
            assert role == mover
            # It takes a cell in which the next one, if it were its turn, would have won.
            joint = _waiting(machine, state)
            threatened = set()
            for other in machine.legal(state, mover):
                joint[mover] = other
                after = machine.next(state, joint)
                if not machine.terminal(after):
                    threatened.update(_wins(machine, after, (mover + 1) % len(roles)))
            assert move in threatened
            stopped += 1
    assert stopped > 5


def test_nothing_is_said_where_no_move_decides(own: Compile) -> None:
    """Both choose at once, or there is only one player, or endings are counted."""
    for name in ("rock_paper_scissors", "eight_puzzle", "reversi"):
        assert len(find_decisive_moves(own(name)).role) == 0


def test_each_machine_is_looked_at_once(own: Compile) -> None:
    """Searches of trial matches begin at once."""
    machine = own("tic_tac_toe")
    assert decisive_moves_of(machine) is decisive_moves_of(machine)


def test_conditions_of_a_move() -> None:
    """Conditions: a fact that must hold, one that must not, one of two, one of a group; none where chance decides."""
    rng = np.random.default_rng(1)
    before = rng.random((400, 6)) < 0.5
    before[:, 5] = False
    moves = np.stack([rng.integers(0, 2, 400), np.full(400, 2)], axis=1).astype(np.int32)
    does = (moves[:, 0] == 0) & before[:, 0] & ~before[:, 1] & (before[:, 2] | before[:, 3])
    after = before.copy()
    after[:, 5] = does
    wanted = np.arange(6) == 5
    rivals = [[], [], [3], [2], [], []]
    for groups, either in (([], (3, 4)), ([[1, 4], [2, 3]], (8, 0))):
        transitions = Transitions(with_groups(before, groups), after, moves)
        makers = find_makers(transitions, wanted, rivals, 60.0)
        assert set(makers) == {(0, 5)}
        assert sorted(makers[0, 5]) == sorted([(-2, 0), (1, 0), either])
    after[:, 5] &= rng.random(400) < 0.5
    assert not find_makers(Transitions(before, after, moves), wanted, rivals, 60.0)


def test_a_busy_machine_does_not_keep_them_from_being_found(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time in which others had the core hardly counts."""
    machine = own("tic_tac_toe")
    before = np.repeat(np.array([[True], [False]]), 10, axis=0)
    transitions = Transitions(before, np.ones((20, 1), np.bool_), np.repeat(np.array([[0, 2]], np.int32), 20, axis=0))

    def steal(seconds: float) -> None:
        """The clock jumps after its first look."""
        monkeypatch.setattr("time.monotonic", chain([0.0], repeat(seconds)).__next__)

    monkeypatch.setattr("time.thread_time", lambda: 0.0)
    for stolen, found in ((2.0, True), (4.0, False)):
        steal(stolen)
        assert bool(find_endings(machine.programs, 1.0)) == found
        steal(stolen)
        assert bool(find_makers(transitions, np.ones(1, np.bool_), [[]], 1.0)) == found


def test_the_search_plays_them(own: Compile, think: Think) -> None:
    """With decisive moves a race is over sooner than at random."""
    machine = own("breakthrough")
    search = TreeSearch(machine, 0, threads=1, memory_bytes=1 << 22, seed=1)
    search.begin(machine.initial())
    think(search, 2000)
    finished, plies = search._workspaces[0].playout_counts
    positions = machine.random_matches(256, 1)
    assert plies / finished < 0.9 * (len(positions.match) / 256 - 1)
