"""The first evaluation of a game, from random play; the start of learning from matches."""

from __future__ import annotations

import time
from random import Random

import numpy as np
from numpy.typing import NDArray

from agent.search.engine import StopFlag
from agent.search.learning.learner import Learner
from agent.search.pvs.survey import MAX_PLIES, share_of_points
from games.gdl.running.machine import CircuitMachine

AT_ONCE = 64
"""Matches of a batch."""
LEAST_ENDED = 32
"""Matches of a batch that must end: else there is nothing to learn from."""
STATES_PER_MATCH = 4
"""Mean number of states drawn from a match."""
MOST_STATES = 1 << 14
"""Most states that are learnt from."""


def imitate_random_play(machine: CircuitMachine, learner: Learner, random: Random, end: float, stop: StopFlag) -> bool:
    """Sets a learner's evaluation by random matches, played until `end` (`time.monotonic`) or `stop`, at least some.

    Returns False where most matches are over at once, or without an end.
    """
    chosen = np.random.default_rng(random.getrandbits(63))
    parts: list[tuple[NDArray[np.uint64], NDArray[np.float64]]] = []
    while not parts or (sum(len(part) for part, _ in parts) < MOST_STATES and not stop[0] and time.monotonic() < end):
        positions = machine.random_matches(AT_ONCE, random.getrandbits(63), max_plies=MAX_PLIES)
        ends = np.flatnonzero(positions.terminal)
        goals = machine.worths_of(positions.states[ends])
        result = np.full(AT_ONCE, np.nan)
        result[positions.match[ends]] = share_of_points(goals[:, 0], goals[:, 1])
        first = np.diff(positions.match, prepend=-1) != 0
        usable = np.flatnonzero(~positions.terminal & ~first & ~np.isnan(result[positions.match]))
        if len(np.unique(positions.match[usable])) < LEAST_ENDED:
            return False
        some = chosen.permutation(usable)[: STATES_PER_MATCH * AT_ONCE]
        parts.append((positions.states[some], result[positions.match[some]]))
    states, results = (np.concatenate(column) for column in zip(*parts, strict=True))
    learner.imitate(states, results)
    return True
