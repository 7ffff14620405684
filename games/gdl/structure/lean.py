"""The lean game: the same moves, ends and goals over fewer facts, for searches.

Left out is what neither legal moves nor ends nor goals depend on, at once or later: counters that nobody reads, and
labels of chains (see `chains`). It is compared with the whole game in random matches before it is used.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from games.gdl.circuit.circuit import Circuit, keeping, with_factors
from games.gdl.circuit.outputs import Literals, mark_live
from games.gdl.running.machine import CircuitMachine, CompiledGame, compiled_game
from games.gdl.structure.chains import without_labels

log = logging.getLogger(__name__)

SAVING = 0.25
"""Least share of facts or gate inputs that are left out."""
MATCHES, MAX_PLIES, SECONDS = 128, 400, 2.0
"""Random matches that are compared, their greatest length, and most seconds for them; at least 64."""
MOST_EDGES = 2_000_000
"""Most gate inputs of a circuit that is examined."""


def lean_game(circuit: Circuit, game: CompiledGame) -> CompiledGame | None:
    """The lean game of a game and its circuit, which must be unfactored; None where little is saved."""
    if game.edges > MOST_EDGES:
        return None
    outputs = circuit.outputs
    legal = _influence(circuit, outputs.legal)
    everything = np.concatenate((outputs.legal, outputs.terminal, outputs.goal))
    optional = _influence(circuit, everything) & ~legal
    circuit = without_labels(circuit, CircuitMachine(game), optional) or circuit
    outputs = circuit.outputs
    kept = _influence(circuit, np.concatenate((outputs.legal, outputs.terminal, outputs.goal)))
    lean = compiled_game(with_factors(keeping(circuit, kept)))
    if min(len(lean.fluents) / max(1, len(game.fluents)), lean.edges / max(1, game.edges)) > 1 - SAVING:
        return None
    if not _agrees(CircuitMachine(replace(game, lean=lean))):
        log.warning("the lean game differs from the whole one in random matches: searched is the whole one")
        return None
    return lean


def _influence(circuit: Circuit, roots: Literals) -> NDArray[np.bool_]:
    """The fluents that literals depend on, at once or later."""
    outputs, n = circuit.outputs, len(circuit.fluents)
    found = np.zeros(n, np.bool_)
    while True:
        wanted = np.concatenate((roots, outputs.next[found]))
        live = mark_live(circuit.pool, wanted, outputs.loop_signal, outputs.loop_definition)[1 : n + 1]
        if (live == found).all():
            return found
        found = live


def _agrees(whole: CircuitMachine) -> bool:
    """Whether a machine and its lean one agree in random matches: moves, ends, goals and successors."""
    lean = whole.lean
    assert lean is not None
    if (whole.roles, whole.game.moves, whole.game.goals) != (lean.roles, lean.game.moves, lean.game.goals):
        return False
    found = whole.random_matches(MATCHES, 2, max_plies=MAX_PLIES, seconds=SECONDS)
    own = whole.lean_states(found.states)
    for one, other in zip(whole.legal_of(found.states), lean.legal_of(own), strict=True):
        if (one != other).any():
            return False
    if not np.array_equal(whole.goals_of(found.states), lean.goals_of(own), equal_nan=True):
        return False
    going = (found.joint[:-1, 0] >= 0) & (found.match[:-1] == found.match[1:])
    following = lean.next_of(own[:-1][going], found.joint[:-1][going])
    return bool((following == own[1:][going]).all())
