"""The first evaluation of a game, from random play; the start of learning from matches."""

from __future__ import annotations

import time
from random import Random

import numpy as np

from agent.search.engine import StopFlag
from agent.search.evaluation.training import BATCH, Trainer
from agent.search.pvs.survey import MAX_PLIES, share_of_points
from agent.search.pvs.workspace import NOBODY
from games.gdl.running.machine import CircuitMachine

STATES_PER_MATCH = 4
"""Positions of a random match to learn from, on average."""
VISITS = 4
"""Visits for each of them."""
MOST_MATCHES = 1 << 15
"""Random matches after which more teach nothing."""


def learn_from_random_play(
    machine: CircuitMachine, trainer: Trainer, random: Random, end: float, stop: StopFlag
) -> bool:
    """Has a trainer learn from random matches until `end` (`time.monotonic`) or `stop`; then it forgets them.

    Returns whether there was anything to learn from.
    """
    chosen = np.random.default_rng(random.getrandbits(63))
    start = machine.programs.role_start
    played = 0
    while not stop[0] and played < MOST_MATCHES and (time.monotonic() < end or not played):
        positions = machine.random_matches(64, random.getrandbits(63), max_plies=MAX_PLIES)
        ends = np.flatnonzero(positions.terminal)
        goals = machine.worths_of(positions.states[ends])
        result = np.full(64, np.nan)
        result[positions.match[ends]] = share_of_points(goals[:, 0], goals[:, 1])
        usable = np.flatnonzero(~positions.terminal & ~np.isnan(result[positions.match]))
        some = chosen.permutation(usable)[: 64 * STATES_PER_MATCH]
        if not len(some):
            return False
        legal, _ = machine.legal_of(positions.states[some])
        several = [legal[:, start[role] : start[role + 1]].sum(axis=1) > 1 for role in (0, 1)]
        movers = np.where(several[0] == several[1], NOBODY, several[1]).astype(np.int8)
        trainer.add(positions.states[some], movers, result[positions.match[some]])
        trainer.train(max(BATCH, VISITS * len(some)), stop)
        played += 64
    trainer.forget()
    return played > 0
