"""Engines that think until they are done."""

from __future__ import annotations

import numpy as np

from agent.search.engine import UNLIMITED, Engine, Limit, Opinion
from agent.search.evaluation.network import linear_evaluation
from agent.search.pvs.engine import AlphaBetaSearch
from games.gdl.running.machine import CircuitMachine
from games.machine import StateMachine
from tests.agent.search.features import features_of

NOT_STOPPED = np.zeros(1, np.uint8)


def opinion_of(engine: Engine, machine: StateMachine, limit: Limit = UNLIMITED) -> Opinion:
    """The last one about the first state."""
    opinions: list[Opinion] = []
    engine.begin(machine.initial())
    engine.think(NOT_STOPPED, opinions.append, limit)
    return opinions[-1]


def alpha_beta(machine: CircuitMachine) -> AlphaBetaSearch:
    """For the first role, with an evaluation that knows nothing."""
    features = features_of(machine)
    engine = AlphaBetaSearch(machine, 0, features, threads=1, megabytes=1)
    engine.use(linear_evaluation(np.zeros(features.n), 0.0))
    return engine
