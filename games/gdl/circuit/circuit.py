"""From a ground program to a boolean circuit: legal moves, terminal, goals and next facts over one pool of signals.

Stages: gates from rules (`gates`); fluents that never change become constants (`sweep`); gates with a single reader are
merged into it (`rebuild`); pairs of literals that many gates share are factored out (`factor`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from games.gdl.circuit.factor import factor
from games.gdl.circuit.gates import build_gates
from games.gdl.circuit.outputs import Outputs
from games.gdl.circuit.pool import FALSE, TRUE, Pool
from games.gdl.circuit.rebuild import rebuild
from games.gdl.circuit.sweep import constant_fluents
from games.gdl.grounding.ground import GroundProgram
from games.machine import Term


@dataclass(frozen=True)
class Circuit:
    """The rules of a game. `fluents` are the facts that really change; `always` those true in every state."""

    roles: tuple[Term, ...]
    fluents: list[Term]
    always: list[Term]
    initial: NDArray[np.bool_]
    """Per fluent."""
    moves: list[list[Term]]
    """Per role."""
    goals: list[list[int]]
    """Values per role, in the order of `Outputs.goal`."""
    pool: Pool
    outputs: Outputs


def build_circuit(program: GroundProgram, *, factored: bool = True, swept: bool = True) -> Circuit:
    """The simplified circuit of a ground program.

    Factoring makes it smaller, but hides symmetries of the rules. Without it, for analyses, every role is also taken to
    have a move in every state: move sets hold moves only then. Unswept, it is right in all states, not only in those
    reached from the first one. Time and memory are linear in its size, except for the bounded rounds of factoring.
    """
    pool, outputs = build_gates(program, idle=factored)
    n_fluents = len(program.fluents)
    initial = np.zeros(n_fluents, np.bool_)
    initial[program.initial] = True
    constant = constant_fluents(pool, outputs, initial) if swept else np.zeros(n_fluents, np.bool_)
    kept = np.flatnonzero(~constant).astype(np.int32)
    values = np.where(initial, TRUE, FALSE).astype(np.int32)
    values[kept] = 2 * (np.arange(len(kept), dtype=np.int32) + 1)
    pool, outputs = rebuild(pool, outputs._replace(next=outputs.next[kept]), values, len(kept))
    if factored:
        pool = factor(pool, outputs)
    return Circuit(
        roles=program.roles,
        fluents=[program.fluents[i] for i in kept],
        always=[program.fluents[i] for i in np.flatnonzero(constant & initial)],
        initial=initial[kept],
        moves=program.moves,
        goals=[[value for value, _ in values] for values in program.goals],
        pool=pool,
        outputs=outputs,
    )
