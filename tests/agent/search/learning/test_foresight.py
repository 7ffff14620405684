"""Correlation of an evaluation with results, compared with random playouts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.search.evaluation.network import linear_evaluation
from agent.search.learning import foresight as module
from agent.search.learning.foresight import ENOUGH, KEPT, Foresight
from agent.search.learning.learner import Learner
from agent.search.learning.lessons import Lesson
from games.gdl.running.machine import CircuitMachine
from games.machine import State
from tests.agent.search.features import features_of
from tests.circuits import Compile

Draw = Callable[[CircuitMachine, int], list[State]]

GO = np.zeros(1, np.uint8)
LONG = 600.0


@pytest.fixture
def states(own: Compile, random_states: Draw) -> NDArray[np.uint64]:
    """States of connect four."""
    machine = own("connect_four")
    return np.array([machine.pack(state) for state in random_states(machine, 100)])


def random_means(machine: CircuitMachine, states: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The mean results of playouts from positions."""
    foresight = Foresight(machine, 5)
    foresight.add(states, np.zeros(len(states)), np.zeros(len(states)))
    foresight.play_out(LONG, GO)
    return np.array([position.playouts for position in foresight._positions])


def test_playouts_are_of_the_position(own: Compile, states: NDArray[np.uint64]) -> None:
    """Two seeds agree about as far as 32 playouts can; positions do not share them."""
    machine = own("connect_four")
    first, second = random_means(machine, states), random_means(machine, states[::-1])[::-1]
    assert ((first >= 0) & (first <= 1)).all()
    assert np.corrcoef(first, second)[0, 1] > 0.6
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    ("foresees", "results_are", "low", "high"),
    [("results", "random", 0.5, 1.1), ("nothing", "playouts", -1.1, -0.4), ("results", "all the same", 0.0, 0.0)],
)
def test_who_foresees_more_has_the_advantage(
    own: Compile, states: NDArray[np.uint64], foresees: str, results_are: str, low: float, high: float
) -> None:
    """With results that only one of both foresees, and with constant ones."""
    machine, n = own("connect_four"), len(states)
    chance = np.random.default_rng(3)
    results = {
        "random": chance.integers(0, 2, n).astype(float),
        "playouts": random_means(machine, states),
        "all the same": np.ones(n),
    }[results_are]
    foresight = Foresight(machine, 1)
    foresight.add(states, results if foresees == "results" else np.full(n, 0.1), results)
    assert foresight.advantage == 0.0
    foresight.play_out(LONG, GO)
    assert low <= foresight.advantage <= high


def test_few_positions_tell_nothing(own: Compile, states: NDArray[np.uint64]) -> None:
    """Nor do positions that could not be played out; old positions make room."""
    foresight = Foresight(own("connect_four"), 1)
    results = np.arange(len(states)) % 2.0
    foresight.add(states[: ENOUGH - 1], results[: ENOUGH - 1], results[: ENOUGH - 1])
    foresight.play_out(LONG, GO)
    assert foresight.advantage == 0.0
    foresight.add(states, results, results)
    foresight.play_out(LONG, np.ones(1, np.uint8))
    foresight.play_out(0.0, GO)
    assert foresight.advantage == 0.0
    for _ in range(4):
        foresight.add(states, results, results)
    assert len(foresight._positions) == KEPT


def test_playouts_without_end_do_not_count(
    own: Compile, states: NDArray[np.uint64], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A position with a cut-off playout has no mean."""
    monkeypatch.setattr(module, "play_batch", lambda programs, workspace, starts, stop: (0, (1 << 64) - 2, 64))
    foresight = Foresight(own("connect_four"), 1)
    foresight.add(states[:2], np.zeros(2), np.zeros(2))
    foresight.play_out(LONG, GO)
    first, second = (position.playouts for position in reversed(foresight._positions))
    assert first is not None
    assert np.isnan(first)
    assert second == 0.5


def test_what_is_expected_is_noted_before_it_is_learnt(own: Compile, states: NDArray[np.uint64]) -> None:
    """One position of each match, with the chance by the present evaluation, and the match's result."""
    machine = own("connect_four")
    features = features_of(machine)
    weights = np.random.default_rng(1).normal(0, 0.3, features.n)
    learner = Learner(machine, features, linear_evaluation(weights, 0.2))
    movers = np.zeros(6, np.int8)
    lessons = [
        Lesson(states[:3], movers[:3], np.full(3, 0.9), 9, 1.0),
        Lesson(states[3:5], movers[3:5], np.full(2, 0.1), 9, 0.0),
        Lesson(states[5:6], movers[5:6], np.full(1, 0.5), 9, 0.5),
    ]
    learner._remember(lessons)
    noted = list(learner.foresight._positions)
    assert [position.result for position in noted] == [1.0, 0.0, 0.5]
    for position, lesson in zip(noted, lessons, strict=True):
        assert (position.state == lesson.states).all(axis=1).any()
        facts = (position.state[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1) != 0
        x = features.of(facts.reshape(1, -1)[:, : features.n_fluents])
        odds = float((x @ weights)[0]) + 0.2
        assert position.foreseen == pytest.approx(1 / (1 + np.exp(-odds)), abs=1e-4)
