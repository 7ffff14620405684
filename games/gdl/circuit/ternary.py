"""Ternary simulation: what is the same in every reachable state, over-estimated by Kleene's three-valued logic.

To its fixpoint from the first state it is the sequential sweep of hardware synthesis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.compiling import KERNEL
from games.gdl.circuit.outputs import Literals, Outputs, mark_live
from games.gdl.circuit.pool import GATE, MOVE_SET, N_SIGNALS, Pool, items_of

OPEN = 2
"""Truth value beside 0 and 1: either."""

Values = NDArray[np.int8]
"""Truth values, 0, 1 or OPEN."""


def reachable(pool: Pool, outputs: Outputs, state: NDArray[np.bool_], legal: Sequence[int] | None = None) -> Values:
    """Per signal, its value in all states reachable from one (bool[fluents]); cycles and moves are open.

    `legal` are the roles' numbers of moves, of which each makes a legal one; without it, they make any move, or none.
    """
    value = np.full(pool.counts[N_SIGNALS], OPEN, np.int8)
    value[0] = 1
    cycles = outputs.loop_signal, outputs.loop_definition
    of_legal, of_next = (
        np.flatnonzero(mark_live(pool, roots, *cycles) & (pool.kind[: len(value)] == GATE))
        for roots in (outputs.legal if legal is not None else outputs.legal[:0], outputs.next)
    )
    fluents = state.astype(np.int8)
    while True:
        value[1 : len(fluents) + 1] = fluents
        if legal is not None:
            simulate(pool.start, pool.size, pool.items, of_legal, value)
            _enter_moves(pool, outputs, legal, value)
        simulate(pool.start, pool.size, pool.items, of_next, value)
        following = np.where(of_literals(outputs.next, value) == fluents, fluents, OPEN).astype(np.int8)
        if (following == fluents).all():
            return value
        fluents = following
        # What is open stays so.
        of_legal, of_next = (gates[value[gates] != OPEN] for gates in (of_legal, of_next))


def of_literals(literals: Literals, value: Values) -> Values:
    """The values of literals, by those of all signals."""
    found = value[literals >> 1]
    return np.asarray(np.where(found == OPEN, found, found ^ (literals & 1)), np.int8)


def _enter_moves(pool: Pool, outputs: Outputs, n_moves: Sequence[int], value: Values) -> None:
    """Sets the values of move sets, by those of the legal moves."""
    of_role = np.split(of_literals(outputs.legal, value) != 0, np.cumsum(n_moves))
    for signal in np.flatnonzero(pool.kind[: len(value)] == MOVE_SET).tolist():
        moves = of_role[pool.owner[signal]]
        inside = np.zeros(len(moves) + 1, np.bool_)
        inside[items_of(pool, signal)] = True
        member = moves & inside[:-1]
        value[signal] = 0 if not member.any() else 1 if (member == moves).all() else OPEN


@njit(**KERNEL)
def simulate(start, size, items, gates, value):
    """Sets the values (int8[signals]) of some gates (int64[n], in order); the other arrays are those of a `Pool`."""
    for gate in gates:
        found = 1
        for i in range(start[gate], start[gate] + size[gate]):
            other = value[items[i] >> 1]
            if other == OPEN:
                found = OPEN
            elif other == (items[i] & 1):
                found = 0
                break
        value[gate] = found
