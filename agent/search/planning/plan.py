"""What planning finds out about a one-player game."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class Plan(NamedTuple):
    """A match that a single player can play to its end."""

    moves: list[int]
    """By index."""
    goal: int


class Bound(NamedTuple):
    """What has been proven of a state: no match from there ends with a better goal."""

    goal: int


@dataclass
class Known:
    """What several searches for plans know together."""

    goal: int = -1
    """That of the best match found; -1 without one."""


Findings: TypeAlias = Iterator[Plan | Bound | None]
"""What a search finds: plans, each better than what was known before, and bounds; None where it may be interrupted."""
