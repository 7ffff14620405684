"""The levels at which the agent plays for people, and against other players: all that time would decide is fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """A strength that does not depend on the machine or its load: one thread, no pondering, and bounds by number."""

    nodes: int
    """Playouts a move."""
    seed: int = 1
    """Seed of all random numbers. The same position, reached in the same way, gets the same move."""


LEVELS: Mapping[str, Level] = {
    "easy": Level(nodes=100),
    "normal": Level(nodes=300),
    "strong": Level(nodes=2500),
}
"""The levels by name, easiest first. See docs/playing.md for how they do against each other."""

PREFIX = "agent:"
"""Begins the names of players that are this agent at a level, `agent:easy`, or with a number of nodes, `agent:1024`."""


def level_of(player: str) -> Level | None:
    """Returns the level of a player's name; None for other names."""
    name = player.removeprefix(PREFIX)
    if name == player:
        return None
    return LEVELS.get(name) or (Level(int(name)) if name.isdecimal() and 0 < int(name) < 1 << 32 else None)
