"""Elo ratings."""

from __future__ import annotations

import math

import pytest

from agent.lab.tournament.bradley_terry import ratings


def test_expected_scores_are_reproduced() -> None:
    """With many games the prior hardly counts: rating differences are those of the shares."""
    found = ratings(["a", "b"], {("a", "b"): 7500.0, ("b", "a"): 2500.0})
    assert found["a"].elo - found["b"].elo == pytest.approx(400 * math.log10(3), abs=1.0)
    assert found["a"].elo == pytest.approx(-found["b"].elo)


def test_strengths_are_recovered_through_others() -> None:
    """Players that never met are compared through common opponents."""
    strength = {"a": 4.0, "b": 2.0, "c": 1.0, "d": 0.5}
    wins = {
        (x, y): 1e5 * strength[x] / (strength[x] + strength[y])
        for x, y in [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("c", "d"), ("d", "c")]
    }
    found = ratings(list(strength), wins)
    assert found["a"].elo - found["d"].elo == pytest.approx(400 * math.log10(8), abs=1.0)
    assert sum(rating.elo for rating in found.values()) == pytest.approx(0.0, abs=0.3)


def test_who_won_all_games_has_a_finite_rating() -> None:
    """A player that won all its games has a finite rating that grows with them, and a wide interval."""
    few = ratings(["a", "b"], {("a", "b"): 4.0})
    many = ratings(["a", "b"], {("a", "b"): 400.0})
    assert 0 < few["a"].elo < many["a"].elo < math.inf
    assert few["a"].high - few["a"].low > 200


def test_interval_is_that_of_the_share() -> None:
    """Even players differ by 1.96 / sqrt(n / 4) in log odds, at most; each rating has half of that."""
    n = 10_000.0
    rating = ratings(["a", "b"], {("a", "b"): n / 2, ("b", "a"): n / 2})["a"]
    half = 400 / math.log(10) * 1.96 / math.sqrt(n / 4) / 2
    assert rating.high == pytest.approx(half, rel=0.02)
    assert rating.low == pytest.approx(-half, rel=0.02)


def test_nobody() -> None:
    """No players have no ratings; one without games has 0."""
    assert ratings([], {}) == {}
    assert ratings(["a"], {})["a"].elo == 0.0
