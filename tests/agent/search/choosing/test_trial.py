"""Trial matches and the choice of the search."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from agent.search.choosing import trial as trying
from agent.search.choosing.preparation import Preparation
from agent.search.choosing.trial import CLEAR_LEAD, MOST_SECONDS, TRIAL_SECONDS
from agent.search.engine import Engine, Limit, Report, StopFlag
from agent.search.learning.trial_points import TrialPoints
from games.machine import State
from tests.agent.search.choosing.timeless import FakeMatch, role_of_alpha_beta, run


def test_lost_trial_speaks_for_tree_search(prepared: Preparation, monkeypatch: pytest.MonkeyPatch) -> None:
    """So do even ones, but not for good; alpha-beta takes both roles by turns."""
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
    """It continues with the same roles, before a new one begins."""
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
    trials._play_some((0, 1), stop, lambda: True)
    assert trials.tally == (0.0, 0)
    stop[0] = 0
    trials._play_some((0, 1), stop, lambda: True)
    assert trials.tally == (1.0, 2)
    assert seats == [0, 0, 1]


def test_tree_search_is_watched_however_little_time_there_is(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first trial matches have less than a second; taking tree search for fast would decide the choice."""
    run(prepared, trial=False)
    trials = prepared.trials
    watched: list[float] = []
    monkeypatch.setattr(trying, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    monkeypatch.setattr(trying, "TrialMatch", FakeMatch(lambda engines: 1.0 - role_of_alpha_beta(engines)))
    monkeypatch.setattr(trials, "_time_to_search", lambda stop, seconds: watched.append(seconds) or 0.1)
    trials.play((0, 1), 1000.9, np.zeros(1, np.uint8), CLEAR_LEAD)
    assert watched == pytest.approx([0.18])


@pytest.mark.parametrize(("points", "left"), [(30.0, 1000.0), (20.0, 0.0)])
def test_trial_matches_cost_nothing_where_none_will_be_played(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch, points: float, left: float
) -> None:
    """Because earlier preparations of the game decided, or for want of time."""

    def fail(*arguments: object) -> float:
        raise AssertionError("tree search is not to be watched")

    run(prepared, trial=False)
    trials = prepared.trials
    trials.recall(TrialPoints(points, 40))
    before = trials.points, trials.matches
    monkeypatch.setattr(trials, "_time_to_search", fail)
    trials.play((0, 1), time.monotonic() + left, np.zeros(1, np.uint8), CLEAR_LEAD)
    assert (trials.points, trials.matches) == before


@pytest.mark.parametrize(("left", "expected"), [(math.inf, 0.04), (3.0, 0.03), (1.0, 0.02)])
def test_moves_are_quicker_where_matches_would_not_end_in_time(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch, left: float, expected: float
) -> None:
    """Two matches of a hundred moves, at once; there is a least time for a move."""
    stop = np.zeros(1, np.uint8)
    moves: list[float] = []

    def begin(machine: object, root: object, engines: object, seconds: float, random: object) -> FakeMatch:
        moves.append(seconds)
        stop[0] = 1
        return FakeMatch(lambda engines: 0.5)

    run(prepared, trial=False)
    monkeypatch.setattr(trying, "TrialMatch", begin)
    monkeypatch.setattr(trying, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    monkeypatch.setattr(prepared.trials, "_time_to_search", lambda stop, seconds: 0.04)
    prepared.trials.plies = 100.0
    prepared.trials.play((0, 1), 1000.0 + left, stop, CLEAR_LEAD)
    assert moves == pytest.approx([expected] * len(moves))
    assert moves


@pytest.mark.parametrize(("playouts", "seconds"), [(0, MOST_SECONDS), (10**9, TRIAL_SECONDS)])
def test_moves_take_longer_where_tree_search_is_slow(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch, playouts: int, seconds: float
) -> None:
    """Up to a limit, and only there."""
    monkeypatch.setattr(trying, "SPEED_SECONDS", 0.01)

    class Tree:
        def __init__(self, *arguments: object, **options: object) -> None:
            self.playouts = 0

        def begin(self, state: State) -> None:
            pass

        def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
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
    """Matches that the same role always wins say nothing. Without any match alpha-beta plays. More time later changes
    nothing."""
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
    assert (trials.lead < trials.needed_lead) == lost
    assert prepared.prefers_alpha_beta != lost


@pytest.mark.parametrize(
    ("needed", "prior", "plays"),
    [(0.03, 0.4, False), (0.03, 0.6, True), (0.2, 0.4, False), (0.2, 0.6, True), (100.0, 0.0, False)],
)
def test_matches_without_end_leave_the_game_to_tree_search(
    prepared: Preparation, monkeypatch: pytest.MonkeyPatch, needed: float, prior: float, plays: bool
) -> None:
    """Unless alpha-beta was expected to win: random play teaches nothing about gomoku on 15x15 cells. Also not in a
    game too slow for both searches."""
    run(prepared, trial=False)
    trials = prepared.trials
    trials.prior = prior
    monkeypatch.setattr(trying, "TrialMatch", FakeMatch(lambda engines: None))
    monkeypatch.setattr(trials, "_time_to_search", lambda stop, seconds: needed)
    trials.plies = 1e9
    trials.play((0, 1), time.monotonic() + 1000.0, np.zeros(1, np.uint8), CLEAR_LEAD)
    assert trials.matches == 0
    assert prepared.prefers_alpha_beta == plays
    trials.recall(TrialPoints(3.0, 3))
    assert prepared.prefers_alpha_beta
