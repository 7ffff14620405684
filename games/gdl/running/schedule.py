"""The order in which a circuit's gates are evaluated: levels and cyclic components; wide gates are split before."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.gdl.circuit.pool import GATE, LOOP, N_ITEMS, N_SIGNALS, Pool, grow


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


def ranges(starts: NDArray[np.int64], sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """The numbers of all ranges, each `size` numbers from `start` on, one range after the other."""
    ends = np.cumsum(sizes, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - sizes), sizes)


def _levels(pool: Pool, live: NDArray[np.bool_], definition: NDArray[np.int32]) -> NDArray[np.int32]:
    """The level of each live gate and loop (signals): the longest path from what is not live here.

    A cyclic component counts as one node. `definition` (signals) is the literal that each `LOOP` is equal to.
    """
    n = len(live)
    kind, owner = pool.kind[:n], pool.owner[:n]
    inside = live & ((kind == GATE) | (kind == LOOP))
    # The first signal of a component stands for it.
    node = np.arange(n)
    cyclic = np.flatnonzero(inside & (owner >= 0))
    _, first, component = np.unique(owner[cyclic], return_index=True, return_inverse=True)
    node[cyclic] = cyclic[first[component]]
    source, target = _reads(pool, np.flatnonzero(inside & (kind == GATE)))
    loops = np.flatnonzero(inside & (kind == LOOP))
    source = np.concatenate((source, definition[loops] >> 1))
    target = np.concatenate((target, loops))
    inner = inside[source] & (node[source] != node[target])
    return _longest_paths(n, node[source[inner]], node[target[inner]])[node]


def local_levels(pool: Pool, members: NDArray[np.int32], n: int) -> NDArray[np.int32]:
    """Levels of the gates of one cyclic component, where its loop signals count as given; `n` signals in all."""
    index = np.full(n, -1)
    index[members] = np.arange(len(members))
    source, target = _reads(pool, members)
    inner = index[source] >= 0
    return _longest_paths(len(members), index[source[inner]], index[target[inner]])


def _reads(pool: Pool, gates: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Which signals the gates read, as pairs: what is read, and the gate."""
    sizes = pool.size[gates]
    return pool.items[ranges(pool.start[gates], sizes)] >> 1, np.repeat(gates, sizes)


def _longest_paths(n: int, source: NDArray[np.integer], target: NDArray[np.integer]) -> NDArray[np.int32]:
    """The edges of the longest path to each of n nodes of a graph without cycles, level by level (Kahn 1962)."""
    level = np.zeros(n, np.int32)
    waits = np.bincount(target, minlength=n)
    fanout = np.bincount(source, minlength=n)
    begin = np.cumsum(fanout) - fanout
    readers = target[np.argsort(source, kind="stable")]
    ready = np.flatnonzero((waits == 0) & (fanout > 0))
    depth = 0
    while len(ready):
        depth += 1
        reached, times = np.unique(readers[ranges(begin[ready], fanout[ready])], return_counts=True)
        waits[reached] -= times
        ready = reached[waits[reached] == 0]
        level[ready] = depth
    return level
