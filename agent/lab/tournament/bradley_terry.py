"""Elo ratings from wins, draws and losses, by the model of Bradley and Terry.

Player i beats player j with probability g_i / (g_i + g_j). The strengths g are found by the minorisation-maximisation
algorithm of D. Hunter: MM algorithms for generalized Bradley-Terry models, The Annals of Statistics 32 (2004), 384-406.
A draw counts as half a win for either.

A player that has won (or lost) all its games would have no finite rating. So each player has a prior of one game won
and one lost against an imaginary player of strength 1. It pulls ratings together where there are few games, and relates
players that no chain of games connects.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

PRIOR_GAMES = 2
"""Games of the prior, half of them won."""

_STEPS = 10_000
_TOLERANCE = 1e-10
"""Largest change of a log strength in the last step."""

_ELO = 400.0 / math.log(10.0)
"""Points of Elo per unit of log strength."""


@dataclass(frozen=True)
class Rating:
    """A player's Elo rating; the mean of all players is 0."""

    elo: float
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the 95 % interval."""


def ratings(players: Sequence[str], wins: Mapping[tuple[str, str], float]) -> dict[str, Rating]:
    """Returns the rating of each player; `wins[a, b]` are games that a won against b, a draw half a game for each.

    Intervals are of the normal approximation at the maximum (inverse of the observed information), for the difference
    to the mean of all players. They take games to be independent.
    """
    n = len(players)
    if n == 0:
        return {}
    won = np.array([[wins.get((a, b), 0.0) if a != b else 0.0 for b in players] for a in players])
    games = won + won.T
    scored = won.sum(axis=1) + PRIOR_GAMES / 2
    strength = np.ones(n)
    for _ in range(_STEPS):
        pairs = games / (strength[:, None] + strength[None, :])
        updated = scored / (pairs.sum(axis=1) + PRIOR_GAMES / (strength + 1.0))
        change = np.abs(np.log(updated / strength)).max()
        strength = updated
        if change < _TOLERANCE:
            break

    expected = strength[:, None] / (strength[:, None] + strength[None, :])
    information = -games * expected * (1.0 - expected)
    against_prior = strength / (strength + 1.0)
    diagonal = PRIOR_GAMES * against_prior * (1.0 - against_prior) - information.sum(axis=1)
    covariance = np.linalg.inv(information + np.diag(diagonal))
    centre = np.eye(n) - 1.0 / n
    spread = 1.96 * np.sqrt(np.maximum(np.diag(centre @ covariance @ centre.T), 0.0))
    mean = np.log(strength) - np.log(strength).mean()
    return {
        player: Rating(
            round(float(_ELO * mean[i]), 1),
            round(float(_ELO * (mean[i] - spread[i])), 1),
            round(float(_ELO * (mean[i] + spread[i])), 1),
        )
        for i, player in enumerate(players)
    }
