"""Estimates of missed turns."""

from __future__ import annotations

import pytest

from agent.serving.pace import ManagerPace


def test_without_an_outage_nothing_was_missed() -> None:
    """A slow manager, or a move that it made for us, is no reason for doubt; both at once are, beyond the clock of 10 s
    and the 6 s that managers may wait."""
    pace = ManagerPace(30, 10, 0.0)
    pace.took(35.0, 1)
    assert pace.missed(100.0, 1, replaced=False) is None
    assert pace.missed(35.0 + 15.9, 1, replaced=True) is None
    assert pace.missed(35.0 + 16.1, 1, replaced=True) == pytest.approx(0.61)
    assert pace.missed(35.0 + 40, 1, replaced=True) == pytest.approx(3)


def test_slow_manager_never_missed_less_than_nothing() -> None:
    """A turn shorter than the usual ones counts as none missed, not as fewer."""
    pace = ManagerPace(30, 10, 0.0)
    for number in range(1, 5):
        pace.took(40.0 * number, number)
    assert pace.missed(160.0 + 20, 4, replaced=True) == 0


@pytest.mark.parametrize(
    ("intervals", "at", "number", "replaced", "missed"),
    [
        # The message comes when it is due; with another move for us, one turn was missed at least.
        ((10.0, 9.0, 11.0), 10.0, 5, False, None),
        ((10.0, 9.0, 11.0), 10.0, 5, True, 1),
        ((10.0, 9.0, 11.0), 14.0, 5, True, 1),
        ((10.0, 9.0, 11.0), 35.0, 5, True, 2.5),
        # Earlier turns tell how many have passed.
        ((2.0, 3.0, 2.5), 7.5, 5, False, 2),
        # The first joint move may come as late as both clocks together.
        ((), 40.0, 0, False, None),
        ((), 60.0, 0, False, 2),
        # Where the other moves at once, every second turn is long: its length tells how many were missed.
        ((9.5, 0.0) * 3, 9.5, 6, False, None),
        ((9.5, 0.0) * 3, 31.5, 6, False, 22 / 9.5),
        # A short turn that took longer than usual is doubtful, however little of an average turn that is.
        ((1.0, 9.0) * 3, 1.2, 6, False, 0.1),
        # A manager may notice that the server failed, and not wait for its answer.
        ((6.0, 9.5, 5.0, 9.5, 6.0), 4.0, 5, False, None),
        # Two turns may be another player's, with one of ours between that took no time.
        ((9.5, 5.0, 9.5, 6.0, 9.5, 5.5, 9.5), 6.5, 7, False, None),
        ((9.5, 5.0, 9.5, 6.0, 9.5, 5.5, 9.5), 10.0, 7, False, 4.5 / 9.5),
    ],
)
def test_time_after_an_outage_tells_of_missed_turns(
    intervals: tuple[float, ...], at: float, number: int, replaced: bool, missed: float | None
) -> None:
    """The turns known from before the outage tell how many have passed in it."""
    found = ManagerPace(30, 10, 0.0, intervals).missed(at, number, replaced=replaced)
    assert found == (missed if missed is None else pytest.approx(missed))


@pytest.mark.parametrize(
    ("intervals", "longest"),
    [
        # One turn says nothing: 15 % more than the clock.
        ((2.0,), 11.5),
        # 15 % more than the longest one.
        ((10.0, 10.0), 11.5),
        ((10.0, 12.0), 13.8),
        # 40 % more than the median one.
        ((4.0, 10.0, 30.0), 14.0),
        # Where four are known, only every other one is like the next.
        ((3.0, 9.0, 3.0, 9.0, 3.0), 9.0 * 1.15),
        ((3.0, 9.0, 3.0, 9.0), 3.0 * 1.15),
        ((3.0, 9.0, 3.0), 3.0 * 1.4),
        # Any turn may last 0.05 s.
        ((0.0, 0.0), 0.05),
    ],
)
def test_turn_may_last_a_little_longer_than_the_known_ones(intervals: tuple[float, ...], longest: float) -> None:
    """After an outage, a turn that took longer than that may have been two: a tenth of a turn was missed at least."""
    for late, doubtful in ((0.99, False), (1.01, True)):
        pace = ManagerPace(30, 10, 0.0, intervals)
        missed = pace.missed(longest * late, 12, replaced=False)
        assert (missed is not None) == doubtful
        assert missed is None or missed >= 0.1


def test_last_nine_turns_are_the_usual_ones() -> None:
    """Longer ones before are forgotten, and a few of the last do not count."""
    pace = ManagerPace(30, 10, 0.0)
    at = 0.0
    for number, seconds in enumerate((0.0, *(30.0,) * 10, *(10.0,) * 6, *(20.0,) * 3), 1):
        pace.took(at := at + seconds, number)
    assert pace.missed(at + 20, 20, replaced=True) == 1


def test_time_before_the_first_joint_move_is_no_turn() -> None:
    """It has the start clock in it."""
    pace = ManagerPace(30, 10, 0.0)
    for at, number in ((100.0, 1), (108.0, 2), (116.0, 3)):
        pace.took(at, number)
    assert pace.missed(116.0 + 24, 3, replaced=True) == pytest.approx(2)


def test_move_made_for_us_counts_for_as_long_as_the_match_lasts() -> None:
    """After an undoubted restart the state may have been misjudged; without a restart, our answer was late."""
    restarted, other = ManagerPace(30, 10, 0.0, (9.0, 10.0)), ManagerPace(30, 10, 0.0)
    for pace in (restarted, other):
        pace.took(10.0, 5)
        assert pace.missed(20.0, 6, replaced=False) is None
    assert restarted.missed(20.0, 6, replaced=True) == 0
    assert other.missed(20.0, 6, replaced=True) is None
