"""The first evaluation of a game, from random play; the start of learning from matches."""

from __future__ import annotations

import time
from random import Random

import numpy as np
from numpy.typing import NDArray

from agent.search.engine import StopFlag
from agent.search.evaluation import fit
from agent.search.evaluation.network import NetworkEvaluation, linear_evaluation
from agent.search.evaluation.sampling import STATES_PER_MATCH
from agent.search.learning.learner import Learner
from agent.search.pvs.survey import MAX_PLIES, share_of_points
from games.gdl.running.machine import CircuitMachine

MOST_BATCHES = 64
"""Limit on batches of 64 random matches for games with very many fluents."""


def fit_fluents(
    trainer: fit.EvaluationTrainer, root: NDArray[np.uint64], end: float, stop: StopFlag
) -> NetworkEvaluation | None:
    """Returns an evaluation with a weight for each fluent, by matches from a packed state (words), until `end`
    (`time.monotonic`) or `stop`.

    None if there is none by then; unless stopped, none will follow.
    """
    while not stop[0] and not trainer.done and (time.monotonic() < end or trainer.evaluation is None):
        trainer.step(root, stop)
        if trainer.solving:
            time.sleep(0.001)
    found = trainer.evaluation
    if found is None:
        return None
    # The slope of log odds at even chances.
    weights = 2 * (found.weights[:, 0] - found.weights[:, 1])
    return linear_evaluation(weights, float(2 * (found.bias[0] - found.bias[1])))


def fit_patterns(machine: CircuitMachine, learner: Learner, random: Random, end: float, stop: StopFlag) -> None:
    """Sets a learner's first evaluation, with shared weights, by random matches until `end` (`time.monotonic`)."""
    chosen = np.random.default_rng(random.getrandbits(63))
    states, results = [], []
    for _ in range(MOST_BATCHES):
        positions = machine.random_matches(64, random.getrandbits(63), max_plies=MAX_PLIES)
        ends = np.flatnonzero(positions.terminal)
        goals = machine.worths_of(positions.states[ends])
        result = np.full(64, np.nan)
        result[positions.match[ends]] = share_of_points(goals[:, 0], goals[:, 1])
        usable = np.flatnonzero(~positions.terminal & ~np.isnan(result[positions.match]))
        some = chosen.permutation(usable)[: 64 * STATES_PER_MATCH]
        states.append(positions.states[some])
        results.append(result[positions.match[some]])
        if stop[0] or time.monotonic() >= end:
            break
    learner.imitate(np.concatenate(states), np.concatenate(results), stop)
