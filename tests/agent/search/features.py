"""Features of games, found once in a process."""

from __future__ import annotations

import math
from functools import cache

import pytest

from agent.search.evaluation import pairs
from agent.search.evaluation.features import Features, find_features
from games.gdl.running.machine import CircuitMachine


@cache
def features_of(machine: CircuitMachine) -> Features:
    """The features of a game's states, the same on any machine, however busy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "MOST_SECONDS", math.inf)
        return find_features(machine, 1)
