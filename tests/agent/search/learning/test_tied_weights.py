"""Weights made equal or opposite by symmetries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agent.search.evaluation import features as finding
from agent.search.evaluation.network import linear_evaluation
from agent.search.learning import learner as learning
from agent.search.learning.learner import Learner
from agent.search.learning.tied_weights import TiedWeights, symmetries_of, views_of
from games.gdl.running.batches import facts_in
from tests.agent.search.features import features_of
from tests.agent.search.stopping import StopWhen
from tests.circuits import Compile


@pytest.mark.parametrize(("name", "at_most"), [("tic_tac_toe", 0.25), ("connect_four", 0.3), ("breakthrough", 0.35)])
def test_images_of_states_are_worth_as_much(own: Compile, name: str, at_most: float) -> None:
    """Equal for the same role, opposite where roles are swapped; with random weights, also of pairs."""
    machine = own(name)
    n = len(machine.game.fluents)
    symmetries = symmetries_of(machine)
    features = features_of(machine)
    # Random play does not show the blockers of all images.
    features = replace(features, blocked_first=np.zeros_like(features.first), blocker=features.blocker[:0])
    tied = TiedWeights(features, symmetries)
    assert tied.n < at_most * features.n
    assert tied.odd
    weights = tied.expand(np.random.default_rng(1).normal(size=tied.n))
    assert tied.mean(weights) == pytest.approx(tied.mean(tied.expand(tied.mean(weights))), abs=1e-5)
    # Pairs that random play shows on one side only have no image.
    weights[features.n_single :] = 0
    facts = facts_in(machine.random_matches(64, 1).states, n)
    values = features.of(facts) @ weights
    assert np.abs(values).max() > 1
    swaps = set()
    for one in symmetries:
        images = np.zeros_like(facts)
        images[:, one.fluents] = facts
        swapped = bool((one.roles != np.arange(2)).any())
        swaps.add(swapped)
        assert features.of(images) @ weights == pytest.approx(-values if swapped else values, abs=1e-3)
    assert swaps == {False, True}


def test_tied_features_are_added_up(own: Compile) -> None:
    """Shared weights and those of all features give a state the same value."""
    machine = own("breakthrough")
    features = features_of(machine)
    tied = TiedWeights(features, symmetries_of(machine))
    assert len(features.pair)
    assert 0 < tied.n_single < tied.n
    weights = np.random.default_rng(2).normal(size=tied.n)
    x = features.of(facts_in(machine.random_matches(8, 1).states, features.n_fluents))
    assert tied.reduce(x) @ weights == pytest.approx(x @ tied.expand(weights), abs=1e-3)


def test_without_symmetries_all_weights_are_free(own: Compile) -> None:
    features = features_of(own("breakthrough"))
    tied = TiedWeights(features, [])
    assert (tied.n, tied.n_single, tied.odd) == (features.n, features.n_single, False)
    weights = np.arange(features.n, dtype=np.float64)
    assert (tied.expand(tied.mean(weights)) == weights).all()
    assert (tied.patterns(features.patterns) == features.patterns).all()


def test_features_that_many_fluents_share_are_seen_as_they_are(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are fewer features than fluents."""
    monkeypatch.setattr(finding, "MAX_FLUENTS", 80)
    monkeypatch.setattr(finding, "MAX_CONJUNCTIONS", 0)
    features = finding.find_features(own("connect_four"), 1)
    assert features.n < features.n_fluents
    assert views_of(features, ()).tolist() == [list(range(features.n))]


def test_what_is_its_own_opposite_counts_for_nothing(own: Compile) -> None:
    """Such as a fact that swapping the roles leaves in place."""
    machine = own("breakthrough")
    features = features_of(machine)
    swap = next(one for one in symmetries_of(machine) if one.roles.tolist() == [1, 0])
    still = [f for f in range(features.n_fluents) if swap.fluents[f] == f]
    facing = type(swap)(np.arange(features.n_fluents), swap.moves, swap.roles, swap.used)
    tied = TiedWeights(features, [facing])
    assert not still
    assert tied.n_single == 0
    assert not tied.expand(np.ones(tied.n)).any()


def test_learner_keeps_to_the_symmetries(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also from a start without them; there is no constant term where roles can be swapped."""
    monkeypatch.setattr(learning, "MATCHES", 32)
    monkeypatch.setattr(learning, "GATE", 4)
    machine = own("connect_four")
    features = features_of(machine)
    symmetries = symmetries_of(machine)
    tied = TiedWeights(features, symmetries)
    start = linear_evaluation(np.random.default_rng(1).normal(size=features.n), 0.7)
    learner = Learner(machine, features, start, seed=1, symmetries=symmetries)
    with StopWhen(lambda: learner.accepted >= 1) as stop:
        learner.run(machine.pack(machine.initial()), stop.flag)
    found = learner.evaluation
    assert found.bias == 0
    assert found.weights.any()
    assert found.weights == pytest.approx(tied.expand(tied.mean(found.weights)), abs=1e-4)
    assert learner.experience.facts.shape == (len(learner.experience.targets), features.n_fluents)
