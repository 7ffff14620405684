"""Finds fluents that never change by ternary simulation to a fixpoint, the sequential sweep of hardware synthesis."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.compiling import KERNEL
from games.gdl.circuit.outputs import Outputs, mark_live
from games.gdl.circuit.pool import GATE, LOOP, MOVE_SET, N_SIGNALS, Pool

_UNKNOWN = 2
"""Truth value beside 0 and 1."""


def constant_fluents(pool: Pool, outputs: Outputs, initial: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each fluent keeps its initial value in every reachable state (a sufficient test)."""
    live = mark_live(pool, outputs.next, outputs.loop_signal, outputs.loop_definition)
    fluents = np.empty(len(initial), np.int8)
    _spread(pool, live, outputs.next, initial, np.zeros(len(live), np.int8), fluents)
    return np.asarray(fluents != _UNKNOWN)


@njit(**KERNEL)
def _spread(pool, live, nexts, initial, value, fluents):
    """Sets the truth values of signals (int8[signals]) and fluents (int8[fluents]) in any reachable state.

    A fixpoint from the initial state (bool[fluents]), with moves and loops unknown: in each round the gates are
    evaluated in order, and a fluent becomes unknown whose next value differs; what is unknown stays so. `pool` is a
    `Pool`; `live` (bool[signals]) are the gates that next facts need, `nexts` (int32[fluents]) the literals of these.
    """
    value[0] = 1
    for fluent in range(len(initial)):
        fluents[fluent] = 1 if initial[fluent] else 0
    changed = True
    while changed:
        changed = False
        for fluent in range(len(initial)):
            value[fluent + 1] = fluents[fluent]
        for signal in range(pool.counts[N_SIGNALS]):
            if pool.kind[signal] == MOVE_SET or pool.kind[signal] == LOOP:
                value[signal] = _UNKNOWN
            elif pool.kind[signal] == GATE and live[signal] and value[signal] != _UNKNOWN:
                found = 1
                for i in range(pool.start[signal], pool.start[signal] + pool.size[signal]):
                    other = value[pool.items[i] >> 1]
                    if other == _UNKNOWN:
                        found = _UNKNOWN
                    elif other == (pool.items[i] & 1):
                        found = 0
                        break
                value[signal] = found
        for fluent in range(len(initial)):
            known = value[nexts[fluent] >> 1]
            if fluents[fluent] != _UNKNOWN and (known == _UNKNOWN or known ^ (nexts[fluent] & 1) != fluents[fluent]):
                fluents[fluent] = _UNKNOWN
                changed = True
