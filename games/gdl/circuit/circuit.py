"""From a ground program to a boolean circuit: legal moves, terminal, goals and next facts over one pool of signals.

Stages: gates from rules (`gates`); fluents that never change become constants (`ternary`); gates with a single reader
are merged into it (`rebuild`). For the kernels, pairs of literals that many gates share are factored out (`factor`).
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from games.gdl.circuit.factor import factor
from games.gdl.circuit.gates import build_gates
from games.gdl.circuit.outputs import Outputs
from games.gdl.circuit.pool import FALSE, TRUE, Pool
from games.gdl.circuit.rebuild import rebuild
from games.gdl.circuit.ternary import OPEN, reachable
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
    """Values per role, ascending, in the order of `Outputs.goal`."""
    pool: Pool
    outputs: Outputs


def build_circuit(program: GroundProgram, *, idle: bool = True, swept: bool = True) -> Circuit:
    """The simplified circuit of a ground program, in time and memory linear in its size.

    Without `idle`, for analyses, every role is taken to have a move in every state: move sets hold moves only then.
    Unswept, it is right in all states, not only in those reached from the first one.
    """
    pool, outputs = build_gates(program, idle=idle)
    n_fluents = len(program.fluents)
    initial = np.zeros(n_fluents, np.bool_)
    initial[program.initial] = True
    constant = np.zeros(n_fluents, np.bool_)
    if swept:
        constant = reachable(pool, outputs, initial)[1 : n_fluents + 1] != OPEN
    whole = Circuit(
        roles=program.roles,
        fluents=program.fluents,
        always=[program.fluents[i] for i in np.flatnonzero(constant & initial)],
        initial=initial,
        moves=program.moves,
        goals=[[value for value, _ in values] for values in program.goals],
        pool=pool,
        outputs=outputs,
    )
    return keeping(whole, ~constant)


def keeping(circuit: Circuit, kept: NDArray[np.bool_]) -> Circuit:
    """The circuit with these fluents only; all others stay as they are initially, or nothing depends on them."""
    numbers = np.flatnonzero(kept)
    values = np.where(circuit.initial, TRUE, FALSE).astype(np.int32)
    values[numbers] = 2 * np.arange(1, len(numbers) + 1)
    wanted = circuit.outputs._replace(next=circuit.outputs.next[numbers])
    pool, outputs = rebuild(circuit.pool, wanted, values, len(numbers))
    fluents = [circuit.fluents[i] for i in numbers]
    return replace(circuit, fluents=fluents, initial=circuit.initial[numbers], pool=pool, outputs=outputs)


def with_factors(circuit: Circuit) -> Circuit:
    """A copy with common pairs of literals factored out: smaller, but symmetries and parts of the rules are hidden."""
    return replace(circuit, pool=factor(deepcopy(circuit.pool), circuit.outputs))
