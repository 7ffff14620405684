"""Finds fluents that never change by ternary simulation to a fixpoint, the sequential sweep of hardware synthesis."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.gdl.circuit.outputs import Outputs, mark_live
from games.gdl.circuit.pool import GATE, LOOP, MOVE_SET, N_SIGNALS, Pool

_UNKNOWN = 2
"""Truth value beside 0 and 1."""


def constant_fluents(pool: Pool, outputs: Outputs, initial: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each fluent keeps its initial value in every reachable state (a sufficient test)."""
    live = mark_live(pool, outputs.next, outputs.loop_signal, outputs.loop_definition)
    changing: NDArray[np.bool_] = _changing_fluents(pool, live, outputs.next, initial)
    return ~changing


@njit(cache=True, nogil=True)
def _changing_fluents(pool, live, nexts, initial):
    """Whether each fluent may change (bool[fluents]): a fixpoint over three truth values, from the initial state.

    `pool` is a `Pool`; `live` (bool[signals]) are the gates that next facts need, `nexts` (int32[fluents]) the literals
    of these facts, `initial` is bool[fluents]. Each edge is visited a bounded number of times.
    """
    n = pool.counts[N_SIGNALS]
    n_fluents = len(initial)
    # Step 1. List the readers of each signal, as gate and sign, as changes spread from inputs to outputs.
    first_reader = np.zeros(n + 1, np.int64)
    for gate in range(n):
        if live[gate] and pool.kind[gate] == GATE:
            for i in range(pool.start[gate], pool.start[gate] + pool.size[gate]):
                first_reader[pool.items[i] >> 1] += 1
    total = np.int64(0)
    for signal in range(n + 1):
        count = first_reader[signal]
        first_reader[signal] = total
        total += count
    readers = np.empty(total, np.int32)
    fill = first_reader.copy()
    for gate in range(n):
        if live[gate] and pool.kind[gate] == GATE:
            for i in range(pool.start[gate], pool.start[gate] + pool.size[gate]):
                signal = pool.items[i] >> 1
                readers[fill[signal]] = 2 * gate + (pool.items[i] & 1)
                fill[signal] += 1
    # Step 2. List the fluents whose next value a signal is, linked: several fluents may have the same.
    first_next = np.full(n, -1, np.int32)
    following = np.empty(n_fluents, np.int32)
    for fluent in range(n_fluents):
        signal = nexts[fluent] >> 1
        following[fluent] = first_next[signal]
        first_next[signal] = fluent
    # Step 3. Evaluate the initial state, with moves and loops unknown. Gates count their false and unknown inputs, so
    # that step 5 need not look at all inputs again.
    value = np.zeros(n, np.int8)
    zeros = np.zeros(n, np.int32)
    unknowns = np.zeros(n, np.int32)
    value[0] = 1
    for fluent in range(n_fluents):
        value[fluent + 1] = 1 if initial[fluent] else 0
    for signal in range(n):
        if pool.kind[signal] == MOVE_SET or pool.kind[signal] == LOOP:
            value[signal] = _UNKNOWN
        elif pool.kind[signal] == GATE and live[signal]:
            for i in range(pool.start[signal], pool.start[signal] + pool.size[signal]):
                other = value[pool.items[i] >> 1]
                if other == _UNKNOWN:
                    unknowns[signal] += 1
                elif other == (pool.items[i] & 1):
                    zeros[signal] += 1
            value[signal] = 0 if zeros[signal] else (_UNKNOWN if unknowns[signal] else 1)
    # Step 4. A fluent becomes unknown if its next value is unknown or not the initial one. The queue holds signals that
    # became unknown, with their values before.
    queue = np.empty(n, np.int32)
    tail = 0
    for fluent in range(n_fluents):
        known = value[nexts[fluent] >> 1]
        before = value[fluent + 1]
        if known == _UNKNOWN or (known ^ (nexts[fluent] & 1)) != before:
            queue[tail] = 2 * (fluent + 1) + before
            tail += 1
            value[fluent + 1] = _UNKNOWN
    # Step 5. Spread to the fluents and gates that read an unknown signal, until nothing changes. A gate with a false
    # input stays false.
    head = 0
    while head < tail:
        signal = queue[head] >> 1
        was = queue[head] & 1
        head += 1
        fluent = first_next[signal]
        while fluent >= 0:
            before = value[fluent + 1]
            if before != _UNKNOWN:
                queue[tail] = 2 * (fluent + 1) + before
                tail += 1
                value[fluent + 1] = _UNKNOWN
            fluent = following[fluent]
        for k in range(first_reader[signal], first_reader[signal + 1]):
            gate = readers[k] >> 1
            if was == (readers[k] & 1):
                zeros[gate] -= 1
            unknowns[gate] += 1
            before = value[gate]
            if before != _UNKNOWN and zeros[gate] == 0:
                queue[tail] = 2 * gate + before
                tail += 1
                value[gate] = _UNKNOWN
    return value[1 : n_fluents + 1] == _UNKNOWN
