"""Clocks and margins."""

from __future__ import annotations

import pytest

from agent.serving.clock import Clock, Deadline, Delays, now


@pytest.mark.parametrize(("margin", "clock", "left"), [(0.3, 15, 14.7), (0.5, 0.6, 0.3), (0.5, 0, 0.05)])
def test_margin_is_taken_off_the_clock(margin: float, clock: float, left: float) -> None:
    """A deadline lies the margin before the end of the manager's clock, counted from the message's arrival.

    A clock that the margin would use up is halved; one of zero leaves time to learn the legal moves.
    """
    assert Clock(margin).deadline(100.0, clock).at == pytest.approx(100.0 + left)


def test_passed_deadline_has_no_time_remaining() -> None:
    """The remaining time is never negative."""
    deadline = Deadline(now() - 1)
    assert deadline.passed()
    assert deadline.remaining() == 0


def test_margin_grows_with_delays_that_were_measured() -> None:
    """The margin covers two round trips and twice the lateness; the configured one is the least."""
    clock = Clock(0.5)
    assert clock.needed() == 0.5
    clock.lateness.add(7.0)
    assert clock.needed(0.1) == 0.5
    clock.lateness.add(0.4)
    assert clock.needed() == pytest.approx(0.8)
    clock.loop_delays.add(1.0)
    clock.loop_delays.add(1.5)
    assert clock.needed() == pytest.approx(2.0)
    assert clock.needed(0.3) == pytest.approx(2.6)
    assert clock.deadline(100.0, 30.0, 0.3).at == pytest.approx(127.4)


def test_margin_takes_half_of_a_clock_at_most() -> None:
    """At most half of a clock is kept back."""
    clock = Clock(0.5)
    for _ in range(2):
        clock.lateness.add(60.0)
    assert clock.deadline(100.0, 8.0).at == 104.0


def test_delays_are_forgotten() -> None:
    """The last 64 delays count; a negative one counts as 0."""
    delays = Delays()
    assert delays.high == 0.0
    for seconds in (3.0, 2.0, *[-1.0] * 62):
        delays.add(seconds)
    assert delays.high == 2.0
    delays.add(-1.0)
    assert delays.high == 0.0
