"""Iterative deepening at the root: proofs, stopping, several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from agent.search.evaluation.network import WON
from agent.search.pvs.analysis import PvsAnalyser, PvsSearcher, PvsVerdict
from agent.search.pvs.workspace import CHANGES
from games.gdl.running.machine import CircuitMachine
from games.machine import State
from tests.agent.search.features import features_of
from tests.agent.search.pvs.plain import Plain, new_searcher, random_evaluation
from tests.agent.search.pvs.sheets import heap
from tests.agent.search.stopping import StopWhen, never
from tests.circuits import Compile

States = Callable[[CircuitMachine, int], list[State]]


def verdicts_of(
    searcher: PvsSearcher | PvsAnalyser, machine: CircuitMachine, state: State, max_depth: int = 88
) -> list[PvsVerdict]:
    """All verdicts of a search that ends by itself."""
    found: list[PvsVerdict] = []
    with StopWhen(never) as stop:
        assert searcher.analyse(machine.pack(state), stop.flag, found.append, max_depth)
    return found


@pytest.mark.parametrize("size", [6, 9, 13])
def test_wins_and_losses_are_proven_as_soon_as_possible(machine_of: Compile, random_states: States, size: int) -> None:
    """The search ends at the first depth with a proof, and its move is one of the best."""
    machine = machine_of(heap(size))
    searcher = new_searcher(machine, size)
    plain = Plain(machine, searcher)
    proven = set()
    for state in random_states(machine, 15):
        if (side := plain.mover(state)) > 1:
            continue
        searcher.game.table[:] = 0
        *before, last = verdicts_of(searcher, machine, state)
        assert last.proven
        assert not any(verdict.proven and verdict.score < 0 for verdict in before)
        children = plain.children(state)
        best = (max(-plain.score(child, 1 - side, depth) for _, child in children) for depth in range(40))
        # A null window may find it a ply later, if the evaluation is high enough.
        depth, score = next((depth, score) for depth, score in enumerate(best, 1) if abs(score) > WON)
        assert last.depth in (depth, depth + 1)
        assert np.sign(last.score) == np.sign(score)
        assert np.sign(-plain.score(dict(children)[last.move], 1 - side, 99)) == np.sign(last.score)
        proven.add(last.score > 0)
    assert proven == {False, True}


def test_draw_is_proven(own: Compile, random_states: States) -> None:
    """The score is certain when all lines were searched to their ends, and not before."""
    machine = own("tic_tac_toe")
    searcher = new_searcher(machine, 1, quiescence=True)
    plain = Plain(machine, searcher)
    scores = set()
    for state in [machine.initial(), *random_states(machine, 15)]:
        side = plain.mover(state)
        if side > 1:
            continue
        *before, last = verdicts_of(searcher, machine, state)
        expected = 0 if state == machine.initial() else plain.score(state, side, 99)
        assert last.proven
        assert np.sign(last.score) == np.sign(expected)
        assert expected != 0 or last.score == 0
        assert expected != 0 or not any(verdict.proven for verdict in before)
        scores.add(int(np.sign(expected)))
    assert 0 in scores


def test_evaluations_in_the_table_prove_nothing(own: Compile) -> None:
    """A score that rests on evaluations of an earlier search proves nothing."""
    machine = own("connect_four")
    searcher = new_searcher(machine, 1)
    state = machine.initial()
    verdicts_of(searcher, machine, state, 7)
    state = machine.next(state, (("drop", "4"), "noop"))
    assert not any(verdict.proven for verdict in verdicts_of(searcher, machine, state, 4))


def test_depth_is_the_limit(own: Compile) -> None:
    """Each iteration is published, the first move at once, and all moves are legal."""
    machine = own("connect_four")
    found = verdicts_of(new_searcher(machine, 1), machine, machine.initial(), 4)
    assert found[0].depth == 1
    assert {verdict.depth for verdict in found} == {1, 2, 3, 4}
    assert {verdict.move for verdict in found} <= set(range(int(machine.programs.role_start[1])))


def test_stops_within_a_node(own: Compile) -> None:
    """The search ends where it is when the flag is raised."""
    machine = own("connect_four")
    searcher = new_searcher(machine, 1)
    with StopWhen(lambda: searcher.nodes > 20_000, lambda: searcher.nodes) as stop:
        assert searcher.analyse(machine.pack(machine.initial()), stop.flag, lambda verdict: None)
    assert stop.counted is not None
    # A node at the horizon counts with its children.
    assert searcher.nodes - stop.counted <= 16


def test_simultaneous_choice_cannot_be_analysed(own: Compile) -> None:
    """The caller is told."""
    machine = own("rock_paper_scissors")
    assert not new_searcher(machine, 1).analyse(machine.pack(machine.initial()), np.zeros(1, np.uint8), print)


def test_threads_find_the_same(machine_of: Compile) -> None:
    """Several threads share a table and prove what one proves; all end with the search."""
    before = set(threading.enumerate())
    machine = machine_of(heap(13))
    analyser = PvsAnalyser(machine, features_of(machine), threads=3, megabytes=1)
    last = verdicts_of(analyser, machine, machine.initial())[-1]
    plain = Plain(machine, analyser.searchers[0])
    assert last.proven
    assert np.sign(last.score) == np.sign(
        max(-plain.score(child, 1, 99) for _, child in plain.children(machine.initial()))
    )
    assert all(searcher.nodes for searcher in analyser.searchers)
    assert set(threading.enumerate()) <= before


def test_thread_that_fails_is_not_overlooked(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in a thread is raised when the search is over."""
    machine = own("tic_tac_toe")
    analyser = PvsAnalyser(machine, features_of(machine), threads=2, megabytes=1)

    def fail(*arguments: object, **options: object) -> bool:
        raise MemoryError("helper")

    monkeypatch.setattr(analyser.searchers[1], "analyse", fail)
    with pytest.raises(MemoryError, match="helper"):
        verdicts_of(analyser, machine, machine.initial(), 3)


def test_new_evaluation_forgets_the_old_scores(own: Compile) -> None:
    """Results of another evaluation are not found again."""
    machine = own("connect_four")
    features = features_of(machine)
    analyser, fresh = (PvsAnalyser(machine, features, megabytes=1) for _ in range(2))
    rng = np.random.default_rng(5)
    analyser.set_evaluation(random_evaluation(features, rng))
    other = random_evaluation(features, rng)
    verdicts_of(analyser, machine, machine.initial(), 5)
    scores = []
    for one in (analyser, fresh):
        one.set_evaluation(other)
        one.searchers[0].work.counts[CHANGES] = 1 << 60
        scores.append({found.depth: found.score for found in verdicts_of(one, machine, machine.initial(), 2)})
    assert scores[0] == scores[1]
