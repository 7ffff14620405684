"""Which games are for alpha-beta, and what happens before it plays."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import pytest

from agent.search.engine import Engine, Opinion, Report, StopFlag
from agent.search.pvs import first_evaluation
from agent.search.pvs import preparation as preparing
from agent.search.pvs import trial as trying
from agent.search.pvs.analysis import Analyser
from agent.search.pvs.engine import CannotSearchError
from agent.search.pvs.evaluation import LOGIT
from agent.search.pvs.foresight import Foresight
from agent.search.pvs.learning import Learner
from agent.search.pvs.lessons import Lesson
from agent.search.pvs.match_series import TrialMatch
from agent.search.pvs.preparation import FEW_GENERATIONS, MOST_PRIOR, Preparation
from agent.search.pvs.survey import _opposed, survey
from agent.search.pvs.tally import Tally
from agent.search.pvs.trial import (
    CLEAR_LEAD,
    DECISIVE_LEAD,
    LEAST_SECONDS,
    MANY_TRIALS,
    MOST_SECONDS,
    SPEED_SECONDS,
    SPEED_SHARE,
    TRIAL_SECONDS,
)
from agent.search.pvs.variants import MANY_MATCHES
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term
from tests.agent.search.pvs.plain import bits_of
from tests.agent.search.pvs.sheets import COOPERATION, MARKS, heap
from tests.agent.search.stopping import StopWhen

Compile = Callable[[str], CircuitMachine]

GO = np.zeros(1, np.uint8)


def test_survey_tells_games_apart(own: Compile, machine_of: Compile) -> None:
    """Alpha-beta is for turns and opposed goals."""
    suits = {
        "tic-tac-toe": own("tic_tac_toe"),
        "heap": machine_of(heap(8)),
        "marks": machine_of(MARKS),
        "rock paper scissors": own("rock_paper_scissors"),
        "cooperation": machine_of(COOPERATION),
    }
    found = {name: survey(machine) for name, machine in suits.items()}
    assert all(found.values())
    assert {name for name, one in found.items() if one is not None and one.suits} == {"tic-tac-toe", "heap"}
    assert {name for name, one in found.items() if one is not None and not one.turns} == {"rock paper scissors"}
    assert {name for name, one in found.items() if one is not None and not one.opposed} == {"cooperation", "marks"}
    marks = found["marks"]
    assert marks is not None
    assert marks.most_moves == 144


@pytest.mark.parametrize(
    ("goals", "opposed"),
    [
        ([[100, 0], [0, 100], [50, 50]], True),
        # Draws are worth nothing, and chance draws mostly.
        ([[0, 0]] * 50 + [[100, 0], [0, 100]], True),
        # Both collect points.
        ([[20, 10], [10, 30], [30, 40], [40, 10], [0, 20]], True),
        ([[10, 10], [30, 40], [50, 50]], False),
        # What one gets beyond the half is not the other's loss.
        ([[100, 40], [40, 100], [100, 100], [40, 40]], False),
        ([[100, 60], [60, 100]], True),
        # Chance always draws, or always loses.
        ([[50, 50], [50, 50]], True),
        ([[0, 100], [0, 100]], True),
        ([[100, 100], [100, 100]], False),
        ([[100, 0], [100, 100]], False),
    ],
)
def test_who_plays_against_whom(goals: list[list[int]], opposed: bool) -> None:
    """The roles are against one another unless both do well together."""
    assert _opposed(np.array(goals, np.float64)) == opposed


@pytest.mark.parametrize("name", ["eight_puzzle", "three_way_line"])
def test_survey_is_for_two_players(own: Compile, name: str) -> None:
    """One player, or three."""
    assert survey(own(name)) is None


class Scripted(Engine):
    """Wants the first legal move, or the last one; what it was asked is noted."""

    name = "scripted"

    def __init__(self, machine: CircuitMachine, role: int, pick: int, error: type[Exception] | None = None) -> None:
        self._machine, self._role, self._pick, self._error = machine, role, pick, error
        self.states: list[State] = []

    def begin(self, state: State) -> None:
        self.states = [state]

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        assert self._machine.next(self.states[-1], joint_move) == state
        self.states.append(state)

    def think(self, stop: StopFlag, report: Report, seconds: float | None) -> None:
        if self._error is not None:
            raise self._error
        report(Opinion(self._machine.legal(self.states[-1], self._role)[self._pick]))


class Fixed(Random):
    """No random plies at the start."""

    def randint(self, a: int, b: int) -> int:
        return a


def match_of(machine: CircuitMachine, first: Engine, second: Engine, seconds: float = 0.01) -> TrialMatch:
    """A match from the beginning of the game."""
    return TrialMatch(machine, machine.initial(), (first, second), seconds, Fixed(1))


def test_trial_counts_points(own: Compile) -> None:
    """In tic-tac-toe, first cells in order against the last ones; both engines follow the match."""
    machine = own("tic_tac_toe")
    first, second = Scripted(machine, 0, 0), Scripted(machine, 1, -1)
    assert match_of(machine, first, second).play(GO) == 1.0
    assert first.states == second.states
    assert len(first.states) == 5
    assert match_of(machine, Scripted(machine, 0, 0), Scripted(machine, 1, 0)).play(GO) == 1


def test_interrupted_trial_goes_on(own: Compile) -> None:
    """A match that is stopped at its third move ends as it would have without that."""
    machine = own("tic_tac_toe")
    stop = np.zeros(1, np.uint8)

    class Stopping(Scripted):
        def think(self, halt: StopFlag, report: Report, seconds: float | None) -> None:
            super().think(halt, report, seconds)
            stop[0] = len(self.states) == 3

    first = Stopping(machine, 0, 0)
    match = match_of(machine, first, Scripted(machine, 1, -1))
    assert match.play(stop) is None
    assert not match.void
    assert len(first.states) == 3
    assert match.play(GO) == 1.0
    assert len(first.states) == 5


def test_trial_without_a_result(own: Compile, machine_of: Compile) -> None:
    """A stopped match, and one that the opening ends, count for nothing; what an engine raises is passed on."""
    machine = own("tic_tac_toe")
    assert match_of(machine, Scripted(machine, 0, 0), Scripted(machine, 1, -1)).play(np.ones(1, np.uint8)) is None
    short = machine_of(heap(1))

    class Long(Random):
        def randint(self, a: int, b: int) -> int:
            return b

    over = TrialMatch(short, short.initial(), (Scripted(short, 0, 0), Scripted(short, 1, 0)), 0.01, Long(1))
    assert over.void
    assert over.play(GO) is None
    before = threading.active_count()
    failing = match_of(machine, Scripted(machine, 0, 0, CannotSearchError), Scripted(machine, 1, 0), 100.0)
    with pytest.raises(CannotSearchError):
        failing.play(GO)
    assert threading.active_count() == before


@pytest.fixture
def prepared(own: Compile) -> Preparation:
    """Of tic-tac-toe."""
    return Preparation(own("tic_tac_toe"), 0, threads=2, seed=4)


def run(preparation: Preparation, stop: Sequence[int] | StopFlag = (0,), *, trial: bool = True) -> None:
    """Prepares without any time for learning and trial matches."""
    machine = preparation._machine
    preparation.run(machine.initial(), 0.0, np.array(stop, np.uint8), trial=trial)


def test_first_evaluation_comes_however_short_the_time(prepared: Preparation) -> None:
    """The fit to random play is waited for; the rest is left out."""
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
    """What was not found out in time is found out later."""
    run(prepared, (1,))
    assert prepared.suits
    assert not prepared.prefers_alpha_beta
    assert prepared.worth_while
    run(prepared)
    assert prepared.prefers_alpha_beta


def test_slow_game_of_which_nothing_is_learnt_is_left_to_tree_search(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until something is, while others think and no match comes to its end, or a match was won."""
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


class FakeMatch:
    """A trial match that somebody else has decided."""

    void = False

    def __init__(self, play: Callable[[Sequence[Engine]], float | None], seconds: float = 0.0) -> None:
        self._play = play
        self.seconds = seconds
        self._engines: Sequence[Engine] = ()

    def __call__(
        self, machine: object, root: object, engines: Sequence[Engine], seconds: float, random: object
    ) -> FakeMatch:
        match = FakeMatch(self._play, seconds)
        match._engines = engines
        return match

    def play(self, stop: object) -> float | None:
        """The first engine's share."""
        return self._play(self._engines)


def role_of_alpha_beta(engines: Sequence[Engine]) -> int:
    """Which of them it is."""
    return 0 if engines[0].name == "alpha-beta" else 1


def test_lost_trial_speaks_for_tree_search(prepared: Preparation, monkeypatch: pytest.MonkeyPatch) -> None:
    """So do even ones, but not for good; alpha-beta takes both seats by turns."""
    stop = np.zeros(1, np.uint8)
    seats: list[int] = []

    def played(engines: Sequence[Engine]) -> float:
        seats.append(role_of_alpha_beta(engines))
        stop[0] = len(seats) == 6
        return 0.25 if seats[-1] == 0 else 0.75

    run(prepared, trial=False)
    monkeypatch.setattr(trying, "TrialMatch", FakeMatch(played))
    prepared.trials._play_some((0, 1), stop, lambda: True)
    assert seats == [0, 1] * 3
    assert prepared.trials.tally == (1.5, 6)
    assert not prepared.prefers_alpha_beta
    assert not prepared.worth_while
    prepared.trials.points = 3.0
    assert not prepared.prefers_alpha_beta
    assert prepared.worth_while
    prepared.trials.points = 3.5
    assert prepared.prefers_alpha_beta


def test_interrupted_match_is_the_next_one(prepared: Preparation, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on with the same seats, before a new one begins, and is as hurried as it was."""
    results = iter([None, 0.0, 0.0])
    seats: list[int] = []

    def played(engines: Sequence[Engine]) -> float | None:
        seats.append(role_of_alpha_beta(engines))
        result = next(results)
        stop[0] = len(seats) != 2
        return result

    run(prepared, trial=False)
    monkeypatch.setattr(trying, "TrialMatch", FakeMatch(played))
    stop = np.zeros(1, np.uint8)
    trials = prepared.trials
    trials._seconds, trials._wanted = 0.04, 0.1
    trials._play_some((0, 1), stop, lambda: True)
    assert (trials.points, trials.matches, trials.hurried) == (0.0, 0, 0)
    stop[0] = 0
    trials._seconds = 0.1
    trials._play_some((0, 1), stop, lambda: True)
    assert (trials.points, trials.matches, trials.hurried) == (1.0, 2, 1)
    assert seats == [0, 0, 1]


@pytest.mark.parametrize(
    ("needed", "points", "lost"),
    [(0.03, 1.0, False), (0.05, 0.82, False), (0.2, 0.52, True), (100.0, 1.0, False)],
)
def test_what_is_won_in_a_hurry_counts_the_less(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch, needed: float, points: float, lost: bool
) -> None:
    """The less time tree search had of what it needs; but where there will never be enough it is as good as it gets."""
    run(prepared, trial=False)
    trials = prepared.trials
    monkeypatch.setattr(trying, "TrialMatch", FakeMatch(lambda engines: 1.0 - role_of_alpha_beta(engines)))
    monkeypatch.setattr(trying, "MANY_TRIALS", 2)
    monkeypatch.setattr(trials, "_time_to_search", lambda stop, seconds: needed)
    trials.plies = 1e9
    trials.play((0, 1), time.monotonic() + 1000.0, np.zeros(1, np.uint8), math.inf)
    assert trials.matches >= 2
    assert trials.points == pytest.approx(points * trials.matches)
    assert trials.lost == lost


def test_tree_search_is_watched_however_little_time_there_is(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the first trial matches there is less than a second, and to take it for quick would decide the choice."""
    run(prepared, trial=False)
    trials = prepared.trials
    watched: list[float] = []
    monkeypatch.setattr(trials, "_time_to_search", lambda stop, seconds: watched.append(seconds) or 0.1)
    trials.play((0, 1), time.monotonic() + 0.9, np.zeros(1, np.uint8), CLEAR_LEAD)
    assert len(watched) == 1
    assert 0 < watched[0] <= 0.9 * SPEED_SHARE < SPEED_SECONDS


@pytest.mark.parametrize(("points", "left"), [(30.0, 1000.0), (20.0, 0.0)])
def test_trial_matches_cost_nothing_where_none_will_be_played(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch, points: float, left: float
) -> None:
    """Because earlier preparations of the game have found out, or for want of time."""

    def fail(*arguments: object) -> float:
        raise AssertionError("tree search is not to be watched")

    run(prepared, trial=False)
    trials = prepared.trials
    trials.recall(Tally(points, 40))
    before = trials.points, trials.matches
    monkeypatch.setattr(trials, "_time_to_search", fail)
    trials.play((0, 1), time.monotonic() + left, np.zeros(1, np.uint8), CLEAR_LEAD)
    assert (trials.points, trials.matches) == before


@pytest.mark.parametrize(
    ("left", "least", "most"), [(math.inf, TRIAL_SECONDS, TRIAL_SECONDS), (3.0, LEAST_SECONDS, 0.03)]
)
def test_moves_are_quicker_where_matches_would_not_end_in_time(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch, left: float, least: float, most: float
) -> None:
    """Two matches of a hundred moves, at once."""
    stop = np.zeros(1, np.uint8)
    moves: list[float] = []

    def begin(machine: object, root: object, engines: object, seconds: float, random: object) -> FakeMatch:
        moves.append(seconds)
        stop[0] = 1
        return FakeMatch(lambda engines: 0.5)

    run(prepared, trial=False)
    monkeypatch.setattr(trying, "TrialMatch", begin)
    monkeypatch.setattr(prepared.trials, "_time_to_search", lambda stop, seconds: TRIAL_SECONDS)
    prepared.trials.plies = 100.0
    prepared.trials.play((0, 1), time.monotonic() + left, stop, CLEAR_LEAD)
    assert moves
    assert all(least <= seconds <= most for seconds in moves)


@pytest.mark.parametrize(("playouts", "seconds"), [(0, MOST_SECONDS), (10**9, TRIAL_SECONDS)])
def test_moves_take_longer_where_tree_search_is_slow(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch, playouts: int, seconds: float
) -> None:
    """Up to a bound, and only there."""

    class Tree:
        def __init__(self, *arguments: object, **options: object) -> None:
            self.playouts = 0

        def begin(self, state: State) -> None:
            pass

        def think(self, stop: StopFlag, report: Report, seconds: float) -> None:
            self.playouts += playouts
            while not stop[0]:
                time.sleep(0.001)

    moves: list[float] = []

    def begin(machine: object, root: object, engines: object, seconds: float, random: object) -> FakeMatch:
        moves.append(seconds)
        stop[0] = 1
        return FakeMatch(lambda engines: 0.5)

    stop = np.zeros(1, np.uint8)
    run(prepared, trial=False)
    monkeypatch.setattr(trying, "TrialMatch", begin)
    monkeypatch.setattr(prepared.trials, "_make_tree", Tree)
    prepared.trials.play((0, 1), math.inf, stop, CLEAR_LEAD)
    assert set(moves) == {seconds}


@pytest.mark.parametrize(
    ("share", "seconds", "lost"), [(0.5, 0.04, True), (0.5, 0.06, True), (0.75, 0.06, False), (0.25, 0.1, True)]
)
def test_ties_are_lost(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch, share: float, seconds: float, lost: bool
) -> None:
    """Where the same seat wins whoever has it nothing is known. Without any match alpha-beta plays. That there is more
    time afterwards changes nothing."""
    run(prepared, trial=False)
    trials = prepared.trials
    assert not trials.lost
    monkeypatch.setattr(trying, "MANY_TRIALS", 2)
    monkeypatch.setattr(trying, "LEAST_SECONDS", seconds)
    monkeypatch.setattr(trying, "TrialMatch", FakeMatch(lambda engines: abs(role_of_alpha_beta(engines) - share)))
    monkeypatch.setattr(trials, "_time_to_search", lambda stop, seconds: 0.1)
    stop = np.zeros(1, np.uint8)
    trials.plies = 1e9
    trials.play((0, 1), time.monotonic() + 1000.0, stop, CLEAR_LEAD)
    assert trials.matches >= 2
    assert trials.points == share * trials.matches
    trials.play((0, 1), math.inf, stop, CLEAR_LEAD)
    assert (trials.lost or trials.tied) == lost
    assert prepared.prefers_alpha_beta != lost


@pytest.mark.parametrize(
    ("needed", "prior", "plays"),
    [(0.03, 0.0, True), (0.03, -0.1, False), (0.2, 0.4, False), (0.2, 0.6, True), (100.0, 0.0, False)],
)
def test_matches_without_end_on_too_little_time_leave_the_game_to_tree_search(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch, needed: float, prior: float, plays: bool
) -> None:
    """Unless alpha-beta was expected to win: in gomoku on 15x15 cells what random play shows is worth nothing. Nor is
    it in a game that is slow for both searches."""
    run(prepared, trial=False)
    trials = prepared.trials
    trials.prior = prior
    monkeypatch.setattr(trying, "TrialMatch", FakeMatch(lambda engines: None))
    monkeypatch.setattr(trials, "_time_to_search", lambda stop, seconds: needed)
    trials.plies = 1e9
    trials.play((0, 1), time.monotonic() + 1000.0, np.zeros(1, np.uint8), CLEAR_LEAD)
    assert trials.matches == 0
    assert prepared.prefers_alpha_beta == plays
    trials.recall(Tally(3.0, 3))
    assert prepared.prefers_alpha_beta


@pytest.mark.parametrize(("advantage", "prior"), [(0.07, 0.7), (-0.07, -0.7), (0.9, MOST_PRIOR), (-0.9, -MOST_PRIOR)])
def test_what_is_foreseen_counts_as_much_as_matches(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch, advantage: float, prior: float
) -> None:
    """Up to a bound, so that matches can show the opposite; it is asked after each part of the time for learning."""
    looked: list[float] = []
    monkeypatch.setattr(Learner, "run", lambda self, root, stop: None)
    monkeypatch.setattr(Foresight, "play_out", lambda self, seconds, stop: looked.append(seconds))
    monkeypatch.setattr(Foresight, "advantage", advantage)
    monkeypatch.setattr(trying.Trials, "play", lambda *arguments: None)
    prepared.run(prepared._machine.initial(), 2.0, np.zeros(1, np.uint8))
    # What is clear after the first part leaves the rest of the time to tree search.
    assert len(looked) == (1 if prior <= -CLEAR_LEAD else 2)
    assert prepared.trials.prior == pytest.approx(prior)
    assert prepared.trials.lead == pytest.approx(prior)
    assert prepared.prefers_alpha_beta == (prior > 0)
    prepared.trials.recall(Tally(0.0 if prior > 0 else 4.0, 4))
    assert prepared.prefers_alpha_beta == (prior < 0)


def test_matches_are_as_long_as_those_that_were_learnt_from(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random ones may be much longer."""
    run(prepared)
    assert prepared._learner is not None
    assert prepared._learner.plies is None
    monkeypatch.setattr(preparing.Trials, "play", lambda *arguments: None)
    before = prepared.trials.plies
    prepared._try_out(0.0, GO, CLEAR_LEAD)
    assert prepared.trials.plies == before > 1
    states, targets = np.zeros((1, prepared.searched.words), np.uint64), np.zeros(1)
    prepared._learner._remember([Lesson(states, targets, plies, 0.5) for plies in (20, 30)])
    prepared._try_out(0.0, GO, CLEAR_LEAD)
    assert prepared.trials.plies == 25


def test_open_question_is_settled_while_others_think(prepared: Preparation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Learning and trial matches take turns until there is enough of either; a clear result turns the choice round."""
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
    # How tree search does best is known.
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
    """Found out in a trial match, that is the end of it."""

    def refuse(engines: object) -> float:
        raise CannotSearchError

    run(prepared)
    monkeypatch.setattr(trying, "TrialMatch", FakeMatch(refuse))
    prepared._try_out(math.inf, np.zeros(1, np.uint8), CLEAR_LEAD)
    assert prepared.trials.matches == 0
    assert not prepared.prefers_alpha_beta


def test_very_many_fluents_share_weights(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too many for a fit of their own: then patterns have the weights, and random play gives the first
    ones."""
    monkeypatch.setattr(preparing.fit, "MAX_FLUENTS", 80)
    monkeypatch.setattr(first_evaluation, "MOST_BATCHES", 64)
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
    weights = dict(zip(machine.game.fluents, features.fluent_weights(evaluation.weights), strict=True))
    # Of one piece alone it depends on which matches were played.
    centre, edge = (
        [sum(weights["cell", column, str(row), colour] for row in range(1, 7)) for colour in ("red", "yellow")]
        for column in ("4", "1")
    )
    assert centre[0] > edge[0]
    assert centre[1] < edge[1]
    analyser = Analyser(machine, features, megabytes=1)
    analyser.set_evaluation(*evaluation.in_units)
    state = machine.next(machine.initial(), [machine.legal(machine.initial(), role)[0] for role in (0, 1)])
    facts = bits_of(machine, state)
    expected = (features.of(facts[None, :]) @ evaluation.weights)[0]
    linear = analyser.searchers[0].game.weights[facts].sum() / LOGIT
    assert linear == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("step", ["survey", "find_features", "Learner"])
def test_failure_is_logged(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, step: str
) -> None:
    """Whatever is raised rules alpha-beta out, and the log says why."""

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
    """That of the threads that play the matches, too."""

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
