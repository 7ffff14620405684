"""The order in which a circuit's gates are evaluated: levels and cyclic components; wide gates are split before."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.gdl.circuit.pool import GATE, LOOP, MOVE_SET, N_ITEMS, N_SIGNALS, Pool, grow


def narrow(pool: Pool, live: NDArray[np.bool_], max_arity: int) -> Pool:
    """A copy of the pool in which live gates (bool[signals]) with more than `max_arity` inputs are split into trees."""
    n = len(live)
    wide = np.flatnonzero(live & (pool.kind[:n] == GATE) & (pool.size[:n] > max_arity)).astype(np.int32)
    sizes = pool.size[wide].astype(np.int64)
    need_signals = int((sizes // (max_arity - 1) + 2).sum())
    need_items = int(2 * sizes.sum())
    pool = pool._replace(
        items=pool.items.copy(), size=pool.size.copy(), start=pool.start.copy(), counts=pool.counts.copy()
    )
    while pool.counts[N_SIGNALS] + need_signals > len(pool.kind) or pool.counts[N_ITEMS] + need_items > len(pool.items):
        pool = grow(pool)
    _split_wide(pool, wide, max_arity)
    return pool


@njit(cache=True, nogil=True)
def _split_wide(pool, wide, max_arity):
    """Splits these gates (int32[n]) of a `Pool`, which has room for that."""
    for gate in wide:
        while pool.size[gate] > max_arity:
            first = pool.start[gate]
            size = pool.size[gate]
            kept = 0
            for begin in range(0, size, max_arity):
                part = min(max_arity, size - begin)
                if part == 1:
                    pool.items[first + kept] = pool.items[first + begin]
                    kept += 1
                    continue
                signal = pool.counts[N_SIGNALS]
                start = pool.counts[N_ITEMS]
                for i in range(part):
                    pool.items[start + i] = pool.items[first + begin + i]
                pool.kind[signal] = GATE
                pool.owner[signal] = pool.owner[gate]
                pool.start[signal] = start
                pool.size[signal] = part
                pool.counts[N_SIGNALS] = signal + 1
                pool.counts[N_ITEMS] = start + part
                pool.items[first + kept] = 2 * signal
                kept += 1
            pool.size[gate] = kept


def schedule(
    pool: Pool, live: NDArray[np.bool_], loop_signal: NDArray[np.int32], loop_definition: NDArray[np.int32]
) -> list[tuple[NDArray[np.int32], bool]]:
    """Live gates and loops in evaluation order: groups of plain gates of one level, and whole cyclic components.

    `live` is bool[signals], loops are those of `Outputs`. Each group comes with whether it is cyclic.
    """
    n = len(live)
    definition = np.full(n, -1, np.int32)
    definition[loop_signal] = loop_definition
    level = _levels(pool, live, definition)
    inside = live & ((pool.kind[:n] == GATE) | (pool.kind[:n] == LOOP))
    members = np.flatnonzero(inside).astype(np.int32)
    if not len(members):
        return []
    block = pool.owner[members]
    order = np.lexsort((block, level[members]))
    members, block = members[order], block[order]
    key = level[members].astype(np.int64) * (int(block.max(initial=0)) + 2) + block + 1
    cuts = np.flatnonzero(np.diff(key)) + 1
    return [(part, bool(pool.owner[part[0]] >= 0)) for part in np.split(members, cuts)]


@njit(cache=True, nogil=True)
def _levels(pool, live, definition):
    """The level of each live gate and loop: the longest path from what is not live here (Kahn 1962).

    A cyclic component counts as one node. `pool` is a `Pool`, `live` bool[signals], `definition` int32[signals] the
    literal that each `LOOP` is equal to. Returns int32[signals].
    """
    n = len(live)
    node = np.arange(n)
    first = np.full(n + 1, -1, np.int64)  # the signal that stands for a component
    for signal in range(n):
        if live[signal] and pool.owner[signal] >= 0 and pool.kind[signal] != MOVE_SET:
            block = pool.owner[signal]
            if block >= len(first):
                longer = np.full(2 * block + 1, -1, np.int64)
                longer[: len(first)] = first
                first = longer
            if first[block] < 0:
                first[block] = signal
            node[signal] = first[block]
    waits = np.zeros(n, np.int64)
    fanout = np.zeros(n + 1, np.int64)
    for count in range(2):
        if count == 1:
            total = np.int64(0)
            for signal in range(n + 1):
                size = fanout[signal]
                fanout[signal] = total
                total += size
            readers = np.empty(total, np.int64)
            fill = fanout.copy()
        for signal in range(n):
            if not live[signal] or (pool.kind[signal] != GATE and pool.kind[signal] != LOOP):
                continue
            size = pool.size[signal] if pool.kind[signal] == GATE else 1
            for i in range(size):
                literal = pool.items[pool.start[signal] + i] if pool.kind[signal] == GATE else definition[signal]
                other = literal >> 1
                inner = live[other] and (pool.kind[other] == GATE or pool.kind[other] == LOOP)
                if inner and node[other] != node[signal]:
                    if count == 0:
                        fanout[node[other]] += 1
                        waits[node[signal]] += 1
                    else:
                        readers[fill[node[other]]] = node[signal]
                        fill[node[other]] += 1
    level = np.zeros(n, np.int32)
    queue = np.empty(n, np.int64)
    tail = 0
    for signal in range(n):
        inside = live[signal] and (pool.kind[signal] == GATE or pool.kind[signal] == LOOP)
        if inside and node[signal] == signal and waits[signal] == 0:
            queue[tail] = signal
            tail += 1
    head = 0
    while head < tail:
        signal = queue[head]
        head += 1
        for k in range(fanout[signal], fanout[signal + 1]):
            reader = readers[k]
            level[reader] = max(level[reader], level[signal] + 1)
            waits[reader] -= 1
            if waits[reader] == 0:
                queue[tail] = reader
                tail += 1
    for signal in range(n):
        level[signal] = level[node[signal]]
    return level


@njit(cache=True, nogil=True)
def local_levels(pool, members, n):
    """Levels inside one cyclic component, where its loop signals count as given (depth-first, own stack).

    `pool` is a `Pool`, `members` int32[m] the component's gates, `n` the number of signals. Returns int32[m].
    """
    index = np.full(n, -1, np.int32)
    for i in range(len(members)):
        index[members[i]] = i
    level = np.full(len(members), -1, np.int32)
    reached = np.zeros(len(members), np.int32)  # how many of the gate's inputs have been looked at
    stack = np.empty(len(members), np.int32)
    for root in range(len(members)):
        if level[root] >= 0:
            continue
        top = 1
        stack[0] = root
        while top > 0:
            i = stack[top - 1]
            gate = members[i]
            inner = np.int32(-1)
            while reached[i] < pool.size[gate]:
                other = index[pool.items[pool.start[gate] + reached[i]] >> 1]
                if other >= 0 and level[other] < 0:
                    inner = other
                    break
                reached[i] += 1
            if inner >= 0:
                stack[top] = inner
                top += 1
                continue
            deepest = np.int32(0)
            for k in range(pool.start[gate], pool.start[gate] + pool.size[gate]):
                other = index[pool.items[k] >> 1]
                if other >= 0:
                    deepest = max(deepest, level[other] + 1)
            level[i] = deepest
            top -= 1
    return level
