"""Evaluations learnt from random play, and searching with them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from agent.search.engine import UNLIMITED, Opinion
from agent.search.evaluation.fit import EvaluationTrainer, LinearEvaluation, shared_patterns
from agent.search.evaluation.sampling import add_normal_equations, make_sampling_workspace, packed_states, play_batch
from agent.search.tree import scheduler
from agent.search.tree.engine import TreeSearch
from agent.search.tree.scheduler import EXPLORATION
from agent.search.tree.store import N_PLAYOUTS, ROOT
from games.gdl.running.machine import CircuitMachine
from tests.agent.search.stopping import StopWhen
from tests.agent.search.thinking import tree_search
from tests.circuits import Compile

Think = Callable[..., Opinion]

GO = np.zeros(1, np.uint8)


def learnt(machine: CircuitMachine, states: int = 32_000) -> LinearEvaluation:
    """The fit to this number of states or a few more."""
    trainer = EvaluationTrainer(machine, seed=2)
    root = machine.pack(machine.initial())
    fits = 0
    while 2048 << fits <= states and not trainer.done:
        fits += trainer.step(root, GO)
    assert trainer.evaluation is not None
    return trainer.evaluation


def test_draws_states_of_the_matches_that_it_plays(own: Compile) -> None:
    """Drawn states are neither the first nor terminal, and goals are those of finished matches."""
    machine = own("breakthrough")
    workspace = make_sampling_workspace(machine.programs, 5)
    usable, ended, plies = play_batch(machine.programs, workspace, machine.pack(machine.initial())[None, :], GO)
    assert int(usable) == int(ended) == (1 << 64) - 1
    assert plies > 64 * 20
    assert set(map(tuple, workspace.goals.tolist())) == {(1.0, 0.0), (0.0, 1.0)}
    for drawn in workspace.drawn:
        states = packed_states(drawn)
        legal, terminal = machine.legal_of(states)
        assert not terminal.any()
        assert legal.any(axis=1).all()
        assert len(np.unique(states, axis=0)) > 48


def test_counts_what_holds_together() -> None:
    """The moments of the equations equal NumPy's."""
    random = np.random.default_rng(3)
    bits = random.random((192, 70)) < 0.3
    goals = random.random((192, 2)).astype(np.float32)
    columns = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little").view(np.uint64)
    gram, moments = np.ones((70, 70), np.int64), np.zeros((70, 2))
    add_normal_equations(np.ascontiguousarray(columns), goals, gram, moments)
    counts = bits.astype(np.int64)
    assert np.array_equal(np.triu(gram), np.triu(counts.T @ counts + 1))
    assert np.allclose(moments, counts.T @ goals.astype(np.float64))


def test_facts_of_one_pattern_share_what_is_learnt() -> None:
    """Facts with more arguments in common share more patterns; other relations share none."""
    facts = [("cell", "a", "1", "x"), ("cell", "b", "1", "x"), ("cell", "a", "1", "o"), ("turn", "x"), "late"]
    shared = shared_patterns(facts)
    # The relation, and: row, mark, row with mark; column, row, column with row; row.
    assert (shared[0, 1], shared[0, 2], shared[1, 2]) == (4, 4, 2)
    assert not shared[0, 3:].any()
    assert not shared[4].any()


def test_learns_what_pieces_are_worth(own: Compile) -> None:
    """In Breakthrough a piece is worth more the closer it has come, and one side's gain is the other's loss."""
    machine = own("breakthrough")
    facts = machine.game.fluents
    evaluation = learnt(machine)
    assert evaluation.beats_playouts
    white = {
        row: np.mean([w[0] for fact, w in zip(facts, evaluation.weights, strict=True) if fact[2:] == (row, "white")])
        for row in ("3", "6", "7")
    }
    assert white["7"] > 2 * white["6"] > 2 * white["3"] + 0.05
    assert np.allclose(evaluation.weights.sum(axis=1), 0.0, atol=1e-6)


@pytest.mark.parametrize("name", ["reversi", "tic_tac_toe"])
def test_knows_where_it_judges_badly(name: str, own: Compile) -> None:
    """Playouts stay where single facts say too little about the result, or playouts are short."""
    assert not learnt(own(name)).beats_playouts


def test_searches_with_what_it_has_learnt(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine changes to evaluations; values stay goals, and no visit is left without its result."""
    monkeypatch.setattr(scheduler, "LEARNING_SHARE", 0.9)
    monkeypatch.setattr(scheduler, "SLICE_SECONDS", 0.002)
    machine = own("breakthrough")
    engine = tree_search(machine, memory_bytes=1 << 26)
    tree, horizon = engine._tree, engine._parameters.horizon
    learnt_at: list[int] = []

    def has_judged() -> bool:
        if horizon[0] >= 0 and not learnt_at:
            learnt_at.append(int(tree.counts[N_PLAYOUTS]))
        return bool(learnt_at) and tree.counts[N_PLAYOUTS] > learnt_at[0] + 1_000

    with StopWhen(has_judged) as stop:
        engine.think(stop.flag, lambda opinion: None, UNLIMITED)
    root = int(tree.counts[ROOT])
    totals, visits = tree.stats[root]["total"], tree.node[root]["visits"]
    assert 0.0 < totals[0] / visits < 1.0
    # Both roles' goals add up to one at every visit, judged or real.
    assert totals.sum() == pytest.approx(visits, rel=1e-3)


def test_does_not_learn_where_it_is_told_not_to(own: Compile, think: Think) -> None:
    """Without the option, nothing is fitted and all leaves are played out."""
    machine = own("breakthrough")
    engine = tree_search(machine, memory_bytes=1 << 26, judging=False)
    think(engine, 2_000)
    assert engine._scheduler._trainer is None
    assert engine._parameters.horizon[0] == -1


def test_exploration_suits_how_much_goals_differ(own: Compile) -> None:
    """In connect four half of all random matches are won; measurements of another search remain."""
    engine = TreeSearch(own("connect_four"), 0, threads=1, memory_bytes=1 << 26, seed=1)
    scheduler, exploration = engine._scheduler, engine._parameters.exploration
    exploration[:] = 9.0
    scheduler.scale_exploration(np.ones(1, np.uint8))
    assert not scheduler.exploration_scaled
    assert (exploration == 9.0).all()
    scheduler.scale_exploration(GO)
    assert scheduler.exploration_scaled
    assert exploration == pytest.approx(0.5 * EXPLORATION, rel=0.1)
    exploration[:] = 9.0
    scheduler.scale_exploration(GO)
    assert (exploration == 9.0).all()
