"""Estimates of missed turns."""

from __future__ import annotations

import pytest

from agent.serving.pace import MANAGER_SECONDS, ManagerPace


def test_without_an_outage_nothing_was_missed() -> None:
    """A slow manager, or a move that it made for us, is no reason for doubt; both at once, for long, are."""
    pace = ManagerPace(30, 10, 0.0)
    pace.took(35.0, 1)
    assert pace.missed(100.0, 1, replaced=False) is None
    assert pace.missed(35.0 + 10 + MANAGER_SECONDS, 1, replaced=True) is None
    assert pace.missed(35.0 + 40, 1, replaced=True) == pytest.approx(3)


def test_outage_shorter_than_a_turn_costs_none() -> None:
    """If the next message comes when it is due, with our answer, nothing was missed."""
    pace = ManagerPace(30, 10, 0.0, (10.0, 9.0, 11.0))
    assert pace.missed(10.0, 5, replaced=False) is None
    assert pace.missed(10.0, 5, replaced=True) == 1


def test_turns_that_passed_during_an_outage_are_estimated() -> None:
    """Earlier turns tell how many have passed."""
    pace = ManagerPace(30, 10, 0.0, (2.0, 3.0, 2.5))
    assert pace.missed(7.5, 5, replaced=False) == pytest.approx(2)
    pace.took(7.5, 6)
    assert pace.missed(20.0, 6, replaced=False) is None


def test_start_clock_counts_before_the_first_turn() -> None:
    """The first joint move may come as late as both clocks together."""
    pace = ManagerPace(30, 10, 0.0, ())
    assert pace.missed(40.0, 0, replaced=False) is None
    assert pace.missed(60.0, 0, replaced=False) == pytest.approx(2)


def test_turns_of_players_who_take_turns_are_told_apart() -> None:
    """Where the other moves at once, every second turn is long: its length tells how many were missed."""
    pace = ManagerPace(30, 10, 0.0, (9.5, 0.0, 9.5, 0.0, 9.5, 0.0))
    assert pace.missed(9.5, 6, replaced=False) is None
    assert pace.missed(31.5, 6, replaced=False) == pytest.approx(22 / 9.5)


def test_turn_that_ended_early_was_the_only_one() -> None:
    """A manager may notice that the server failed, and not wait for its answer; its next message then waits."""
    pace = ManagerPace(30, 10, 0.0, (6.0, 9.5, 5.0, 9.5, 6.0))
    assert pace.missed(4.0, 5, replaced=False) is None


def test_turn_much_longer_than_usual_may_have_been_two() -> None:
    """The two turns may be another player's, with one of ours between that took no time."""
    pace = ManagerPace(30, 10, 0.0, (9.5, 5.0, 9.5, 6.0, 9.5, 5.5, 9.5))
    assert pace.missed(6.5, 7, replaced=False) is None
    assert pace.missed(10.0, 7, replaced=False) is not None


def test_move_made_for_us_counts_for_as_long_as_the_match_lasts() -> None:
    """After an undoubted restart the state may have been misjudged; without a restart, our answer was late."""
    restarted, other = ManagerPace(30, 10, 0.0, (9.0, 10.0)), ManagerPace(30, 10, 0.0)
    for pace in (restarted, other):
        pace.took(10.0, 5)
        assert pace.missed(20.0, 6, replaced=False) is None
    assert restarted.missed(20.0, 6, replaced=True) == 0
    assert other.missed(20.0, 6, replaced=True) is None
