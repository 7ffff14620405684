"""A pool of boolean signals: n-ary AND gates with inverters, and sets of moves, each stored once.

A *literal* is `2 * signal + negated`. Signal 0 is the constant true, so literal 0 is `TRUE` and literal 1 is `FALSE`.
An OR is the negated AND of negated literals. `does` never becomes a wire: each role makes exactly one move, so
conditions on `does` say "the move is one of these", a *move set*. Conjunctions of a role's move sets are move sets
again, computed while the circuit is built. The smaller of a set and its complement is stored; its literal may be
negated.

Structural hashing after Kuehlmann et al., "Robust Boolean reasoning for equivalence checking", 2002 (AIGs), with wide
gates.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.compiling import ALLOCATING, KERNEL

TRUE = 0
FALSE = 1

CONSTANT = 0
FLUENT = 1  # an input: one bit of the state
MOVE_SET = 2  # an input: "the role's move is one of ..."; items are move indices
GATE = 3  # AND of its items, which are literals
LOOP = 4  # a signal inside a positive cycle; its definition is kept beside the pool

N_SIGNALS = 0  # indices into `Pool.counts`
N_ITEMS = 1
EPOCH = 2
BLOCK = 3

_INSERTION_LIMIT = 24
"""Most literals sorted by insertion; more by heapsort."""

NO_ROOM = -1
"""Result of kernels for which the pool is too small; grow it and call again."""


_Number = TypeVar("_Number", bound=np.generic)


class Pool(NamedTuple):
    """Signals in topological order (except `LOOP`), as parallel arrays; `counts` are the parts in use."""

    kind: NDArray[np.int8]
    start: NDArray[np.int64]
    """First of the signal's items."""
    size: NDArray[np.int32]
    owner: NDArray[np.int32]
    """`MOVE_SET`: the role. `GATE`: the cycle it was built for, or -1."""
    items: NDArray[np.int32]
    table: NDArray[np.int32]
    """Open-addressing hash table of signals, -1 where empty; its length is a power of two."""
    moves: NDArray[np.int32]
    """Number of moves per role, and one more, the last, where it may have none."""
    mark: NDArray[np.int32]
    """Workspace, at least as long as the most moves of a role: epoch stamps."""
    tally: NDArray[np.int32]
    """Workspace, as long as `mark`."""
    counts: NDArray[np.int64]


def new_pool(n_fluents: int, n_moves: NDArray[np.int32], signals: int, items: int) -> Pool:
    """A pool of the constant and the fluents (signals 1..n_fluents), with room for some signals and items.

    `n_moves` is the number of moves per role.
    """
    signals = max(signals, n_fluents + 16)
    pool = Pool(
        kind=np.zeros(signals, np.int8),
        start=np.zeros(signals, np.int64),
        size=np.zeros(signals, np.int32),
        owner=np.full(signals, -1, np.int32),
        items=np.zeros(max(items, 64), np.int32),
        table=np.full(_table_size(signals), -1, np.int32),
        moves=n_moves,
        mark=np.zeros(max(1, int(n_moves.max(initial=1))), np.int32),
        tally=np.zeros(max(1, int(n_moves.max(initial=1))), np.int32),
        counts=np.array([n_fluents + 1, 0, 0, -1], np.int64),
    )
    pool.kind[1 : n_fluents + 1] = FLUENT
    return pool


def items_of(pool: Pool, signal: int) -> NDArray[np.int32]:
    """A view of a signal's items."""
    start = pool.start[signal]
    return pool.items[start : start + pool.size[signal]]


def grow(pool: Pool) -> Pool:
    """The same pool with twice the room."""
    signals = 2 * len(pool.kind)

    def longer(array: NDArray[_Number], length: int) -> NDArray[_Number]:
        result = np.zeros(length, array.dtype)
        result[: len(array)] = array
        return result

    grown = pool._replace(
        kind=longer(pool.kind, signals),
        start=longer(pool.start, signals),
        size=longer(pool.size, signals),
        owner=longer(pool.owner, signals),
        items=longer(pool.items, 2 * len(pool.items)),
        table=np.full(_table_size(signals), -1, np.int32),
    )
    _rehash(grown)
    return grown


def _table_size(signals: int) -> int:
    return 1 << (2 * signals - 1).bit_length()


@njit(**KERNEL)
def _hash(kind, owner, items, start, size):
    """A hash (uint64) of a signal's kind, owner (integers) and items (`items[start : start + size]`, int32)."""
    h = np.uint64(kind * 1000003 + owner + 7)
    for i in range(start, start + size):
        h = (h ^ np.uint64(items[i])) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(29)
    return h


@njit(**KERNEL)
def _rehash(pool):
    """Fills the empty hash table of a `Pool` with its signals."""
    mask = np.uint64(len(pool.table) - 1)
    for signal in range(pool.counts[N_SIGNALS]):
        kind = np.int64(pool.kind[signal])
        if kind in (MOVE_SET, GATE):
            owner = np.int64(pool.owner[signal]) if kind == MOVE_SET else np.int64(-1)
            slot = _hash(kind, owner, pool.items, pool.start[signal], np.int64(pool.size[signal])) & mask
            while pool.table[slot] >= 0:
                slot = (slot + np.uint64(1)) & mask
            pool.table[slot] = signal


@njit(**KERNEL)
def intern(pool, kind, owner, values, n):
    """The signal of this kind with exactly these items, new if there is none; `NO_ROOM` if it does not fit.

    `pool` is a `Pool`; `values[:n]` (int32) must be sorted. Gates are equal whatever their `owner`.
    """
    counts = pool.counts
    key_owner = owner if kind == MOVE_SET else -1
    signal = counts[N_SIGNALS]
    start = counts[N_ITEMS]
    if signal >= len(pool.kind) or start + n > len(pool.items):
        return NO_ROOM
    items = pool.items
    for i in range(n):
        items[start + i] = values[i]
    mask = np.uint64(len(pool.table) - 1)
    slot = _hash(kind, key_owner, items, start, n) & mask
    while pool.table[slot] >= 0:
        other = pool.table[slot]
        if pool.kind[other] == kind and pool.size[other] == n and (kind != MOVE_SET or pool.owner[other] == owner):
            first = pool.start[other]
            same = True
            for i in range(n):
                if items[first + i] != items[start + i]:
                    same = False
                    break
            if same:
                return other
        slot = (slot + np.uint64(1)) & mask
    pool.table[slot] = signal
    pool.kind[signal] = kind
    pool.start[signal] = start
    pool.size[signal] = n
    pool.owner[signal] = owner
    counts[N_SIGNALS] = signal + 1
    counts[N_ITEMS] = start + n
    return signal


@njit(**KERNEL)
def new_loop(pool):
    """A new signal of a `Pool` for an atom in a positive cycle, or `NO_ROOM`."""
    signal = pool.counts[N_SIGNALS]
    if signal >= len(pool.kind):
        return NO_ROOM
    pool.kind[signal] = LOOP
    pool.owner[signal] = pool.counts[BLOCK]
    pool.counts[N_SIGNALS] = signal + 1
    return signal


@njit(**ALLOCATING)
def move_set(pool, role, values, n):
    """The literal "the role's move is one of `values[:n]`" (int32, sorted, without repeats), or `NO_ROOM`."""
    total = pool.moves[role]
    if n == 0:
        return FALSE
    if n == total:
        return TRUE
    if 2 * n < total or (2 * n == total and values[0] == 0):
        signal = intern(pool, np.int64(MOVE_SET), np.int32(role), values, np.int64(n))
        return signal if signal < 0 else 2 * signal
    complement = np.empty(total - n, np.int32)
    k = 0
    j = 0
    for move in range(total):
        if j < n and values[j] == move:
            j += 1
        else:
            complement[k] = move
            k += 1
    signal = intern(pool, np.int64(MOVE_SET), np.int32(role), complement, np.int64(k))
    return signal if signal < 0 else 2 * signal + 1


@njit(**ALLOCATING)
def _intersect(pool, role, literals, n):
    """One literal for the conjunction of move-set literals (`literals[:n]`, int32) of one role, or `NO_ROOM`."""
    pool.counts[EPOCH] += 1
    epoch = np.int32(pool.counts[EPOCH])
    mark = pool.mark
    tally = pool.tally
    positives = 0
    smallest = -1
    union = 0
    for i in range(n):
        signal = literals[i] >> 1
        if literals[i] & 1 == 0:
            positives += 1
            if smallest < 0 or pool.size[signal] < pool.size[smallest]:
                smallest = signal
        else:
            union += pool.size[signal]
    for i in range(n):
        signal = literals[i] >> 1
        first = pool.start[signal]
        for j in range(first, first + pool.size[signal]):
            move = pool.items[j]
            if mark[move] != epoch:
                mark[move] = epoch
                tally[move] = 0
            if literals[i] & 1:
                tally[move] = -(1 << 20)
            else:
                tally[move] += 1
    if positives:
        size = pool.size[smallest]
        found = np.empty(size, np.int32)
        k = 0
        for j in range(pool.start[smallest], pool.start[smallest] + size):
            move = pool.items[j]
            if tally[move] == positives:
                found[k] = move
                k += 1
        return move_set(pool, role, found, np.int64(k))
    found = np.empty(union, np.int32)
    k = 0
    for i in range(n):
        signal = literals[i] >> 1
        first = pool.start[signal]
        for j in range(first, first + pool.size[signal]):
            move = pool.items[j]
            if tally[move] != 1:
                tally[move] = 1
                found[k] = move
                k += 1
    sort(found, np.int64(k))
    literal = move_set(pool, role, found, np.int64(k))
    return literal if literal < 0 else literal ^ 1


@njit(**KERNEL)
def conjoin(pool, literals, n):
    """The literal for the AND of `literals[:n]` (int32, overwritten), simplified, or `NO_ROOM`."""
    k = 0
    sets = 0
    for i in range(n):
        literal = literals[i]
        if literal == FALSE:
            return FALSE
        if literal != TRUE:
            literals[k] = literal
            k += 1
            if pool.kind[literal >> 1] == MOVE_SET:
                sets += 1
    if sets > 1:
        k = _merge_sets(pool, literals, np.int64(k))
        if k == NO_ROOM:
            return NO_ROOM
        if k == -2:
            return FALSE
    if k == 0:
        return TRUE
    if k == 1:
        return literals[0]
    if k <= _INSERTION_LIMIT:
        for i in range(1, k):
            value = literals[i]
            j = i - 1
            while j >= 0 and literals[j] > value:
                literals[j + 1] = literals[j]
                j -= 1
            literals[j + 1] = value
    else:
        sort(literals, np.int64(k))
    unique = 1
    for i in range(1, k):
        if literals[i] != literals[unique - 1]:
            if literals[i] == literals[unique - 1] ^ 1:
                return FALSE
            literals[unique] = literals[i]
            unique += 1
    if unique == 1:
        return literals[0]
    signal = intern(pool, np.int64(GATE), np.int32(pool.counts[BLOCK]), literals, np.int64(unique))
    return signal if signal < 0 else 2 * signal


@njit(**KERNEL)
def sort(values, n):
    """Sorts `values[:n]` (integers) in place, by heapsort (Williams 1964): `np.sort` allocates, and compiles slowly."""
    for i in range(1, n):
        value = values[i]
        j = i
        while j > 0 and values[(j - 1) >> 1] < value:
            values[j] = values[(j - 1) >> 1]
            j = (j - 1) >> 1
        values[j] = value
    for end in range(n - 1, 0, -1):
        value = values[end]
        values[end] = values[0]
        j = 0
        child = 1
        while child < end:
            if child + 1 < end and values[child + 1] > values[child]:
                child += 1
            if values[child] <= value:
                break
            values[j] = values[child]
            j = child
            child = 2 * j + 1
        values[j] = value


@njit(**ALLOCATING)
def _merge_sets(pool, literals, n):
    """Merges the move-set literals in `literals[:n]` (int32): at most one is left per role.

    Returns the number of literals left, -2 if they are false, or `NO_ROOM`.
    """
    group = np.empty(n, literals.dtype)
    for role in range(len(pool.moves)):
        k = 0
        rest = 0
        for i in range(n):
            literal = literals[i]
            if pool.kind[literal >> 1] == MOVE_SET and pool.owner[literal >> 1] == role:
                group[k] = literal
                k += 1
            else:
                literals[rest] = literal
                rest += 1
        n = rest
        if k == 0:
            continue
        merged = group[0] if k == 1 else _intersect(pool, role, group, np.int64(k))
        if merged == NO_ROOM:
            return NO_ROOM
        if merged == FALSE:
            return -2
        if merged != TRUE:
            literals[n] = merged
            n += 1
    return n
