"""Preparation: learning, trial matches, and the choice of the search."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from agent.search.choosing import preparation as preparing
from agent.search.choosing import trial as trying
from agent.search.choosing.preparation import FEW_GENERATIONS, MOST_PRIOR, Preparation
from agent.search.choosing.trial import CLEAR_LEAD, DECISIVE_LEAD, MANY_TRIALS
from agent.search.choosing.variants import MANY_MATCHES
from agent.search.engine import Engine, StopFlag
from agent.search.evaluation.network import LOGIT
from agent.search.learning import first_evaluation
from agent.search.learning.foresight import Foresight
from agent.search.learning.learner import Learner
from agent.search.learning.lessons import Lesson
from agent.search.learning.trial_points import TrialPoints
from agent.search.pvs.analysis import PvsAnalyser
from agent.search.pvs.engine import CannotSearchError
from games.bits.short_rows import COLUMNS
from tests.agent.search.choosing.timeless import FakeMatch, role_of_alpha_beta, run
from tests.agent.search.pvs.plain import bits_of
from tests.agent.search.pvs.sheets import COOPERATION
from tests.agent.search.stopping import StopWhen
from tests.circuits import Compile

GO = np.zeros(1, np.uint8)


def test_first_evaluation_comes_however_short_the_time(prepared: Preparation) -> None:
    """The fit to random play is finished; the rest is left out."""
    assert (prepared.suits, prepared.prefers_alpha_beta, prepared.worth_while) == (None, False, True)
    run(prepared)
    assert prepared.suits
    assert prepared.prefers_alpha_beta
    assert prepared.worth_while
    assert (prepared.generations, prepared.trials.matches) == (0, 0)
    assert prepared.evaluation is not None
    assert prepared.features is not None
    assert np.abs(prepared.evaluation.weights[: prepared.features.n_fluents]).max() > 0.05


def test_stop_during_the_fit_rules_nothing_out(prepared: Preparation) -> None:
    """The next preparation completes it."""
    run(prepared, (1,))
    assert prepared.suits
    assert not prepared.prefers_alpha_beta
    assert prepared.worth_while
    run(prepared)
    assert prepared.prefers_alpha_beta


def test_slow_game_of_which_nothing_is_learnt_is_left_to_tree_search(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until something is learnt while others think and no match ends, or a match is won."""
    run(prepared)
    monkeypatch.setattr(prepared.trials, "play", lambda roles, end, stop, lead: None)
    prepared.trials.too_slow = True
    assert not prepared.prefers_alpha_beta
    prepared.trials.points, prepared.trials.matches = 1.0, 1
    assert prepared.prefers_alpha_beta
    prepared.trials.points, prepared.trials.matches = 0.0, 0
    with StopWhen(lambda: prepared.generations > 0) as stop:
        prepared.improve(stop.flag)
        prepared.improve(stop.flag)
    assert prepared.generations > 0
    assert prepared.prefers_alpha_beta


@pytest.mark.parametrize(("advantage", "prior"), [(0.07, 0.7), (-0.07, -0.7), (0.9, MOST_PRIOR), (-0.9, -MOST_PRIOR)])
def test_what_is_foreseen_counts_as_much_as_matches(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch, advantage: float, prior: float
) -> None:
    """Up to a limit, so that matches can show the opposite; updated after each part of the time for learning."""
    looked: list[float] = []
    monkeypatch.setattr(preparing.TreeChoice, "undecided", [])
    monkeypatch.setattr(Learner, "run", lambda self, root, stop: None)
    monkeypatch.setattr(Foresight, "play_out", lambda self, seconds, stop: looked.append(seconds))
    monkeypatch.setattr(Foresight, "advantage", advantage)
    monkeypatch.setattr(trying.Trials, "play", lambda *arguments: None)
    prepared.run(prepared._machine.initial(), 2.0, np.zeros(1, np.uint8))
    # A clear result of the first part leaves the rest of the time to tree search.
    assert len(looked) == (1 if prior <= -CLEAR_LEAD else 2)
    assert prepared.trials.prior == pytest.approx(prior)
    assert prepared.trials.lead == pytest.approx(prior)
    assert prepared.prefers_alpha_beta == (prior > 0)
    prepared.trials.recall(TrialPoints(0.0 if prior > 0 else 4.0, 4))
    assert prepared.prefers_alpha_beta == (prior < 0)


def test_matches_are_as_long_as_those_that_were_learnt_from(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random matches may be much longer."""
    run(prepared)
    assert prepared._learner is not None
    assert prepared._learner.plies is None
    monkeypatch.setattr(preparing.Trials, "play", lambda *arguments: None)
    before = prepared.trials.plies
    prepared._try_out(0.0, GO, CLEAR_LEAD)
    assert prepared.trials.plies == before > 1
    states, movers, targets = np.zeros((1, prepared.searched.words), np.uint64), np.zeros(1, np.int8), np.zeros(1)
    prepared._learner._remember([Lesson(states, movers, targets, plies, 0.5) for plies in (20, 30)])
    prepared._try_out(0.0, GO, CLEAR_LEAD)
    assert prepared.trials.plies == 25


def test_network_of_earlier_matches_is_left_as_it_is(prepared: Preparation) -> None:
    """The start clock is too short to learn on from it."""
    run(prepared)
    learner = prepared._learner
    assert learner is not None
    learner.evaluation = network = learner.evaluation.with_units(20.0, 1)
    prepared._learn(prepared._machine.initial(), 60.0, GO)
    assert (learner.matches, learner.evaluation) == (0, network)
    assert not prepared.immature


def test_open_question_is_settled_while_others_think(prepared: Preparation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Learning and trial matches take turns until there is enough of both; a clear result reverses the choice."""
    done: list[str] = []
    shares = {0: 0.5, 1: 0.5}

    def played(engines: Sequence[Engine]) -> float:
        done.append("trial")
        stop[0] = 1
        return shares[role_of_alpha_beta(engines)]

    def learn(learner: object, root: object, halt: StopFlag) -> None:
        done.append("learning")

    def improve() -> list[str]:
        done.clear()
        stop[0] = 0
        prepared.improve(stop)
        return sorted(set(done))

    run(prepared)
    # No variant is left to try.
    for variant in prepared.trees.variants:
        variant.matches = MANY_MATCHES
    monkeypatch.setattr(trying, "MANY_TRIALS", 1 << 30)
    monkeypatch.setattr(trying, "TrialMatch", FakeMatch(played))
    monkeypatch.setattr(preparing.Learner, "run", learn)
    stop = np.zeros(1, np.uint8)
    prepared.trials.points, prepared.trials.matches = 1.5, 2
    assert [improve() for _ in range(4)] == [["trial"], ["learning"]] * 2
    assert prepared.prefers_alpha_beta
    assert prepared.undecided
    shares.update({0: 0.0, 1: 1.0})
    assert improve() == ["trial"]
    while prepared.undecided:
        assert improve() == ["trial"]
    assert prepared.trials.lead <= -DECISIVE_LEAD
    assert not prepared.prefers_alpha_beta
    prepared.trials.points, prepared.trials.matches = MANY_TRIALS / 2, MANY_TRIALS
    assert prepared.undecided
    monkeypatch.setattr(trying, "MANY_TRIALS", MANY_TRIALS)
    assert not prepared.undecided


def test_states_that_cannot_be_searched_rule_alpha_beta_out(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial match finds it out."""

    def refuse(engines: object) -> float:
        raise CannotSearchError

    run(prepared)
    monkeypatch.setattr(trying, "TrialMatch", FakeMatch(refuse))
    prepared._try_out(math.inf, np.zeros(1, np.uint8), CLEAR_LEAD)
    assert prepared.trials.matches == 0
    assert not prepared.prefers_alpha_beta


def test_very_many_fluents_share_weights(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns have the weights where a fit of all fluents would take too long; random play gives the first ones."""
    monkeypatch.setattr(preparing.fit, "MAX_FLUENTS", 80)
    monkeypatch.setattr(first_evaluation, "MOST_BATCHES", 8)
    machine = own("connect_four")
    preparation = Preparation(machine, 0, threads=1, seed=1)
    stop = np.zeros(1, np.uint8)
    monkeypatch.setattr(preparation, "_learn", lambda *arguments: stop.fill(1))
    preparation.run(machine.initial(), 10_000.0, stop)
    features, evaluation = preparation.features, preparation.evaluation
    assert preparation.suits
    assert features is not None
    assert evaluation is not None
    assert features.shares is not None
    assert features.shares.shape[1] <= 80 < len(machine.game.fluents)
    weights = dict(
        zip(machine.game.fluents, features.kernel_rows(evaluation.weights)[: len(machine.game.fluents)], strict=True)
    )
    # Weights of single pieces depend on the matches played.
    centre, edge = (
        [sum(weights["cell", column, str(row), colour] for row in range(1, 7)) for colour in ("red", "yellow")]
        for column in ("4", "1")
    )
    assert centre[0] > edge[0]
    assert centre[1] < edge[1]
    analyser = PvsAnalyser(machine, features, megabytes=1)
    analyser.set_evaluation(evaluation)
    state = machine.next(machine.initial(), [machine.legal(machine.initial(), role)[0] for role in (0, 1)])
    facts = bits_of(machine, state)
    expected = (features.of(facts[None, :]) @ evaluation.weights)[0]
    rows = analyser.searchers[0].game.weights.reshape(-1, COLUMNS)
    linear = rows[: len(facts)][facts, 0].sum() / LOGIT
    assert linear == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("step", ["survey", "find_features", "Learner"])
def test_failure_is_logged(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, step: str
) -> None:
    """Any error rules alpha-beta out and is logged."""

    def fail(*arguments: object, **options: object) -> None:
        raise MemoryError("too large")

    monkeypatch.setattr(preparing, step, fail)
    run(prepared)
    assert not prepared.worth_while
    assert not prepared.prefers_alpha_beta
    assert "too large" in caplog.text


def test_failure_in_a_trial_is_logged(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also an error in a thread that plays trial matches."""

    def fail(*arguments: object) -> float:
        raise MemoryError("too large")

    monkeypatch.setattr(trying, "TrialMatch", fail)
    monkeypatch.setattr(preparing.Learner, "run", lambda *arguments: None)
    prepared.run(prepared._machine.initial(), 1000.0, np.zeros(1, np.uint8))
    assert not prepared.prefers_alpha_beta
    assert "too large" in caplog.text


def test_enough_is_learnt_at_some_time(prepared: Preparation) -> None:
    """After some generations nothing more is prepared."""
    run(prepared)
    assert prepared._learner is not None
    prepared._learner.generations = FEW_GENERATIONS
    assert not prepared.worth_while


def test_other_games_are_left_alone(machine_of: Compile) -> None:
    """Nothing is learnt where alpha-beta is out of the question."""
    machine = machine_of(COOPERATION)
    preparation = Preparation(machine, 0, threads=1, seed=1)
    run(preparation)
    assert preparation.suits is False
    assert not preparation.worth_while
    assert preparation.evaluation is None
