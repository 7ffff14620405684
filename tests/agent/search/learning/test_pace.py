"""Number and depth of the matches that an evaluation is learnt from."""

from __future__ import annotations

import pytest

from agent.search.learning import pace as module
from agent.search.learning.pace import SHALLOW_GENERATIONS, LearningPace


@pytest.mark.parametrize(
    ("seconds", "deep", "share", "depths"),
    [
        # 1.0 s for 50 matches.
        (0.005, 2, 1.0, [2] * 50),
        (0.015, 2, 1.0, [2, 2] + [1] * 48),
        (0.015, 4, 1.0, [4, 4, 2, 2] + [1] * 46),
        # At 30 ms each, including those already played.
        (0.03, 1, 1.0, [1] * 35),
        (0.05, 1, 1.0, [1] * 22),
        (1.0, 2, 1.0, [2, 2] + [1] * 18),
        # Where others play the rest, the own ones are as deep as if alone: 1.0 s for all 50, or 24.
        (0.005, 2, 0.5, [2] * 25),
        (0.015, 2, 0.5, [2, 2] + [1] * 23),
        (0.05, 2, 0.5, [2, 2] + [1] * 10),
    ],
)
def test_matches_that_take_too_long(
    monkeypatch: pytest.MonkeyPatch, seconds: float, deep: int, share: float, depths: list[int]
) -> None:
    """Two matches show how long the rest would take, by a clock that advances with each, and faster with its depth; 20
    must be played in any case."""
    clock = [0.0]
    monkeypatch.setattr(module.time, "thread_time", lambda: clock[0])
    monkeypatch.setattr(module, "EARLY_SECONDS", 4.0)
    pace = LearningPace(0)
    pace.depth, pace.seconds = deep, 6.0
    played = []
    for depth in pace.matches(50, 20, share):
        played.append(depth)
        clock[0] += seconds * depth
    assert played == depths


def test_no_match_where_none_is_missing() -> None:
    """All of a generation was recorded before."""
    assert not list(LearningPace(0).matches(0, 0))


def test_depth_grows_again() -> None:
    """At most doubled from one generation to the next, up to its target."""
    pace = LearningPace(0)
    assert pace.depth == 2
    pace.played(1, 64, 1.0)
    depths = []
    for generation in (1, 2, SHALLOW_GENERATIONS, SHALLOW_GENERATIONS + 1):
        pace.go_on(generation)
        depths.append(pace.depth)
    assert depths == [2, 2, 4, 4]


def test_what_goes_on_begins_with_little_depth() -> None:
    """Many earlier generations give more time, but it is not known whether deep matches would end."""
    pace = LearningPace(50)
    assert pace.depth == 2
    assert pace.limit > LearningPace(0).limit
    pace.go_on(51)
    assert pace.depth == 4


@pytest.mark.parametrize(("matches", "seconds", "depth"), [(0, 10.0, 2), (0, 0.1, 4), (1, 10.0, 4)])
def test_matches_that_never_end_become_shallower(matches: int, seconds: float, depth: int) -> None:
    """But not after little time, or if one did end."""
    pace = LearningPace(0)
    pace.played(4, matches, seconds)
    assert pace.depth == depth
    for _ in range(3):
        pace.played(pace.depth, 0, 10.0)
    assert pace.depth == 1
