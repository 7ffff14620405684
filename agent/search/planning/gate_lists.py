"""A game's circuit as plain lists of gates, to be filled with literals of a formula.

A list of values has one for each literal of the circuit's pool: `2 * signal`, and `2 * signal + 1` for its negation.
"""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from games.gdl.circuit.circuit import Circuit
from games.gdl.circuit.outputs import Literals, mark_live
from games.gdl.circuit.pool import GATE, MOVE_SET, N_SIGNALS, items_of


class Gate(NamedTuple):
    """An AND gate."""

    out: int
    """Literal."""
    inputs: tuple[int, ...]
    """Literals."""
    cyclic: bool
    """Whether it belongs to a positive cycle."""


class Program(NamedTuple):
    """Gates in the order of evaluation."""

    gates: list[Gate]
    loops: list[tuple[int, int]]
    """Literals of signals in positive cycles, each with its definition; the least solution of these holds."""


class GateLists(NamedTuple):
    """The three programs of a one-player game, and the literals of their inputs and outputs."""

    circuit: Circuit
    legal: Program
    next: Program
    """Without the gates of `legal`."""
    goal: Program
    n_literals: int
    n_fluents: int
    n_moves: int
    move_legal: list[int]
    terminal: int
    fluent_next: list[int]
    sets: list[int]
    """Literals of the move sets."""
    sets_of: list[list[int]]
    """Per move, its move sets, numbered from 0."""
    goal_holds: list[int]
    goal_value: list[int]
    """Per literal of `goal_holds`."""


def fluent_literal(fluent: int) -> int:
    """The literal that a fluent holds."""
    return 2 * fluent + 2


def needed(circuit: Circuit, literals: Literals) -> NDArray[np.bool_]:
    """The signals (bool[signals]) that some literals depend on."""
    live: NDArray[np.bool_] = mark_live(
        circuit.pool, literals, circuit.outputs.loop_signal, circuit.outputs.loop_definition
    )
    return live


def read_circuit(circuit: Circuit) -> GateLists:
    """The lists of a circuit with one role."""
    pool, outputs = circuit.pool, circuit.outputs
    n, n_moves = int(pool.counts[N_SIGNALS]), len(circuit.moves[0])
    legal, following, goal = (
        needed(circuit, roots)
        for roots in (np.concatenate((outputs.legal, outputs.terminal)), outputs.next, outputs.goal)
    )
    sets = np.flatnonzero(pool.kind[:n] == MOVE_SET).tolist()
    sets_of: list[list[int]] = [[] for _ in range(n_moves + 1)]
    for number, signal in enumerate(sets):
        for move in items_of(pool, signal):
            sets_of[move].append(number)
    return GateLists(
        circuit=circuit,
        legal=_program(circuit, legal),
        next=_program(circuit, following & ~legal),
        goal=_program(circuit, goal),
        n_literals=2 * n,
        n_fluents=len(circuit.fluents),
        n_moves=n_moves,
        move_legal=outputs.legal.tolist(),
        terminal=int(outputs.terminal[0]),
        fluent_next=outputs.next.tolist(),
        sets=[2 * signal for signal in sets],
        sets_of=sets_of[:n_moves],
        goal_holds=outputs.goal.tolist(),
        goal_value=list(chain(*circuit.goals)),
    )


def _program(circuit: Circuit, live: NDArray[np.bool_]) -> Program:
    """The gates and loops among the live signals."""
    pool, outputs = circuit.pool, circuit.outputs
    found = np.flatnonzero(live & (pool.kind[: len(live)] == GATE))
    columns = (column.tolist() for column in (found, pool.start[found], pool.size[found], pool.owner[found]))
    gates = [
        Gate(2 * signal, tuple(pool.items[begin : begin + size].tolist()), owner >= 0)
        for signal, begin, size, owner in zip(*columns, strict=True)
    ]
    loops = zip(outputs.loop_signal.tolist(), outputs.loop_definition.tolist(), strict=True)
    return Program(gates, [(2 * signal, definition) for signal, definition in loops if live[signal]])
