"""Aspiration windows: which windows are searched, and that the score is found."""

from __future__ import annotations

import pytest

from agent.search.alphabeta.windows import search_around


@pytest.mark.parametrize(
    ("true_score", "windows"),
    [
        (1, [(-3, 3)]),
        (5, [(-3, 3), (4, 14)]),
        (-40, [(-3, 3), (-49, -39)]),
        (64, [(-3, 3), (63, 64), (-64, 64)]),
    ],
    ids=["inside", "above", "below", "at the limit"],
)
def test_windows_follow_the_score(true_score: int, windows: list[tuple[int, int]]) -> None:
    """A window that fails moves to where the score lies; the open one comes last."""
    asked: list[tuple[int, int]] = []

    def search(alpha: int, beta: int) -> int:
        asked.append((alpha, beta))
        return true_score

    assert search_around(0, (3, 9), -64, 64, search) == true_score
    assert asked == windows


def test_without_widths_the_window_is_open() -> None:
    """Without widths the guess is not used."""
    assert search_around(0, (), -64, 64, lambda alpha, beta: alpha + beta + 7) == 7


def test_a_stopped_search_has_no_score() -> None:
    """A stopped search's None is passed on at once."""
    assert search_around(0, (3, 9), -64, 64, lambda alpha, beta: None) is None
