"""Order of evaluation of a circuit's gates: levels and cyclic components; wide gates are split first."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.gdl.circuit.pool import GATE, LOOP, N_ITEMS, N_SIGNALS, Pool

_Number = TypeVar("_Number", bound=np.generic)


def narrow(pool: Pool, live: NDArray[np.bool_], max_arity: int) -> Pool:
    """A copy of the pool with live gates (bool[signals]) of more than `max_arity` inputs split into trees."""
    n = len(live)
    wide = np.flatnonzero(live & (pool.kind[:n] == GATE) & (pool.size[:n] > max_arity)).astype(np.int32)
    sizes = pool.size[wide].astype(np.int64)
    signals = int(pool.counts[N_SIGNALS])
    more = int((sizes // (max_arity - 1) + 2).sum())
    pool = pool._replace(
        kind=_with_room(pool.kind, signals, more),
        start=_with_room(pool.start, signals, more),
        size=_with_room(pool.size, signals, more),
        owner=_with_room(pool.owner, signals, more),
        items=_with_room(pool.items, int(pool.counts[N_ITEMS]), int(2 * sizes.sum())),
        counts=pool.counts.copy(),
    )
    _split_wide(pool, wide, max_arity)
    return pool


def _with_room(array: NDArray[_Number], used: int, more: int) -> NDArray[_Number]:
    result = np.zeros(used + more, array.dtype)
    result[:used] = array[:used]
    return result


@njit(cache=True, nogil=True)
def _split_wide(pool, wide, max_arity):
    """Splits these gates (int32[n]) of a `Pool` that has room for the parts."""
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

    `live` is bool[signals], loops are those of `Outputs`. A flag tells whether a group is cyclic.
    """
    n = len(live)
    definition = np.full(n, -1, np.int32)
    definition[loop_signal] = loop_definition
    level = _levels(pool, live, definition)
    members = np.flatnonzero(level >= 0)
    if not len(members):
        return []
    block = pool.owner[members]
    if block.max() >= 0:
        order = np.argsort(block, kind="stable")
        members, block = members[order], block[order]
    order = argsort_small(level[members])
    ordered: NDArray[np.int32] = members[order].astype(np.int32)
    cuts = np.flatnonzero((np.diff(level[ordered]) != 0) | (np.diff(block[order]) != 0)) + 1
    return [(part, bool(pool.owner[part[0]] >= 0)) for part in np.split(ordered, cuts)]


def argsort_small(keys: NDArray[np.integer]) -> NDArray[np.int64]:
    """The stable order of non-negative integers; fast for small ones."""
    # NumPy sorts 16-bit integers by radix, wider ones by comparison.
    small = len(keys) > 0 and int(keys.max()) <= np.iinfo(np.uint16).max
    return np.argsort(keys.astype(np.uint16) if small else keys, kind="stable")


def ranges(starts: NDArray[np.int64], sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """The numbers of all ranges, of `sizes` numbers from `starts` on, in a row."""
    ends = np.cumsum(sizes, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - sizes), sizes)


def _levels(pool: Pool, live: NDArray[np.bool_], definition: NDArray[np.int32]) -> NDArray[np.int32]:
    """The level of each live gate and loop (signals): the longest path from a signal not live here; -1 for others.

    A cyclic component counts as one node. `definition` (signals) is the literal that each `LOOP` equals.
    """
    n = len(live)
    kind, owner = pool.kind[:n], pool.owner[:n]
    inside = live & ((kind == GATE) | (kind == LOOP))
    cyclic = np.flatnonzero(inside & (owner >= 0)).astype(np.int32)
    cyclic = cyclic[np.argsort(owner[cyclic], kind="stable")]
    first = np.concatenate(([0], np.flatnonzero(np.diff(owner[cyclic])) + 1, [len(cyclic)])).astype(np.int64)
    component = np.full(n, -1, np.int32)
    component[cyclic] = np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first))
    found: NDArray[np.int32] = _longest_paths(pool, inside, definition, component, cyclic, first, True)
    return found


def local_levels(pool: Pool, live: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The level of each live gate in a cyclic component (signals), its loop signals taken as given; -1 for others."""
    n = len(live)
    inside = live & (pool.kind[:n] == GATE) & (pool.owner[:n] >= 0)
    # No components and no loops inside.
    alone, none, ends = np.full(n, -1, np.int32), np.empty(0, np.int32), np.zeros(1, np.int64)
    found: NDArray[np.int32] = _longest_paths(pool, inside, none, alone, none, ends, False)
    return found


@njit(cache=True, nogil=True)
def _longest_paths(pool, inside, definition, component, members, first, across):
    """The edges of the longest path to each signal `inside` (bool[signals]) from one outside; -1 for others.

    `pool` is a `Pool`; `definition` (int32[signals]) holds the literals of loops. Signals of one `component`
    (int32[signals], -1 for none) count as one node: component c is `members[first[c] : first[c + 1]]` (int32, int64).
    Unless `across` (bool), signals of another block count as outside. Returns int32[signals].
    """
    n = len(inside)
    level = np.full(n, -1, np.int32)
    alone = np.empty(1, np.int32)
    stack = np.empty(1024, np.int32)
    for root in range(n):
        if not inside[root] or level[root] >= 0:
            continue
        stack[0] = root
        top = 1
        while top > 0:
            signal = stack[top - 1]
            if level[signal] >= 0:
                top -= 1
                continue
            here = component[signal]
            alone[0] = signal
            group = alone if here < 0 else members[first[here] : first[here + 1]]
            before = top
            deepest = np.int32(0)
            for member in group:
                loop = pool.kind[member] == LOOP
                begin = np.int64(0) if loop else pool.start[member]
                end = np.int64(1) if loop else begin + pool.size[member]
                for i in range(begin, end):
                    other = (definition[member] if loop else pool.items[i]) >> 1
                    if not inside[other] or (here >= 0 and component[other] == here):
                        continue
                    if not across and pool.owner[other] != pool.owner[member]:
                        continue
                    if level[other] >= 0:
                        deepest = max(deepest, level[other] + np.int32(1))
                        continue
                    if top == len(stack):
                        stack = np.concatenate((stack, np.empty(len(stack), np.int32)))
                    stack[top] = other
                    top += 1
            if top == before:
                for member in group:
                    level[member] = deepest
                top -= 1
    return level
