"""The lean game: the same moves, ends and goals over fewer facts, for searches.

Left out is what neither legal moves nor ends nor goals depend on, at once or later: counters that nobody reads, and
labels of chains (see `chains`). It is compared with the whole game in random matches before it is used.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from games.gdl.circuit.circuit import Circuit, keeping
from games.gdl.circuit.outputs import Literals, Outputs, mark_live
from games.gdl.circuit.pool import FLUENT, GATE, LOOP
from games.gdl.lean.chains import without_labels
from games.gdl.running.machine import CircuitMachine, CompiledGame, compiled_game

log = logging.getLogger(__name__)

SAVING = 0.25
"""Least share of the cost of a step that is saved."""
FACT_COST = 4
"""Cost of a fact in a step, in gate inputs: it is copied twice."""
MOST_INPUTS = 2_000_000
"""Most gate inputs of a circuit that is examined."""


def lean_game(circuit: Circuit, game: CompiledGame) -> CompiledGame | None:
    """The lean game of a game and its circuit, which must be unfactored; None where little is saved."""
    if game.edges > MOST_INPUTS:
        return None
    outputs, everything = circuit.outputs, np.ones(len(circuit.fluents), np.bool_)
    cost = _cost(circuit, everything)
    legal = _influence(circuit, outputs.legal)
    optional = _influence(circuit, _roots(outputs)) & ~legal
    circuit = without_labels(circuit, CircuitMachine(game), optional) or circuit
    kept = _influence(circuit, _roots(circuit.outputs))
    if _cost(circuit, kept) > (1 - SAVING) * cost:
        return None
    lean = compiled_game(keeping(circuit, kept))
    if not _agrees(CircuitMachine(replace(game, lean=lean))):
        log.warning("the lean game differs from the whole one in random matches, so searches use the whole one")
        return None
    return lean


def _roots(outputs: Outputs) -> Literals:
    return np.concatenate((outputs.legal, outputs.terminal, outputs.goal))


def _cost(circuit: Circuit, kept: NDArray[np.bool_]) -> int:
    """The cost of a step of the game with these fluents only, in gate inputs."""
    pool, outputs = circuit.pool, circuit.outputs
    wanted = np.concatenate((_roots(outputs), outputs.next[kept]))
    live = mark_live(pool, wanted, outputs.loop_signal, outputs.loop_definition)
    gates = live & (pool.kind[: len(live)] == GATE)
    return int(pool.size[: len(live)][gates].sum()) + FACT_COST * int(kept.sum())


def _influence(circuit: Circuit, roots: Literals) -> NDArray[np.bool_]:
    """The fluents that literals depend on, at once or later."""
    pool, outputs, n = circuit.pool, circuit.outputs, len(circuit.fluents)
    # A fluent needs what its next value needs, just as a loop needs its definition.
    kind = np.where(pool.kind == FLUENT, LOOP, pool.kind).astype(np.int8)
    signals = np.concatenate((np.arange(1, n + 1, dtype=np.int32), outputs.loop_signal))
    definitions = np.concatenate((outputs.next, outputs.loop_definition))
    found: NDArray[np.bool_] = mark_live(pool._replace(kind=kind), roots, signals, definitions)[1 : n + 1]
    return found


def _agrees(whole: CircuitMachine) -> bool:
    """Whether a machine and its lean one agree in random matches: moves, ends, goals and successors."""
    lean = whole.lean
    assert lean is not None
    if (whole.roles, whole.game.moves, whole.game.goals) != (lean.roles, lean.game.moves, lean.game.goals):
        return False
    found = whole.sample
    own = whole.lean_states(found.states)
    for one, other in zip(whole.legal_of(found.states), lean.legal_of(own), strict=True):
        if (one != other).any():
            return False
    if not np.array_equal(whole.goals_of(found.states), lean.goals_of(own), equal_nan=True):
        return False
    going = (found.joint[:-1, 0] >= 0) & (found.match[:-1] == found.match[1:])
    following = lean.next_of(own[:-1][going], found.joint[:-1][going])
    return bool((following == own[1:][going]).all())
