"""Learning to judge positions from random play, and searching with what was learnt."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from agent.search.tree.engine import TreeSearch, warm_kernels
from agent.search.tree.judge.judge import Judgement, Learner, shared_forms
from agent.search.tree.judge.sampling import digest, new_sampler, packed_states, play_batch
from agent.search.tree.store import ROOT, TOTAL, VISITS
from games import rulesheets
from games.gdl.compile import compile_rules
from games.gdl.compile import warm_kernels as warm_circuits
from games.gdl.rules.check import check
from games.gdl.running.machine import CircuitMachine
from protocol import kif

GO = np.zeros(1, np.uint8)


def own(name: str) -> CircuitMachine:
    """The circuit of one of the package's sheets."""
    return compile_rules(check(kif.read_rulesheet(rulesheets.text(name))))


@pytest.fixture(scope="module", autouse=True)
def _kernels() -> None:
    """Compile the kernels before a clock runs."""
    warm_kernels(warm_circuits())


def learnt(machine: CircuitMachine, states: int = 32_000) -> Judgement:
    """What is learnt from so many states or a little more."""
    learner = Learner(machine, seed=1)
    root = machine.pack(machine.initial())
    fits = 0
    while 2048 << fits <= states and not learner.done:
        fits += learner.work(root, GO)
    assert learner.judgement is not None
    return learner.judgement


def test_draws_states_of_the_matches_that_it_plays() -> None:
    """Drawn states are neither the first nor terminal, and goals are those of finished matches."""
    machine = own("breakthrough")
    sampler = new_sampler(machine.programs, 5)
    usable, ended, plies = play_batch(machine.programs, sampler, machine.pack(machine.initial())[None, :], GO)
    assert int(usable) == int(ended) == (1 << 64) - 1
    assert plies > 64 * 20
    assert set(map(tuple, sampler.goals.tolist())) == {(1.0, 0.0), (0.0, 1.0)}
    for drawn in sampler.drawn:
        states = packed_states(drawn)
        legal, terminal = machine.legal_of(states)
        assert not terminal.any()
        assert legal.any(axis=1).all()
        assert len(np.unique(states, axis=0)) > 48


def test_counts_what_holds_together() -> None:
    """The sums of the equations are those that NumPy finds."""
    random = np.random.default_rng(3)
    bits = random.random((192, 70)) < 0.3
    goals = random.random((192, 2)).astype(np.float32)
    columns = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little").view(np.uint64)
    pairs, sums = np.ones((70, 70), np.int64), np.zeros((70, 2))
    digest(np.ascontiguousarray(columns), goals, pairs, sums)
    counts = bits.astype(np.int64)
    assert np.array_equal(np.triu(pairs), np.triu(counts.T @ counts + 1))
    assert np.allclose(sums, counts.T @ goals.astype(np.float64))


def test_facts_of_one_form_share_what_is_learnt() -> None:
    """Facts with more arguments in common share more forms; other relations share none."""
    facts = [("cell", "a", "1", "x"), ("cell", "b", "1", "x"), ("cell", "a", "1", "o"), ("turn", "x"), "late"]
    shared = shared_forms(facts)
    # The relation, and: row, mark, row with mark; column, row, column with row; row.
    assert (shared[0, 1], shared[0, 2], shared[1, 2]) == (4, 4, 2)
    assert not shared[0, 3:].any()
    assert not shared[4].any()


def test_learns_what_pieces_are_worth() -> None:
    """In Breakthrough a piece is worth more the closer it has come, and what one side wins the other loses."""
    machine = own("breakthrough")
    facts = machine.game.fluents
    judgement = learnt(machine)
    assert judgement.good
    white = {
        row: np.mean([w[0] for fact, w in zip(facts, judgement.weights, strict=True) if fact[2:] == (row, "white")])
        for row in ("3", "6", "7")
    }
    assert white["7"] > 2 * white["6"] > 2 * white["3"] + 0.05
    assert np.allclose(judgement.weights.sum(axis=1), 0.0, atol=1e-6)


@pytest.mark.parametrize("name", ["reversi", "tic_tac_toe"])
def test_knows_where_it_judges_badly(name: str) -> None:
    """Where single facts say too little about the result, or playouts are short, they are not replaced."""
    assert not learnt(own(name)).good


def search(machine: CircuitMachine, seconds: float, **options: bool) -> TreeSearch:
    """An engine that has thought about the first position for so long."""
    engine = TreeSearch(machine, 0, threads=1, memory_bytes=1 << 26, seed=1, **options)
    engine.begin(machine.initial())
    stop = np.zeros(1, np.uint8)
    timer = threading.Timer(seconds, stop.fill, (1,))
    timer.start()
    engine.think(stop, lambda opinion: None, seconds)
    timer.cancel()
    return engine


def test_searches_with_what_it_has_learnt() -> None:
    """The engine goes over to judging by itself; values stay goals, and no visit is left without its result."""
    machine = own("breakthrough")
    engine = search(machine, 3.0)
    assert engine._parameters.horizon[0] >= 0
    tree = engine._tree
    nodes = tree.node[: tree.counts[1]]
    root = int(tree.counts[ROOT])
    assert 0.0 < tree.value[root, TOTAL] / nodes[root, VISITS] < 1.0
    # Both roles' goals add up to one at every visit, judged or real.
    assert tree.value[root, TOTAL] + tree.value[root, TOTAL + 4] == pytest.approx(nodes[root, VISITS], rel=1e-3)
    assert search(machine, 0.5, judging=False)._parameters.horizon[0] == -1
