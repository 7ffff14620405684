"""Findings of the planning of a one-player game."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class Plan(NamedTuple):
    """Moves that lead a single player to the end of the match."""

    moves: list[int]
    """Indices of moves."""
    goal: int


class Bound(NamedTuple):
    """A proof that no match from the state ends with a better goal."""

    goal: int


NOTHING = -(10**18)
"""Less than any goal: what is known before a match is."""


@dataclass
class Known:
    """Knowledge that several searches for plans share."""

    goal: int = NOTHING
    """Goal of the best match found."""


Findings: TypeAlias = Iterator[Plan | Bound | None]
"""Plans, each better than the last known one, and bounds; None wherever the search may be interrupted."""
