"""Features of games, found once in a process."""

from __future__ import annotations

from functools import cache

from agent.search.evaluation.features import Features, find_features
from games.gdl.running.machine import CircuitMachine


@cache
def features_of(machine: CircuitMachine) -> Features:
    """The features of a game's states, always the same."""
    return find_features(machine, 1)
