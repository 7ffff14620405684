"""Who meets whom, and in which roles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

Seating = tuple[str, ...]
"""The player of each role."""


def seatings(players: Sequence[str], roles: int) -> list[Seating]:
    """The matches of one round of one game: every choice of as many players as there are roles, rotated through them.

    So every player has every role equally often, and for two roles all pairs meet in both orders. Where there are fewer
    players than roles, they take turns in filling them, and some play against themselves.
    """
    if len(players) >= roles:
        rows = [list(chosen) for chosen in combinations(players, roles)]
    else:
        rows = [[players[(first + seat) % len(players)] for seat in range(roles)] for first in range(len(players))]
    rotated = ((*row[shift:], *row[:shift]) for row in rows for shift in range(roles))
    return list(dict.fromkeys(rotated))
