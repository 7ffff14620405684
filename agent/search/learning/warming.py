"""Warming of the kernels of alpha-beta and of learning."""

from __future__ import annotations

import numpy as np

from agent.search.evaluation.features import find_features
from agent.search.evaluation.network import linear_evaluation
from agent.search.evaluation.training import Trainer
from agent.search.learning.selfplay import play_match
from agent.search.pvs.analysis import PvsAnalyser
from games.gdl.running.machine import CircuitMachine


def warm_kernels(machine: CircuitMachine) -> None:
    """Compiles the kernels of alpha-beta and of learning in this process, or loads them from the cache."""
    root, stop = machine.pack(machine.initial()), np.zeros(1, np.uint8)
    features = find_features(machine, 1)
    searcher = PvsAnalyser(machine, features, megabytes=1).searchers[0]
    searcher.analyse(root, stop, lambda verdict: None, 2)
    movers = np.zeros(4, np.int8)
    rng, states, scores = np.ones(1, np.uint64), np.zeros((4, machine.words), np.uint64), np.zeros(4, np.int64)
    play_match(searcher.game, searcher.game, root, 1, 0, 0, rng, states, movers, scores, stop)
    trainer = Trainer(features, machine.words, 1, 1, np.arange(features.n, dtype=np.int32)[None])
    trainer.add(root[None], movers[:1], scores[:1])
    trained = trainer.trained(linear_evaluation(np.zeros(features.n), 0.0), 1, stop)
    assert trained is not None
    trainer.expected(trained, root[None], movers[:1])
