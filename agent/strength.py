"""The `strength` command: two engines play each other at equal time, from the same random openings in both seats."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import numpy as np

from agent.engine import Engine
from agent.errors import InputError
from agent.search import blokbox
from agent.search.montecarlo import MonteCarlo
from agent.search.reversi import engine as reversi
from agent.search.reversi.evaluation import Evaluation
from agent.search.reversi.selectivity import DEFAULT_COEFFICIENTS
from agent.search.reversi.training.matches import Score
from agent.search.reversi.weights import HEURISTIC, Weights, extent
from agent.search.tree import engine as tree
from games.gdl.machine import CircuitMachine
from games.machine import State, Term
from games.native.reversi.recognise import recognise

OPENING_PLIES = 8
PLAIN_DEPTH = 6

Maker = Callable[[CircuitMachine, int], Engine | None]


def plain_reversi(machine: CircuitMachine, role: int) -> Engine | None:
    """Alpha-beta of six plies by rules of thumb, without patterns: what trained weights have to beat."""
    binding = recognise(machine)
    if binding is None:
        return None
    variant = binding.variant
    evaluation = Evaluation.heuristic(*extent(variant.playable), variant.sign)
    weights = Weights(evaluation, DEFAULT_COEFFICIENTS, HEURISTIC)
    return reversi.ReversiEngine(machine, role, binding, weights=weights, max_depth=PLAIN_DEPTH)


def _native(machine: CircuitMachine, role: int) -> Engine | None:
    return reversi.make_engine(machine, role) or blokbox.make_engine(machine, role)


ENGINES: dict[str, Maker] = {
    "native": _native,
    "general": tree.make_engine,
    "montecarlo": MonteCarlo,
    "plain": plain_reversi,
}
"""Contenders by the name that the command line gives them."""


def duel(
    machine: CircuitMachine,
    names: tuple[str, str],
    *,
    games: int,
    seconds: float,
    seed: int = 0,
    tell: Callable[[Score], None] = lambda score: None,
) -> Score:
    """The first engine's score over that many games of a two-player game; each opening is played in both seats.

    A seat with one legal move plays it without thinking. Nobody thinks in the other's time. Raises `InputError` where
    an engine does not play this game.
    """
    if len(machine.roles) != 2:
        raise InputError("strength is measured in games of two roles")
    score = Score()
    for game in range(games):
        opening = random.Random(seed + game // 2)
        state = _opening(machine, opening)
        seats = names if game % 2 == 0 else (names[1], names[0])
        engines = [_make(machine, name, role) for role, name in enumerate(seats)]
        goals = _play(machine, state, engines, seconds)
        mine = game % 2
        score = score.plus(int(np.sign(goals[mine] - goals[1 - mine])))
        tell(score)
    return score


def _make(machine: CircuitMachine, name: str, role: int) -> Engine:
    engine = ENGINES[name](machine, role)
    if engine is None:
        raise InputError(f"the {name} engine does not play this game")
    return engine


def _opening(machine: CircuitMachine, generator: random.Random) -> State:
    """A state after some random plies that is not terminal."""
    while True:
        state = machine.initial()
        for _ in range(OPENING_PLIES):
            if machine.terminal(state):
                break
            state = machine.next(state, [generator.choice(machine.legal(state, role)) for role in (0, 1)])
        if not machine.terminal(state):
            return state


def _play(machine: CircuitMachine, state: State, engines: list[Engine], seconds: float) -> list[int]:
    """Play on to the end; the goals."""
    for engine in engines:
        engine.begin(state)
    while not machine.terminal(state):
        joint: list[Term] = []
        for role, engine in enumerate(engines):
            legal = machine.legal(state, role)
            joint.append(legal[0] if len(legal) == 1 else _choose(engine, seconds, legal))
        state = machine.next(state, joint)
        for engine in engines:
            engine.advance(tuple(joint), state)
    return [machine.goal(state, role) or 0 for role in (0, 1)]


def _choose(engine: Engine, seconds: float, legal: list[Term]) -> Term:
    stop = np.zeros(1, np.uint8)
    opinions: list[Term] = [legal[0]]
    timer = threading.Timer(seconds, stop.fill, (1,))
    timer.start()
    engine.think(stop, lambda opinion: opinions.append(opinion.move), seconds)
    timer.cancel()
    return opinions[-1]
