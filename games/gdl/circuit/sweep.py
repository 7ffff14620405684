"""Finds fluents that never change: ternary simulation to a fixpoint, the sequential sweep of hardware synthesis."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.gdl.circuit.outputs import Outputs, mark_live
from games.gdl.circuit.pool import GATE, LOOP, MOVE_SET, N_SIGNALS, Pool


def constant_fluents(pool: Pool, outputs: Outputs, initial: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which fluents keep their initial value in every reachable state (a sufficient test), as a boolean per fluent."""
    live = mark_live(pool, outputs.next, outputs.loop_signal, outputs.loop_definition)
    changing: NDArray[np.bool_] = _changing_fluents(pool, live, outputs.next, initial)
    return ~changing


@njit(cache=True, nogil=True)
def _changing_fluents(pool, live, nexts, initial):
    """Fluents that may change: all start at their initial value, moves unknown; then unknowns spread to a fixpoint.

    `pool` is a `Pool`; `live` (bool[signals]) are the gates that next facts need, `nexts` (int32[fluents]) the literals
    of these, `initial` is bool[fluents]. Returns bool[fluents].

    A gate counts its false and its unknown inputs, so the whole fixpoint touches each edge a bounded number of times.
    """
    n = pool.counts[N_SIGNALS]
    n_fluents = len(initial)
    fanout = np.zeros(n + 1, np.int64)
    for gate in range(n):
        if live[gate] and pool.kind[gate] == GATE:
            for i in range(pool.start[gate], pool.start[gate] + pool.size[gate]):
                fanout[pool.items[i] >> 1] += 1
    total = np.int64(0)
    for signal in range(n + 1):
        count = fanout[signal]
        fanout[signal] = total
        total += count
    readers = np.empty(total, np.int32)
    fill = fanout.copy()
    for gate in range(n):
        if live[gate] and pool.kind[gate] == GATE:
            for i in range(pool.start[gate], pool.start[gate] + pool.size[gate]):
                signal = pool.items[i] >> 1
                readers[fill[signal]] = 2 * gate + (pool.items[i] & 1)
                fill[signal] += 1
    value = np.zeros(n, np.int8)  # 0 false, 1 true, 2 unknown
    zeros = np.zeros(n, np.int32)
    unknowns = np.zeros(n, np.int32)
    value[0] = 1
    for fluent in range(n_fluents):
        value[fluent + 1] = 1 if initial[fluent] else 0
    for signal in range(n):
        if pool.kind[signal] == MOVE_SET or pool.kind[signal] == LOOP:
            value[signal] = 2
        elif pool.kind[signal] == GATE and live[signal]:
            for i in range(pool.start[signal], pool.start[signal] + pool.size[signal]):
                other = value[pool.items[i] >> 1]
                if other == 2:
                    unknowns[signal] += 1
                elif other == (pool.items[i] & 1):
                    zeros[signal] += 1
            value[signal] = 0 if zeros[signal] else (2 if unknowns[signal] else 1)
    # next facts by the signal that carries them
    first_next = np.zeros(n + 1, np.int64)
    for fluent in range(n_fluents):
        first_next[nexts[fluent] >> 1] += 1
    total = 0
    for signal in range(n + 1):
        count = first_next[signal]
        first_next[signal] = total
        total += count
    next_of = np.empty(n_fluents, np.int32)
    fill = first_next.copy()
    for fluent in range(n_fluents):
        signal = nexts[fluent] >> 1
        next_of[fill[signal]] = fluent
        fill[signal] += 1
    changes = np.zeros(n_fluents, np.bool_)
    queue = np.empty(n + n_fluents, np.int32)
    head = 0
    tail = 0
    for fluent in range(n_fluents):
        literal = nexts[fluent]
        known = value[literal >> 1]
        expected = 1 if initial[fluent] else 0
        if known == 2 or (known ^ (literal & 1)) != expected:
            changes[fluent] = True
            value[fluent + 1] = 2
            queue[tail] = fluent + 1
            tail += 1
    old = np.zeros(n, np.int8)
    for fluent in range(n_fluents):
        old[fluent + 1] = 1 if initial[fluent] else 0
    while head < tail:
        signal = queue[head]
        head += 1
        was = old[signal]
        for k in range(first_next[signal], first_next[signal + 1]):
            fluent = next_of[k]
            if not changes[fluent]:
                changes[fluent] = True
                if value[fluent + 1] != 2:
                    value[fluent + 1] = 2
                    queue[tail] = fluent + 1
                    tail += 1
        for k in range(fanout[signal], fanout[signal + 1]):
            gate = readers[k] >> 1
            if was == (readers[k] & 1):
                zeros[gate] -= 1
            unknowns[gate] += 1
            if value[gate] != 2 and zeros[gate] == 0:
                old[gate] = value[gate]
                value[gate] = 2
                queue[tail] = gate
                tail += 1
    return changes
