"""Evaluations learnt from random play."""

from __future__ import annotations

import numpy as np

from agent.search.evaluation.fit import EvaluationTrainer, LinearEvaluation, shared_patterns
from agent.search.evaluation.sampling import add_normal_equations, make_sampling_workspace, packed_states, play_batch
from games.gdl.running.machine import CircuitMachine
from tests.circuits import Compile

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
    white = {
        row: np.mean([w[0] for fact, w in zip(facts, evaluation.weights, strict=True) if fact[2:] == (row, "white")])
        for row in ("3", "6", "7")
    }
    assert white["7"] > 2 * white["6"] > 2 * white["3"] + 0.05
    assert np.allclose(evaluation.weights.sum(axis=1), 0.0, atol=1e-6)
