"""Copies the needed part of a circuit, with fluents replaced and gates merged into their single readers."""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits.compiling import KERNEL
from games.gdl.circuit.outputs import Literals, Outputs, mark_live
from games.gdl.circuit.pool import (
    BLOCK,
    GATE,
    LOOP,
    MOVE_SET,
    N_ITEMS,
    N_SIGNALS,
    NO_ROOM,
    TRUE,
    Pool,
    conjoin,
    grow,
    intern,
    new_loop,
    new_pool,
)

_UNDEFINED = -1


def rebuild(pool: Pool, outputs: Outputs, fluent_value: Literals, n_fluents: int) -> tuple[Pool, Outputs]:
    """A copy of the live part of the circuit, with fluents replaced by literals of the new pool.

    Gates with one reader are merged into it.
    """
    live = mark_live(pool, *outputs.roots())
    n = int(pool.counts[N_SIGNALS])
    fresh = new_pool(n_fluents, pool.moves, n + 64, int(pool.size[:n][live[:n]].sum()) + 4096)
    mapped = np.full(n, _UNDEFINED, np.int32)
    mapped[0] = TRUE
    old_fluents = len(fluent_value)
    mapped[1 : old_fluents + 1] = fluent_value
    merge = _single_readers(pool, live, *outputs.roots())
    # Both are far longer than needed; untouched memory costs nothing.
    literals = np.empty(int(pool.counts[N_ITEMS]) + 1, np.int32)
    stack = np.empty(n + 1, np.int32)
    position = old_fluents + 1
    while True:
        position = _copy_signals(pool, fresh, live, merge, mapped, position, literals, stack)
        if position == n:
            break
        fresh = grow(fresh)
    return fresh, outputs.mapped(mapped)


@njit(cache=True, nogil=True)
def _single_readers(pool, live, roots, loop_signal, loop_definition):
    """Gates that exactly one gate reads, un-negated, and that are no output: their reader can take over their inputs.

    `pool` is a `Pool`, `live` bool[signals], the others are int32 arrays (see `Outputs.roots`). Returns bool[signals].
    """
    n = pool.counts[N_SIGNALS]
    reads = np.zeros(n, np.int32)
    for literal in roots:
        reads[literal >> 1] += 2
    for literal in loop_definition:
        reads[literal >> 1] += 2
    for gate in range(n):
        if live[gate] and pool.kind[gate] == GATE:
            for i in range(pool.start[gate], pool.start[gate] + pool.size[gate]):
                literal = pool.items[i]
                reads[literal >> 1] += 2 if (literal & 1 or pool.owner[gate] >= 0) else 1
    merge = np.zeros(n, np.bool_)
    for gate in range(n):
        merge[gate] = live[gate] and pool.kind[gate] == GATE and reads[gate] == 1 and pool.owner[gate] < 0
    return merge


@njit(**KERNEL)
def _copy_signals(old, fresh, live, merge, mapped, position, literals, stack):
    """Copies signals in order; returns the signal at which the new pool ran out of room, or the number of old signals.

    `old` and `fresh` are `Pool`s. Per old signal, `live` and `merge` (bool) say whether it is needed and whether its
    reader takes over its inputs; `mapped` (int32) is filled with its literal in the new pool. Copying begins at
    signal `position`. Workspace are `literals` and `stack` (int32), as long as there are items and signals.
    """
    n = old.counts[N_SIGNALS]
    for signal in range(position, n):
        if not live[signal] or merge[signal]:
            continue
        kind = old.kind[signal]
        if kind == MOVE_SET:
            start = old.start[signal]
            size = old.size[signal]
            for i in range(size):
                literals[i] = old.items[start + i]
            result = intern(fresh, np.int64(MOVE_SET), old.owner[signal], literals, np.int64(size))
            if result == NO_ROOM:
                return signal
            mapped[signal] = 2 * result
        elif kind == LOOP:
            fresh.counts[BLOCK] = old.owner[signal]
            result = new_loop(fresh)
            if result == NO_ROOM:
                return signal
            mapped[signal] = 2 * result
        elif kind == GATE:
            k = 0
            top = 1
            stack[0] = signal
            while top > 0:
                top -= 1
                gate = stack[top]
                for i in range(old.start[gate], old.start[gate] + old.size[gate]):
                    literal = old.items[i]
                    if merge[literal >> 1]:
                        stack[top] = literal >> 1
                        top += 1
                        continue
                    literals[k] = mapped[literal >> 1] ^ (literal & 1)
                    k += 1
            fresh.counts[BLOCK] = old.owner[signal]
            result = conjoin(fresh, literals, np.int64(k))
            if result == NO_ROOM:
                return signal
            mapped[signal] = result
    return n
