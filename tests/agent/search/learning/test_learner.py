"""Matches of shallow searches, and the evaluation learnt from them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.search.evaluation.network import (
    LOGIT,
    MOST,
    WIN,
    NetworkEvaluation,
    linear_evaluation,
    points_of,
    probability,
)
from agent.search.evaluation.training import Trainer
from agent.search.learning import episodes, pace
from agent.search.learning import learner as learning
from agent.search.learning.episodes import LAMBDA, Episode, SelfPlay
from agent.search.learning.learner import Learner
from agent.search.learning.selfplay import NO_RESULT, play_match
from agent.search.pvs.workspace import EXPANSIONS
from games.gdl.running.batches import facts_in
from games.gdl.running.machine import CircuitMachine
from games.machine import State
from tests.agent.search.features import features_of, plain_features
from tests.agent.search.pvs.plain import Plain, new_searcher
from tests.agent.search.stopping import StopWhen
from tests.circuits import Compile

GO = np.zeros(1, np.uint8)


def match(
    machine: CircuitMachine, seed: int, *, opening: int = 3, random: int = 3000, most: int = 60, stopped: bool = False
) -> tuple[list[bytes], list[int], int]:
    """A match of two random evaluations: positions after the opening, their scores, the result."""
    first, second = new_searcher(machine, 1), new_searcher(machine, 2)
    states, scores = np.zeros((most, machine.words), np.uint64), np.zeros(most, np.int64)
    root, rng, stop = machine.pack(machine.initial()), np.array([seed], np.uint64), np.full(1, stopped, np.uint8)
    written = states, np.zeros(most, np.int8), scores
    n, result = play_match(first.game, second.game, root, 2, opening, random, rng, *written, stop)
    return [bytes(machine.unpack(words)) for words in states[:n]], scores[:n].tolist(), int(result)


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four"])
def test_matches_follow_the_rules(own: Compile, name: str) -> None:
    """Each position follows from the one before; the result is that of the end; searched positions have scores."""
    machine = own(name)
    plain = Plain(machine, new_searcher(machine, 1))
    ends = set()
    for seed in range(12):
        states, scores, result = match(machine, seed)
        for before, after in pairwise(states):
            assert after in [child for _, child in plain.children(before)]
        assert result in {plain.result(child) for _, child in plain.children(states[-1])}
        assert len(scores) == len(states)
        assert sum(score != NO_RESULT for score in scores) > len(scores) // 3
        assert all(abs(score) <= WIN for score in scores if score != NO_RESULT)
        ends.add(result)
    assert {WIN, -WIN} <= ends


def test_match_is_the_same_for_a_seed(own: Compile) -> None:
    """Openings and random moves come from the seed alone."""
    machine = own("connect_four")
    assert match(machine, 5) == match(machine, 5)
    assert match(machine, 5)[0] != match(machine, 6)[0]


def test_scores_are_those_of_role_0(own: Compile) -> None:
    """Without random moves, the score of each position is that of the mover's own evaluation."""
    machine = own("tic_tac_toe")
    players = [Plain(machine, new_searcher(machine, seed)) for seed in (1, 2)]
    states, scores, _ = match(machine, 3, opening=1, random=0)
    compared = 0
    for state, score in zip(states, scores, strict=True):
        side = players[0].mover(state)
        if side > 1:
            assert score == NO_RESULT
            continue
        expected = (1 - 2 * side) * players[side].score(state, side, 2)
        # Deeper searches before may have left wins in the table.
        assert score == expected or abs(score) > MOST
        compared += 1
    assert compared > 3


def test_unfinished_matches_have_no_result(own: Compile) -> None:
    """Neither stopped ones nor too long ones."""
    machine = own("connect_four")
    assert match(machine, 1, stopped=True) == ([], [], NO_RESULT)
    states, _, result = match(machine, 1, opening=2, most=3)
    assert (len(states), result) == (3, NO_RESULT)
    assert match(own("rock_paper_scissors"), 1)[2] == NO_RESULT


def test_targets_mix_the_result_with_later_scores(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last position's target is the result; scores before it count less and less."""
    score = round(LOGIT * np.log(3))  # a chance of 3 in 4

    def play(table: SelfPlay, *arguments: object) -> tuple[int, int]:
        table._scores[:4] = 0, NO_RESULT, score, -score
        return 4, WIN

    monkeypatch.setattr(SelfPlay, "play", play)
    machine = own("tic_tac_toe")
    table = SelfPlay(machine, features_of(machine), 1, np.zeros(len(machine.game.fluents), np.uint64))
    episode = table.record(machine.pack(machine.initial()), 2, GO)
    assert episode is not None
    third = LAMBDA * 1 + (1 - LAMBDA) * 0.25
    second = LAMBDA * third + (1 - LAMBDA) * 0.75
    assert episode.targets == pytest.approx([second, second, third, 1.0], abs=1e-4)


def test_points_and_chances() -> None:
    """Wins are a point, draws half of one; a proven win is certain."""
    assert [points_of(result) for result in (WIN, -WIN, 0, MOST // 2)] == [1, 0, 0.5, 0.75]
    assert (probability(WIN - 3), probability(3 - WIN), probability(0)) == (1, 0, 0.5)
    assert probability(LOGIT) == pytest.approx(1 / (1 + np.exp(-1)))


@pytest.fixture
def learner(own: Compile, monkeypatch: pytest.MonkeyPatch) -> Learner:
    """A learner without knowledge, with few matches to try evaluations out."""
    monkeypatch.setattr(learning, "MATCHES", 96)
    monkeypatch.setattr(learning, "GATE", 16)
    machine = own("connect_four")
    features = features_of(machine)
    return Learner(machine, features, linear_evaluation(np.zeros(features.n), 0.0), seed=3)


@pytest.fixture
def root(own: Compile) -> NDArray[np.uint64]:
    """Where matches start, packed."""
    return own("connect_four").pack(own("connect_four").initial())


def until(learner: Learner, root: NDArray[np.uint64], condition: Callable[[], bool]) -> None:
    """Learns until a condition holds."""
    with StopWhen(condition) as stop:
        learner.run(root, stop.flag)


def test_learns_to_win(own: Compile, learner: Learner, root: NDArray[np.uint64]) -> None:
    """After two generations the evaluation wins most points against one without weights."""
    zero = learner.evaluation
    until(learner, root, lambda: learner.generations >= 2)
    assert learner.accepted >= 1
    assert learner.matches >= 180
    zobrist = np.random.default_rng(1).integers(0, 1 << 64, len(own("connect_four").game.fluents), np.uint64)
    table = SelfPlay(own("connect_four"), features_of(own("connect_four")), 1, zobrist)
    table.set_evaluation(0, zero)
    table.set_evaluation(1, learner.evaluation)
    points, played = table.compare(root, 2, 20, GO)
    assert played == 40
    assert points > 0.65 * played


def test_a_candidate_that_loses_is_not_used(
    own: Compile, learner: Learner, root: NDArray[np.uint64], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Matches to learn from are played by the best evaluation against itself."""
    used: list[list[float]] = []
    record = SelfPlay.record

    def recorded(table: SelfPlay, *arguments: Any) -> Episode | None:
        used.append([float(np.abs(player.game.weights).sum()) for player in table.players])
        return record(table, *arguments)

    learner.evaluation = linear_evaluation(learner.evaluation.weights + 0.1, 0.0)
    monkeypatch.setattr(SelfPlay, "record", recorded)
    monkeypatch.setattr(SelfPlay, "compare", lambda *arguments: (0.0, 16))
    until(learner, root, lambda: learner.generations >= 2)
    assert learner.accepted == 0
    assert {first == second == used[0][0] > 0 for first, second in used} == {True}


@pytest.mark.parametrize(("points", "spent", "better"), [(10, 1, True), (10, 2, False), (7, 0.5, True), (8, 1, False)])
def test_points_count_by_the_nodes_that_they_took(
    learner: Learner,
    root: NDArray[np.uint64],
    monkeypatch: pytest.MonkeyPatch,
    points: float,
    spent: float,
    better: bool,
) -> None:
    """A candidate that searches twice as much at the same depth has to win twice as many."""

    def compare(table: SelfPlay, *arguments: object) -> tuple[float, int]:
        for player, nodes in zip(table.players, (1e6, spent * 1e6), strict=True):
            player.work.counts[EXPANSIONS] += int(nodes)
        return points, 16

    monkeypatch.setattr(SelfPlay, "compare", compare)
    stop = np.zeros(1, np.uint8)
    learner.run(root, stop, lambda: stop.fill(1))
    assert (learner.generations, learner.accepted) == (1, better)


def test_what_was_surely_wrong_is_corrected(
    own: Compile, learner: Learner, random_states: Callable[[CircuitMachine, int], list[State]]
) -> None:
    """Where the evaluation was sure and wrong, the fit moves towards the results, but not beyond."""
    machine, chosen = own("connect_four"), np.random.default_rng(1)
    states = np.array([machine.pack(state) for state in random_states(machine, 400)])
    x = plain_features(features_of(machine), facts_in(states, len(machine.game.fluents)))
    learner.evaluation = linear_evaluation(chosen.normal(0, 0.3, x.shape[1]), 3.0)
    targets = np.where(chosen.random(len(x)) < 0.5, 0.7, 0.5)

    def loss() -> float:
        odds = x @ learner.evaluation.weights + learner.evaluation.bias
        return float((np.logaddexp(0, odds) - targets * odds).mean())

    before = loss()
    learner.imitate(states, targets)
    assert loss() < 0.7 * before


def test_matches_keep_their_pace(learner: Learner, root: NDArray[np.uint64], monkeypatch: pytest.MonkeyPatch) -> None:
    """As deep, and as many, as time permits; trial matches are as deep as the last of them."""
    depths = []

    def played(*arguments: object) -> tuple[int, int]:
        depths.append(arguments[3])
        n, result = play_match(*arguments)
        return int(n), int(result)

    monkeypatch.setattr(episodes, "play_match", played)
    monkeypatch.setattr(learning, "FEWEST_MATCHES", 40)
    monkeypatch.setattr(pace, "EARLY_SECONDS", 0.0)
    stop = np.zeros(1, np.uint8)
    learner.run(root, stop, lambda: stop.fill(1))
    # No time at all.
    assert depths == [2, 2] + 38 * [1] + 16 * [1]


@pytest.mark.parametrize("phase", ["record", "compare"])
def test_stopped_learning_goes_on(
    learner: Learner, root: NDArray[np.uint64], monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    """However short each call is, an evaluation comes in the end: matches recorded and trial matches add up."""
    original, calls = getattr(SelfPlay, phase), []

    def interrupted(table: SelfPlay, root: NDArray[np.uint64], depth: int, *rest: Any) -> object:
        *pairs, stop = rest
        calls.append(pairs)
        found = original(table, root, depth, *(min(3, n) for n in pairs), stop)
        stop[0] |= len(calls) % 40 == 0 if phase == "record" else pairs[0] > 3
        return found

    monkeypatch.setattr(SelfPlay, phase, interrupted)
    runs = 0
    while not learner.generations:
        stop, before = np.zeros(1, np.uint8), learner.evaluation
        learner.run(root, stop, lambda stop=stop: stop.fill(1))
        assert learner.generations or learner.evaluation is before
        runs += 1
    assert runs == 3
    assert learner.matches == learner.experience.fresh + 96
    assert phase == "record" or calls == [[8], [5], [2]]


def test_network_comes_with_positions_enough(
    own: Compile, learner: Learner, root: NDArray[np.uint64], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linear evaluations before, and no other ones after it. One of earlier matches waits for as many positions."""
    monkeypatch.setattr(learning, "FIRST_NETWORK", 4000)
    monkeypatch.setattr(learning, "GROWTH", 0.0)
    monkeypatch.setattr(SelfPlay, "compare", lambda *arguments: (16.0, 16))
    found: list[bool] = []
    kept: list[int] = []
    trained = Trainer.trained

    def noted(trainer: Trainer, *arguments: Any) -> NetworkEvaluation | None:
        kept.append(trainer.kept)
        return trained(trainer, *arguments)

    monkeypatch.setattr(Trainer, "trained", noted)
    stop = np.zeros(1, np.uint8)

    def told() -> None:
        found.append(learner.evaluation.linear)
        stop[0] = found.count(False) >= 2

    learner.run(root, stop, told)
    assert found == sorted(found, reverse=True)
    assert found[0]
    assert kept[0] >= 4000
    machine, features = own("connect_four"), features_of(own("connect_four"))
    later = Learner(machine, features, linear_evaluation(np.zeros(features.n), 0.0).with_units(20.0, 1), seed=3)
    assert later.lacking == 4000
    kept.clear()
    until(later, root, lambda: later.generations > 0)
    assert kept[0] >= 4000
    assert later.lacking == 0


def test_nothing_can_be_learnt_without_ends(
    learner: Learner, root: NDArray[np.uint64], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Learning gives up where no match ends."""
    monkeypatch.setattr(SelfPlay, "record", lambda *arguments: None)
    learner.run(root, np.zeros(1, np.uint8))
    assert (learner.matches, learner.generations) == (0, 0)
