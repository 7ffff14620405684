"""Pairs of facts that count together."""

from __future__ import annotations

import numpy as np
import pytest

from agent.search.evaluation import pairs
from agent.search.evaluation.features import find_features
from agent.search.evaluation.network import NetworkEvaluation, linear_evaluation
from agent.search.learning import learner as learning
from agent.search.learning.learner import Learner
from tests.agent.search.features import features_of, plain_features
from tests.agent.search.stopping import StopWhen
from tests.circuits import Compile


def test_neighbours_are_found_in_a_race(own: Compile) -> None:
    """Men and their targets; the turn has no neighbours, and men far apart are none."""
    machine = own("breakthrough")
    fluents = machine.game.fluents
    found = {(fluents[f], fluents[g]) for f, g in pairs.find_pairs(machine).tolist()}
    found |= {(g, f) for f, g in found}
    assert (("cell", "3", "3", "white"), ("cell", "4", "4", "white")) in found
    assert (("cell", "3", "3", "white"), ("cell", "4", "4", "black")) in found
    for one, other in found:
        assert one[0] == other[0] == "cell"
        assert abs(int(one[1]) - int(other[1])) <= 1
        assert abs(int(one[2]) - int(other[2])) == 1


def test_clocks_have_no_neighbours(own: Compile) -> None:
    """A counter of plies changes together with everything."""
    machine = own("eight_puzzle")
    fluents = machine.game.fluents
    found = pairs.find_pairs(machine)
    assert len(found) > 20
    assert {fluents[f][0] for f in found.ravel().tolist()} == {"cell"}


def test_games_that_ask_for_conjunctions_have_none(own: Compile) -> None:
    """Nor do those with too many facts."""
    assert len(features_of(own("breakthrough")).pair) > 300
    assert len(features_of(own("connect_four")).pair) == 0
    assert len(features_of(own("blokbox")).pair) == 0


def test_pairs_that_are_given_are_not_looked_for(own: Compile) -> None:
    """They hold where both facts do. Not even where none are given are others found."""
    machine, given = own("breakthrough"), np.array([[2, 7], [1, 3]], np.int32)
    features = find_features(machine, lambda: given)
    assert features.pair.tolist() == given.tolist()
    facts = np.random.default_rng(1).random((50, features.n_fluents)) < 0.5
    columns = plain_features(features, facts)[:, features.n_single :]
    assert (columns != 0).T.tolist() == [(facts[:, f] & facts[:, g]).tolist() for f, g in given.tolist()]
    features = find_features(machine, lambda: given[:0])
    assert features.n == features.n_single == features.n_fluents


def test_kernels_have_each_pair_twice() -> None:
    """Under either fact, with its row of weights."""
    form = pairs.kernel_form(np.array([[2, 7], [1, 2]], np.int32), 9, 20)
    found = {
        (f, int(form.other[i]), int(form.row[i])) for f in range(9) for i in range(form.first[f], form.first[f + 1])
    }
    assert found == {(2, 7, 20), (7, 2, 20), (1, 2, 21), (2, 1, 21)}


def test_pairs_that_are_alike_share_patterns(own: Compile) -> None:
    """More so the more they have in common."""
    fluents = own("breakthrough").game.fluents
    place = {fluent: index for index, fluent in enumerate(fluents)}

    def pair(x: int, y: int, colour: str) -> list[int]:
        return [place["cell", str(x), str(y), "white"], place["cell", str(x + 1), str(y + 1), colour]]

    chosen = [pair(2, 3, "white"), pair(5, 3, "white"), pair(2, 5, "white"), pair(5, 5, "white"), pair(2, 3, "black")]
    shared = pairs.shared_patterns(fluents, np.array(chosen, np.int32))
    assert shared[0, 1] > shared[0, 3] > shared[0, 4] == 0
    assert (shared == shared.T).all()


@pytest.mark.parametrize("earlier", [0, learning.SINGLE_GENERATIONS])
def test_pairs_have_weights_later(own: Compile, monkeypatch: pytest.MonkeyPatch, earlier: int) -> None:
    """Not in the first generations."""
    monkeypatch.setattr(learning, "MATCHES", 32)
    machine = own("breakthrough")
    features = features_of(machine)
    start = linear_evaluation(np.zeros(features.n), 0.0)
    learner = Learner(machine, features, start, earlier=earlier, seed=1)
    fitted: list[NetworkEvaluation] = []
    original = Learner._fit

    def fit(*arguments: object) -> NetworkEvaluation | None:
        found: NetworkEvaluation | None = original(*arguments)  # type: ignore[arg-type]
        if found is not None:
            fitted.append(found)
        return found

    monkeypatch.setattr(Learner, "_fit", fit)
    with StopWhen(lambda: bool(fitted)) as stop:
        learner.run(machine.pack(machine.initial()), stop.flag)
    assert fitted[0].weights[: features.n_single].any()
    assert fitted[0].weights[features.n_single :].any() == (earlier > 0)
