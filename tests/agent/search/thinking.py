"""Engines that think until they are done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np

from agent.search.engine import UNLIMITED, Engine, Limit, Opinion
from agent.search.evaluation.network import linear_evaluation
from agent.search.pvs.engine import AlphaBetaSearch
from agent.search.tree.engine import TreeSearch
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine
from tests.agent.search.features import features_of
from tests.agent.search.stopping import StopWhen, never

NOT_STOPPED = np.zeros(1, np.uint8)


def opinions_of(engine: Engine, limit: Limit = UNLIMITED, until: Callable[[], bool] = never) -> list[Opinion]:
    """All opinions on the present state until a condition holds, or the engine stops by itself."""
    found: list[Opinion] = []
    with StopWhen(until) as stop:
        engine.think(stop.flag, found.append, limit)
    return found


def opinion_of(engine: Engine, machine: StateMachine, limit: Limit = UNLIMITED) -> Opinion:
    """The last one about the first state."""
    engine.begin(machine.initial())
    return opinions_of(engine, limit)[-1]


def play_match(
    machine: StateMachine, engines: Mapping[int, Engine], choose: Callable[[Engine], Opinion], seed: int = 1
) -> tuple[list[dict[int, Opinion]], State]:
    """The opinions in each turn of a match by legal moves, random ones for roles without an engine, and its end."""
    rng, state, turns = Random(seed), machine.initial(), list[dict[int, Opinion]]()
    for engine in engines.values():
        engine.begin(state)
    while not machine.terminal(state):
        legal = [machine.legal(state, role) for role in range(len(machine.roles))]
        turns.append({role: choose(engine) for role, engine in engines.items()})
        assert all(opinion.move in legal[role] for role, opinion in turns[-1].items())
        joint = tuple(
            turns[-1][role].move if role in engines else rng.choice(legal[role]) for role in range(len(legal))
        )
        state = machine.next(state, joint)
        if not machine.terminal(state):
            for engine in engines.values():
                engine.advance(joint, state)
    return turns, state


def tree_search(machine: CircuitMachine, role: int = 0, *, seed: int = 1, **options: Any) -> TreeSearch:
    """Tree search at the start of the match, on one thread, with little memory."""
    engine = TreeSearch(machine, role, **{"threads": 1, "memory_bytes": 1 << 22, "seed": seed, **options})
    engine.begin(machine.initial())
    return engine


def alpha_beta(machine: CircuitMachine) -> AlphaBetaSearch:
    """For the first role, with an evaluation that knows nothing."""
    features = features_of(machine)
    engine = AlphaBetaSearch(machine, 0, features, threads=1, megabytes=1)
    engine.use(linear_evaluation(np.zeros(features.n), 0.0))
    return engine
