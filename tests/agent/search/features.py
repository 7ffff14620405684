"""Features of games, found once in a process, and those of states as plainly as can be."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from agent.search.evaluation.features import MISSING, Features, find_features
from games.gdl.running.machine import CircuitMachine


@cache
def features_of(machine: CircuitMachine) -> Features:
    """The features of a game's states."""
    return find_features(machine)


def plain_features(features: Features, facts: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The features (n, features) of states (n, fluents), in NumPy."""
    result = np.zeros((len(facts), features.n), np.float32)
    if features.shares is None:
        result[:, : features.n_fluents] = facts
    else:
        result[:, : features.shares.shape[1]] = facts.astype(np.float32) @ features.shares
    for c in range(len(features.column)):
        wanted = features.fact[features.first[c] : features.first[c + 1]]
        blockers = features.blocker[features.blocked_first[c] : features.blocked_first[c + 1]]
        missing = len(wanted) - facts[:, wanted].sum(axis=1)
        free = ~facts[:, blockers].any(axis=1)
        for k in range(MISSING):
            result[:, features.column[c, k]] += (missing == k + 1) & free
        if len(features.threat):
            lone = (missing == 1) & free
            # The facts of a conjunction differ: no column is repeated here.
            result[:, features.threat[features.first[c] : features.first[c + 1]]] += lone[:, None] & ~facts[:, wanted]
    if len(features.pair):
        result[:, features.n_single :] = facts[:, features.pair[:, 0]] & facts[:, features.pair[:, 1]]
    return result
