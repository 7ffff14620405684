"""Children made in lanes, against the same children made one by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from agent.search.evaluation.network import WIN
from agent.search.pvs.expansion import place_root
from agent.search.pvs.search import search
from agent.search.pvs.workspace import BOTH, MAX_CHILDREN, NOBODY, REFUSED, ROOT, ROOT_CHILDREN, SIDE, UNKNOWN
from games import rulesheets
from games.gdl.running.machine import CircuitMachine
from games.machine import State
from tests.agent.search.pvs.plain import Plain, new_searcher
from tests.agent.search.pvs.sheets import DEAD_END, MARKS, heap
from tests.circuits import Compile

States = Callable[[CircuitMachine, int], list[State]]

SHEETS = {
    "tic-tac-toe": rulesheets.text("tic_tac_toe"),
    "connect four": rulesheets.text("connect_four"),
    "breakthrough": rulesheets.text("breakthrough"),
    "heap": heap(9),
    "marks": MARKS,
}


def check_row(plain: Plain, row: int, count: int, state: State, first: int = 0) -> None:
    """Checks that a row's children from `first` on are those of a state, with all values that the search needs."""
    machine, work = plain.machine, plain.searcher.work
    expected = plain.children(state)
    assert work.move[row, first : first + count].tolist() == [move for move, _ in expected]
    for i, (_, child) in enumerate(expected, first):
        bits = (work.state[row, i >> 6] >> np.uint64(i & 63)) & np.uint64(1)
        assert (
            machine.unpack(
                np.packbits(np.pad(bits, (0, -len(bits) % 64)).astype(bool), bitorder="little").view(np.uint64)
            )
            == child
        )
        assert work.key[row, i] == plain.key(child)
        assert work.evaluation[row, i] == plain.evaluation(child)
        assert work.result[row, i] == plain.result(child)
        if work.result[row, i] == UNKNOWN:
            assert work.mover[row, i] == plain.mover(child)


@pytest.mark.parametrize("name", SHEETS)
def test_children_are_those_of_the_machine(machine_of: Compile, random_states: States, name: str) -> None:
    """Moves, states, keys, evaluations, results and movers, of the children of a root and of its last child."""
    machine = machine_of(SHEETS[name])
    searcher = new_searcher(machine, 3)
    plain = Plain(machine, searcher)
    work, stop = searcher.work, np.zeros(1, np.uint8)
    deeper = 0
    states = random_states(machine, 3 if name == "marks" else 12)
    for state in states:
        count = place_root(searcher.game, machine.pack(state))
        children = plain.children(state)
        assert count == len(children)
        assert work.mover[ROOT, 0] == plain.mover(state)
        assert (work.key[ROOT, 0], work.evaluation[ROOT, 0]) == (plain.key(state), plain.evaluation(state))
        check_row(plain, ROOT_CHILDREN, count, state)
        searcher.game.table[:] = 0
        searcher.game.settings[SIDE] = side = int(work.mover[ROOT, 0] == 1)
        search(searcher.game, ROOT, 0, -WIN, WIN, 2, stop)
        check_row(plain, 0, count, state)
        won = (1 - 2 * side) * WIN in work.result[0, :count]
        row, last = work.place[1].tolist()
        child = children[last][1] if row == 0 and not won else state
        if child != state and plain.result(child) == UNKNOWN and plain.mover(child) in (1 - side, NOBODY):
            home, first = work.home[1].tolist()
            check_row(plain, home, len(plain.children(child)), child, first)
            deeper += 1
    assert deeper >= len(states) // 4


@pytest.mark.parametrize(("name", "batched"), [("tic-tac-toe", 4), ("connect four", 7), ("heap", 4), ("marks", 0)])
def test_grandchildren_are_those_of_the_machine(
    machine_of: Compile, random_states: States, name: str, batched: int
) -> None:
    """Children of several siblings made in one pass equal those of each sibling alone."""
    machine = machine_of(SHEETS[name])
    searcher = new_searcher(machine, 3)
    plain = Plain(machine, searcher)
    work, stop = searcher.work, np.zeros(1, np.uint8)
    found = 0
    for state in random_states(machine, 3 if name == "marks" else 15):
        place_root(searcher.game, machine.pack(state))
        searcher.game.table[:] = 0
        searcher.game.settings[SIDE] = int(work.mover[ROOT, 0] == 1)
        search(searcher.game, ROOT, 0, -WIN, WIN, 2, stop)
        children = plain.children(state)
        first, count = work.batch[0].tolist()
        if count == 0:
            continue
        assert (first, count) == (0, len(children))
        found += 1
        for i, (_, child) in enumerate(children):
            first, size = work.children[0, i].tolist()
            if plain.result(child) != UNKNOWN or plain.mover(child) == BOTH:
                assert size == 0
            else:
                assert size == len(plain.children(child))
                check_row(plain, 1, size, child, first)
    assert found >= batched
    assert (found > 0) == (batched > 0)


def test_more_children_than_lanes(machine_of: Compile) -> None:
    """All of 144 children are made, in words of 64, and terminal ones are seen in each word."""
    machine = machine_of(MARKS)
    searcher = new_searcher(machine, 1)
    state = machine.initial()
    for mark in (("mark", "12", "11"), ("mark", "3", "3")):
        joint = [mark, "noop"] if machine.legal(state, 1) == ["noop"] else ["noop", mark]
        state = machine.next(state, joint)
    count = place_root(searcher.game, machine.pack(state))
    assert count == 142
    check_row(Plain(machine, searcher), ROOT_CHILDREN, count, state)
    ends = np.flatnonzero(searcher.work.result[ROOT_CHILDREN, :count] != UNKNOWN)
    assert len(set((ends // 64).tolist())) == 2


def test_dead_ends_and_forced_moves(machine_of: Compile) -> None:
    """Where a role has no move the goals decide; where nobody has a choice there is one child."""
    machine = machine_of(DEAD_END)
    searcher = new_searcher(machine, 1)
    plain = Plain(machine, searcher)
    assert place_root(searcher.game, machine.pack(machine.initial())) == 2
    check_row(plain, ROOT_CHILDREN, 2, machine.initial())
    results = dict(zip(["left", "right"], searcher.work.result[ROOT_CHILDREN, :2].tolist(), strict=True))
    assert results == {"left": WIN, "right": UNKNOWN}
    right = machine.next(machine.initial(), ("right", "stay"))
    assert place_root(searcher.game, machine.pack(right)) == 1
    assert searcher.work.mover[ROOT, 0] == NOBODY
    check_row(plain, ROOT_CHILDREN, 1, right)
    stuck = machine.next(machine.initial(), ("left", "stay"))
    assert place_root(searcher.game, machine.pack(stuck)) == 0
    assert searcher.work.counts[REFUSED] == 1


@pytest.mark.parametrize("moves", [MAX_CHILDREN, MAX_CHILDREN + 1])
def test_too_many_moves_are_refused(machine_of: Compile, moves: int) -> None:
    """There is room for that many children, and no more."""
    sheet = (
        "\n".join(f"(number {i})" for i in range(moves))
        + """
        (role w) (role b)
        (<= (legal w (say ?n)) (number ?n)) (legal b noop)
        (<= (next (said ?n)) (does w (say ?n)))
        (<= terminal (true (said ?n)))
        (<= (goal w 100) (true (said ?n))) (<= (goal b 0) (true (said ?n)))
    """
    )
    machine = machine_of(sheet)
    searcher = new_searcher(machine, 1)
    count = place_root(searcher.game, machine.pack(machine.initial()))
    assert count == (moves if moves <= MAX_CHILDREN else 0)
    assert (searcher.work.result[ROOT_CHILDREN, :count] == WIN).all()
