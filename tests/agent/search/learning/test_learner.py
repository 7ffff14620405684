"""Matches of shallow searches, and the evaluation learnt from them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from agent.search.evaluation.network import LOGIT, NetworkEvaluation, linear_evaluation, points_of, probability
from agent.search.evaluation.scale import MOST, WIN
from agent.search.evaluation.training import Trainer
from agent.search.learning import learner as learning
from agent.search.learning import lessons, pace
from agent.search.learning.learner import Learner
from agent.search.learning.lessons import LAMBDA, LessonTable
from agent.search.learning.selfplay import NO_RESULT, play_match
from games.gdl.running.machine import CircuitMachine
from tests.agent.search.features import features_of
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


def test_returns_by_hand() -> None:
    """The last position's target is the result; earlier ones mix it with the scores of later positions."""
    score = round(LOGIT * np.log(3))  # a chance of 3 in 4
    targets = lessons._returns(np.array([0, NO_RESULT, score, -score]), WIN)
    third = LAMBDA * 1 + (1 - LAMBDA) * 0.25
    second = LAMBDA * third + (1 - LAMBDA) * 0.75
    assert targets == pytest.approx([second, second, third, 1.0], abs=1e-4)


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


def test_learns_to_win(own: Compile, learner: Learner) -> None:
    """After two generations the evaluation wins most points against one without weights."""
    root = own("connect_four").pack(own("connect_four").initial())
    zero = learner.evaluation
    with StopWhen(lambda: learner.generations >= 2) as stop:
        learner.run(root, stop.flag)
    assert learner.accepted >= 1
    assert learner.matches >= 180
    table = learner._tables[0]
    table.set_evaluation(0, zero)
    table.set_evaluation(1, learner.evaluation)
    points, played = table.compare(root, 2, 20, GO)
    assert played == 40
    assert points > 0.65 * played


def test_matches_to_learn_from_are_against_itself(
    own: Compile, learner: Learner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both players use the best evaluation, also after a candidate has lost."""
    root = own("connect_four").pack(own("connect_four").initial())
    used: list[list[float]] = []
    record = learner._record

    def recorded(table: LessonTable, *arguments: object) -> object:
        used.append([float(np.abs(player.game.weights).sum()) for player in table.players])
        return record(table, *arguments)  # type: ignore[arg-type]

    start = learner.evaluation
    learner.evaluation = linear_evaluation(start.weights + 0.1, 0.0)
    learner._record = recorded  # type: ignore[assignment, method-assign]
    monkeypatch.setattr(LessonTable, "compare", lambda *arguments: (0.0, 16))
    with StopWhen(lambda: learner.generations >= 2) as stop:
        learner.run(root, stop.flag)
    assert learner.accepted == 0
    assert len(used) >= 2
    assert all(first == second > 0 for first, second in used)


@pytest.mark.parametrize(("spent", "better"), [((100, 100), True), ((100, 200), False), ((200, 100), True)])
def test_points_count_by_the_nodes_that_they_took(
    own: Compile, learner: Learner, monkeypatch: pytest.MonkeyPatch, spent: tuple[int, int], better: bool
) -> None:
    """A candidate that searches twice as much at the same depth has to win twice as many."""
    counts = iter([np.array([1000, 1000]), np.array([1000, 1000]) + spent])
    monkeypatch.setattr(Learner, "_searched", property(lambda self: next(counts)))
    monkeypatch.setattr(LessonTable, "compare", lambda *arguments: (10.0, 16))
    root = own("connect_four").pack(own("connect_four").initial())
    with ThreadPoolExecutor(1) as pool:
        learner._generation(pool, root, np.zeros(1, np.uint8))
    assert learner.accepted == better


def test_fit_of_what_was_surely_wrong(learner: Learner) -> None:
    """Where the evaluation was sure and wrong, the fit moves towards the results, but not beyond."""
    chosen = np.random.default_rng(1)
    x = (chosen.random((400, len(learner.evaluation.weights))) < 0.2).astype(np.float32)
    learner.evaluation = linear_evaluation(chosen.normal(0, 0.3, x.shape[1]), 3.0)
    targets = np.where(chosen.random(400) < 0.5, 0.7, 0.5)

    def loss(evaluation: NetworkEvaluation) -> float:
        odds = x @ evaluation.weights + evaluation.bias
        return float((np.logaddexp(0, odds) - targets * odds).mean())

    fitted = learner._fit(x, targets, GO)
    assert fitted is not None
    assert loss(fitted) < 0.7 * loss(learner.evaluation)


def test_matches_keep_their_pace(own: Compile, learner: Learner, monkeypatch: pytest.MonkeyPatch) -> None:
    """As deep, and as many, as time permits; trial matches are as deep as the last of them."""
    depths = []

    def played(*arguments: object) -> tuple[int, int]:
        depths.append(arguments[3])
        n, result = play_match(*arguments)
        return int(n), int(result)

    monkeypatch.setattr(lessons, "play_match", played)
    monkeypatch.setattr(learning, "FEWEST_MATCHES", 40)
    monkeypatch.setattr(pace, "EARLY_SECONDS", 0.0)
    root = own("connect_four").pack(own("connect_four").initial())
    with ThreadPoolExecutor(1) as pool:
        learner._generation(pool, root, np.zeros(1, np.uint8))
    # No time at all.
    assert depths == [2, 2] + 38 * [1] + 16 * [1]


def test_stopped_learning_keeps_its_matches(own: Compile, learner: Learner) -> None:
    """The next fit begins with the matches recorded before the stop."""
    root = own("connect_four").pack(own("connect_four").initial())
    before = learner.evaluation
    counts = []
    record = learner._record

    def recorded(*arguments: object) -> object:
        stop = arguments[-1]
        assert isinstance(stop, np.ndarray)
        counts.append(arguments[2])
        parts = record(arguments[0], root, 5, 5, stop)  # type: ignore[arg-type]
        stop[0] = 1
        return parts

    learner._record = recorded  # type: ignore[assignment, method-assign]
    for _ in range(2):
        learner.run(root, np.zeros(1, np.uint8))
    assert counts == [96, 91]
    assert learner.matches == 10
    assert (learner.generations, learner.evaluation) == (0, before)


def test_stopped_trial_of_an_evaluation_goes_on(
    own: Compile, learner: Learner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However short each call is, a candidate gets through its trial matches in the end."""
    root = own("connect_four").pack(own("connect_four").initial())
    fits, pairs = [], []
    fit, compare = learner._fit, LessonTable.compare

    def fitted(*arguments: object) -> object:
        fits.append(arguments)
        return fit(*arguments)  # type: ignore[arg-type]

    def compared(*arguments: object) -> object:
        stop = arguments[-1]
        assert isinstance(stop, np.ndarray)
        pairs.append(arguments[-2])
        found = compare(arguments[0], root, 2, min(3, arguments[-2]), stop)  # type: ignore[arg-type, type-var]
        stop[0] = len(pairs) < 3
        return found

    learner._fit = fitted  # type: ignore[assignment, method-assign]
    monkeypatch.setattr(LessonTable, "compare", compared)
    for _ in range(3):
        assert learner.generations == 0
        with ThreadPoolExecutor(1) as pool:
            learner._generation(pool, root, np.zeros(1, np.uint8))
    assert pairs == [8, 5, 2]
    assert len(fits) == 1
    assert learner.generations == 1
    assert learner.experience.fresh == 0


def test_network_comes_with_positions_enough(own: Compile, learner: Learner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linear evaluations before, and no other ones after it."""
    monkeypatch.setattr(learning, "FIRST_NETWORK", 4000)
    monkeypatch.setattr(learning, "GROWTH", 0.0)
    monkeypatch.setattr(LessonTable, "compare", lambda *arguments: (16.0, 16))
    machine = own("connect_four")
    found: list[tuple[bool, int]] = []
    stop = np.zeros(1, np.uint8)

    def told() -> None:
        found.append((learner.evaluation.linear, learner._trainer.positions))
        stop[0] = len(found) >= 3 and not learner.evaluation.linear

    learner.run(machine.pack(machine.initial()), stop, told)
    assert [linear for linear, _ in found] == sorted((linear for linear, _ in found), reverse=True)
    assert found[0][0]
    assert all(linear == (positions < 4000) for linear, positions in found)


def test_network_of_earlier_matches_waits_for_positions(
    own: Compile, learner: Learner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not learnt on from the few that were remembered."""
    monkeypatch.setattr(learning, "FIRST_NETWORK", 4000)
    machine = own("connect_four")
    learner.evaluation = learner.evaluation.with_units(20.0, 1)
    assert learner.lacking == 4000
    kept = []
    trained = Trainer.trained

    def noted(trainer: Trainer, *arguments: object) -> NetworkEvaluation | None:
        kept.append(trainer.kept)
        return trained(trainer, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Trainer, "trained", noted)
    with StopWhen(lambda: learner.generations > 0) as stop:
        learner.run(machine.pack(machine.initial()), stop.flag)
    assert kept[0] >= 4000
    assert learner.lacking == 0


def test_nothing_can_be_learnt_without_ends(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Learning gives up where no match ends."""
    monkeypatch.setattr(lessons, "MAX_PLIES", 4)
    monkeypatch.setattr(lessons, "OPENING", 2)
    monkeypatch.setattr(learning, "MATCHES", 8)
    machine = own("connect_four")
    features = features_of(machine)
    learner = Learner(machine, features, linear_evaluation(np.zeros(features.n), 0.0), threads=2)
    learner.run(machine.pack(machine.initial()), np.zeros(1, np.uint8))
    assert (learner.matches, learner.generations) == (0, 0)
