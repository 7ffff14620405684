"""Clocks and margins."""

from __future__ import annotations

import pytest

from agent.serving.clock import DEFAULT_MARGIN, Clock, Deadline, now


def test_margin_is_taken_off_the_clock() -> None:
    """A deadline lies the margin before the end of the manager's clock, counted from the message's arrival."""
    assert Clock(0.3).deadline(100.0, 15).at == pytest.approx(114.7)


def test_short_clock_keeps_half_of_its_time() -> None:
    """A clock that the margin would use up is halved instead."""
    assert Clock(0.5).deadline(100.0, 0.6).at == pytest.approx(100.3)


def test_clock_of_zero_leaves_time_to_learn_what_is_legal() -> None:
    """Not even a clock of zero seconds is answered blindly."""
    assert Clock(0.5).deadline(100.0, 0).at == pytest.approx(100.05)


def test_default_margin_is_at_most_half_a_second() -> None:
    """Little is given away where nobody asks for more."""
    assert 0 < DEFAULT_MARGIN <= 0.5


def test_passed_deadline_has_no_time_remaining() -> None:
    """The remaining time is never negative."""
    deadline = Deadline(now() - 1)
    assert deadline.passed()
    assert deadline.remaining() == 0
