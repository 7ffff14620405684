"""Choices of players for the roles of a game."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

Seating = tuple[str, ...]
"""The player of each role."""


def seatings(players: Sequence[str], roles: int) -> list[Seating]:
    """Returns the matches of one round of a game: every choice of players, in all rotations of the roles.

    Every player has every role equally often; for two roles, all pairs meet in both orders. Fewer players than roles
    take turns in filling them, and play against themselves.
    """
    if len(players) >= roles:
        rows = [list(chosen) for chosen in combinations(players, roles)]
    else:
        rows = [[players[(first + seat) % len(players)] for seat in range(roles)] for first in range(len(players))]
    rotated = ((*row[shift:], *row[:shift]) for row in rows for shift in range(roles))
    return list(dict.fromkeys(rotated))
