"""Matches that helpers play for a learner."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from agent.search.evaluation.features import Features
from agent.search.evaluation.network import NetworkEvaluation, linear_evaluation
from agent.search.learning import learner as learning
from agent.search.learning.actors import Actors, Episodes, Players, SelfPlaySetting
from agent.search.learning.episodes import Episode, SelfPlay
from agent.search.learning.learner import Learner
from games.gdl.running.machine import CircuitMachine
from tests.agent.search.features import features_of
from tests.agent.search.stopping import StopWhen
from tests.agent.search.teams import AssistedTeam, CannedTeam
from tests.circuits import Compile


@pytest.fixture(autouse=True)
def _few_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "MATCHES", 96)
    monkeypatch.setattr(learning, "GATE", 16)


@pytest.fixture
def machine(own: Compile) -> CircuitMachine:
    """Four in a row."""
    return own("connect_four")


@pytest.fixture
def features(machine: CircuitMachine) -> Features:
    """Its features."""
    return features_of(machine)


def knows_nothing(features: Features) -> NetworkEvaluation:
    """An evaluation without weights."""
    return linear_evaluation(np.zeros(features.n), 0.0)


def test_a_learner_learns_from_matches_of_a_helper(
    machine: CircuitMachine, features: Features, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It plays a part of each generation itself; the helper uses each new evaluation, and rests in the end."""
    own: list[Episode] = []
    helped: list[NetworkEvaluation] = []
    record, team = SelfPlay.record, AssistedTeam(machine, 0)
    learner = Learner(machine, features, knows_nothing(features), seed=3, team=team)

    def recorded(table: SelfPlay, *arguments: object) -> Episode | None:
        episode = record(table, *arguments)  # type: ignore[arg-type]
        if episode is not None and table in learner._tables:
            own.append(episode)
        return episode

    monkeypatch.setattr(SelfPlay, "record", recorded)
    set_evaluation = SelfPlay.set_evaluation

    def set_down(table: SelfPlay, player: int, evaluation: NetworkEvaluation) -> None:
        if table not in learner._tables:
            helped.append(evaluation)
        set_evaluation(table, player, evaluation)

    monkeypatch.setattr(SelfPlay, "set_evaluation", set_down)
    with StopWhen(lambda: len({id(evaluation) for evaluation in helped}) > 1) as stop:
        learner.run(machine.pack(machine.initial()), stop.flag)
    assert team.resting
    assert team.asked == [machine.initial()]
    assert 0 < len(own) < learner.matches
    assert len(learner.experience.targets) > sum(len(episode.targets) for episode in own)
    assert learner.accepted >= 1


def test_a_learner_that_was_stopped_asks_nobody(machine: CircuitMachine, features: Features) -> None:
    """Its helpers may be at work for a search already."""
    team = CannedTeam()
    learner = Learner(machine, features, knows_nothing(features), team=team)
    learner.run(machine.pack(machine.initial()), np.ones(1, np.uint8))
    assert team.asked == []


def test_helpers_that_tell_nothing_are_not_waited_for(machine: CircuitMachine, features: Features) -> None:
    """The learner plays a quarter of the matches however many helpers it has, and continues with these."""
    team = CannedTeam([None] * 63)
    learner = Learner(machine, features, knows_nothing(features), seed=3, team=team)
    with StopWhen(lambda: learner.generations >= 2) as stop:
        learner.run(machine.pack(machine.initial()), stop.flag)
    assert 40 <= learner.matches <= 3 * 24


def test_an_assistant_plays_what_it_is_told(machine: CircuitMachine, features: Features) -> None:
    """Setting, notes and answers can be pickled; each match is sent once."""
    first = Players(knows_nothing(features), 1)
    setting = pickle.loads(pickle.dumps(SelfPlaySetting(features.for_search, first)))
    assistant = setting.assistant(machine, 0, 0)
    assistant.begin(machine.initial())
    assert assistant.answer() is None
    told: list[Episodes] = []

    def tells() -> bool:
        answer = assistant.answer()
        if answer is not None:
            told.append(pickle.loads(pickle.dumps(answer)))
        return sum(len(episodes.matches) for episodes in told) >= 20

    with StopWhen(tells) as stop:
        assistant.think(stop.flag)
    assert all(episodes.fits(machine.words) for episodes in told)
    states = np.concatenate([states for episodes in told for states, *_ in episodes.matches])
    assert len({bytes(state) for state in states}) > len(states) / 2
    results = {target for episodes in told for episode in episodes.matches for target in episode.targets}
    assert len(results) > 2
    # Matches that ended since then are of the first players, too.
    assistant.answer()
    second = Players(linear_evaluation(np.ones(features.n), 0.5), 2)
    assistant.take(pickle.loads(pickle.dumps(second)))
    with StopWhen(lambda: assistant.answer() is not None) as stop:
        assistant.think(stop.flag)
    rows, _ = second.evaluation.kernel_form()
    weights = features.kernel_rows(rows).ravel()
    assert all(np.array_equal(player.game.weights[: weights.size], weights) for player in assistant._table.players)


def test_nonsense_is_not_learnt(machine: CircuitMachine, features: Features) -> None:
    """Positions of another game, targets that are no chances; the newest players are passed on once."""
    team = CannedTeam()
    actors = Actors(team, machine, features)
    start, better = knows_nothing(features), linear_evaluation(np.ones(features.n), 0.0)
    movers = np.array([0, 1, 2], np.int8)
    good = Episode(np.zeros((3, machine.words), np.uint64), movers, np.array([0.0, 0.5, 1.0]), 9)
    bad = [
        good._replace(states=np.zeros((3, machine.words + 1), np.uint64)),
        good._replace(movers=movers + np.int8(1)),
        good._replace(movers=movers[:2]),
        good._replace(states=np.zeros((2, machine.words), np.uint64)),
        good._replace(states=np.zeros((3, machine.words))),  # type: ignore[arg-type]
        good._replace(targets=np.array([0.0, 0.5, 1.1])),
        good._replace(targets=np.array([0.0, 0.5, np.nan])),
    ]
    with actors.playing(machine.pack(machine.initial()), start, 2):
        hear = team.hear
        assert hear is not None
        nonsense = ["nonsense", None, *(Episodes((good, one)) for one in bad)]
        assert all(hear(answer) is None for answer in nonsense)
        assert actors.episodes() == []
        assert hear(Episodes((good, good))) is None
        actors.go_by(start, 2)
        assert hear(Episodes((good,))) is None
        actors.go_by(better, 2)
        players = hear(Episodes((good,)))
        assert isinstance(players, Players)
        assert (players.evaluation, players.depth) == (better, 2)
        assert hear(Episodes((good,))) is None
    assert len(actors.episodes()) == 5
    assert actors.episodes() == []
    assert team.resting
    # A helper asked again begins with the players of the setting.
    with actors.playing(machine.pack(machine.initial()), better, 2):
        assert isinstance(team.setting, SelfPlaySetting)
        assert team.setting.players.evaluation is start
        assert team.hear is not None
        assert team.hear(Episodes((good,))) is players


def test_without_a_team_nobody_is_asked(machine: CircuitMachine, features: Features) -> None:
    """No episodes come."""
    actors = Actors(None, machine, features)
    with actors.playing(machine.pack(machine.initial()), knows_nothing(features), 2):
        assert (actors.size, actors.episodes()) == (0, [])


def test_what_is_sent_of_features_is_what_a_search_needs(features: Features) -> None:
    """Shared patterns are only for learning."""
    sent = features.for_search
    assert (sent.n, sent.n_single) == (features.n, features.n_single)
    assert sent.patterns.size == 0
    assert sent.fact is features.fact
