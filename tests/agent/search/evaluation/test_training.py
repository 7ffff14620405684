"""Networks: what they are worth in the trainer and in the search, and what they learn."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.search.evaluation import features as evaluation_features
from agent.search.evaluation import training
from agent.search.evaluation.features import Features, find_features
from agent.search.evaluation.network import LOGIT, MOVERS, NetworkEvaluation, linear_evaluation
from agent.search.evaluation.training import Trainer, patterns_of
from agent.search.pvs.workspace import NOBODY, ROOT
from games.gdl.running.batches import facts_in
from games.gdl.running.machine import CircuitMachine
from tests.agent.search.features import plain_features
from tests.agent.search.pvs.plain import new_searcher, random_evaluation
from tests.circuits import Compile

GO = np.zeros(1, np.uint8)


def trainer_of(machine: CircuitMachine, features: Features, most: int = 5000) -> Trainer:
    """A trainer that sees each position as it is."""
    return Trainer(features, machine.words, most, 1)


def positions_of(machine: CircuitMachine, matches: int = 30) -> tuple[NDArray[np.uint64], NDArray[np.int8]]:
    """Positions of random matches, and random movers."""
    found = machine.random_matches(matches, 3)
    states = found.states[~found.terminal]
    return states, np.random.default_rng(4).integers(0, MOVERS, len(states)).astype(np.int8)


def plain_odds(evaluation: NetworkEvaluation, x: NDArray[np.float32], movers: NDArray[np.int8]) -> NDArray[np.float32]:
    """The log odds (n) by the features (n, features)."""
    sums = evaluation.base + x @ evaluation.rows
    outputs = evaluation.outputs[movers]
    odds = sums[:, 0] + outputs[:, 0] + (np.clip(sums[:, 1:], 0, 1) * outputs[:, 1:]).sum(axis=1)
    return np.clip(odds, -training.MOST_ODDS, training.MOST_ODDS)


@pytest.mark.parametrize(("name", "limit"), [("connect_four", 1500), ("connect_four", 20), ("breakthrough", 1500)])
def test_trainer_and_search_agree_on_the_worth_of_a_position(
    own: Compile, monkeypatch: pytest.MonkeyPatch, name: str, limit: int
) -> None:
    """With conjunctions, threats and pairs, also where fluents share weights; the search but for rounding."""
    monkeypatch.setattr(evaluation_features, "MAX_FLUENTS", limit)
    machine = own(name)
    features = find_features(machine)
    evaluation = random_evaluation(features, np.random.default_rng(2))
    states, movers = positions_of(machine)
    trainer = trainer_of(machine, features)
    expected = trainer.expected(evaluation, states, movers)
    x = plain_features(features, facts_in(states, features.n_fluents))
    assert trainer.features_of(states) == pytest.approx(x)
    assert expected == pytest.approx(1 / (1 + np.exp(-plain_odds(evaluation, x, movers))), abs=1e-4)
    searcher = new_searcher(machine, 1, features=features)
    searcher.set_evaluation(evaluation)
    for state in states[:40]:
        if searcher.place(state):
            mover = min(int(searcher.work.mover[ROOT, 0]), NOBODY)
            x = plain_features(features, facts_in(state[None], features.n_fluents))
            odds = plain_odds(evaluation, x, np.array([mover]))
            assert searcher.work.evaluation[ROOT, 0] == pytest.approx(LOGIT * float(odds[0]), abs=60)


def test_there_is_room_for_conjunctions_that_share_their_features(
    own: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel that lists features does not look where its room ends."""
    monkeypatch.setattr(evaluation_features, "MAX_OWN_WEIGHTS", 10)
    machine = own("reversi")
    features = find_features(machine)
    listed = plain_features(features, facts_in(positions_of(machine)[0], features.n_fluents)).sum(axis=1)
    assert features.n < listed.max() <= patterns_of(features).most()


def test_gradient_is_that_of_the_loss(own: Compile) -> None:
    """Against differences of the loss, for weights of all kinds."""
    machine = own("connect_four")
    features = find_features(machine)
    trainer = trainer_of(machine, features)
    states, movers = positions_of(machine)
    targets = np.random.default_rng(5).random(len(states)).astype(np.float32)
    trainer.add(states, movers, targets)
    evaluation = random_evaluation(features, np.random.default_rng(2))
    weights, gradient = (training.Weights(*(part.copy() for part in evaluation.parts)) for _ in range(2))
    for part in gradient:
        part[:] = 0
    order = np.arange(len(states))
    training.add_gradient(
        trainer._patterns,
        weights,
        gradient,
        states,
        movers,
        targets,
        order,
        trainer._found,
        trainer._sums,
    )

    def loss() -> float:
        expected = trainer.expected(NetworkEvaluation(*weights), states, movers)
        return float(-(targets * np.log(expected) + (1 - targets) * np.log1p(-expected)).sum())

    random = np.random.default_rng(6)
    for part, slope in zip(weights, gradient, strict=True):
        flat, steep = part.reshape(-1), slope.reshape(-1)
        for at in random.permutation(np.flatnonzero(np.abs(steep) > 0.5))[:10]:
            before, step = flat[at], np.float32(0.002)
            flat[at] = before + step
            above = loss()
            flat[at] = before - step
            below = loss()
            flat[at] = before
            assert steep[at] == pytest.approx((above - below) / (2 * step), rel=0.05, abs=0.3)


def test_units_learn_what_no_sum_of_facts_can_tell(own: Compile) -> None:
    """Whether two columns of connect four are equally high by their lowest cells: exclusive or."""
    machine = own("connect_four")
    features = find_features(machine)
    states, movers = positions_of(machine, 300)
    facts = facts_in(states, features.n_fluents)
    fluents = machine.game.fluents
    low = [
        facts[:, [f for f, fact in enumerate(fluents) if fact[:3] == ("cell", column, "1") and fact[3] != "b"]].any(
            axis=1
        )
        for column in ("1", "2")
    ]
    targets = np.where(low[0] == low[1], 0.9, 0.1)
    trainer = trainer_of(machine, features)
    trainer.add(states, movers, targets)
    start = linear_evaluation(np.zeros(features.n), 0.0)
    trained = trainer.trained(start, 60 * len(states), GO)
    assert trained is not None
    assert not trained.linear
    error = np.abs(trainer.expected(trained, states, movers) - targets).mean()
    assert error < 0.1
    assert np.abs(trainer.expected(start, states, movers) - targets).mean() == pytest.approx(0.4)


def test_only_the_newest_positions_are_kept(own: Compile) -> None:
    machine = own("tic_tac_toe")
    features = find_features(machine)
    trainer = trainer_of(machine, features, most=10)
    for number in range(25):
        trainer.add(np.full((1, machine.words), number, np.uint64), np.zeros(1, np.int8), np.zeros(1))
    assert trainer.newest(3)[0][:, 0].tolist() == [22, 23, 24]
    assert trainer.newest(100)[0][:, 0].tolist() == list(range(15, 25))
    assert (trainer.kept, trainer.positions) == (10, 25)
    stopped = trainer.trained(linear_evaluation(np.zeros(features.n), 0.0), 100, np.ones(1, np.uint8))
    assert stopped is None
