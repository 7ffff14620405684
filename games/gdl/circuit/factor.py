"""Factors out literal pairs that many gates share: greedy single-cube extraction (Brayton and McMullen 1982)."""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits.compiling import KERNEL
from games.gdl.circuit.outputs import Outputs, mark_live
from games.gdl.circuit.pool import BLOCK, GATE, N_SIGNALS, NO_ROOM, Pool, grow, intern, sort

_PAIR_LIMIT = 1 << 22
"""Most pairs counted in one round; bounds memory (the table) and time."""

_WORK_PER_INPUT = 64
"""Most gate inputs looked at in one round, per gate input of the circuit: keeps factoring linear. Pairs come most
frequent first, so those left out are worth least."""

_COUNTED_INPUTS = 48
"""Inputs of a wide gate whose pairs are counted: the number of pairs grows with the square."""

_LEAST_USES = 3
"""Least number of gates with three or more inputs that share a pair worth a look."""

_USERS_OF_NEW_GATE = 4
"""Least number of gates that share a pair worth a new gate."""

_ROUNDS = 8
"""Most rounds."""

_SIGNALS_PER_SAVING = 200
"""A round that saves less than one gate input per this many signals is the last."""


def factor(pool: Pool, outputs: Outputs) -> Pool:
    """Extracts literal pairs that many gates share, most frequent first, in rounds while it pays."""
    for _ in range(_ROUNDS):
        live = mark_live(pool, *outputs.roots())
        saved, complete = _factor_round(pool, live)
        if not complete:
            pool = grow(pool)
        elif saved * _SIGNALS_PER_SAVING < live.sum():
            break
    return pool


@njit(**KERNEL)
def _pair_slot(keys, a, b):
    """The slot of a pair of literals (a < b) in an open-addressing table, present or not, and the pair's key.

    `keys` is int64[2^n], -1 where empty.
    """
    key = (np.int64(a) << 32) | np.int64(b)
    mask = np.uint64(len(keys) - 1)
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = (h ^ (h >> np.uint64(31))) & mask
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot), key


@njit(cache=True, nogil=True)
def _factor_round(pool, live):
    """One round; returns the number of gate inputs saved, and whether the pool had room for all of it.

    `pool` is a `Pool`, `live` bool[signals].
    """
    n = pool.counts[N_SIGNALS]
    # Step 1. List the gates, and count the readers of each literal. Gates in cycles stay as they are: an extracted gate
    # might depend on one of its own users.
    gates = np.empty(n, np.int32)
    n_gates = 0
    reads = np.zeros(2 * n + 1, np.int64)
    for gate in range(n):
        if live[gate] and pool.kind[gate] == GATE and pool.owner[gate] < 0:
            gates[n_gates] = gate
            n_gates += 1
            for i in range(pool.start[gate], pool.start[gate] + pool.size[gate]):
                reads[pool.items[i]] += 1
    gates = gates[:n_gates]
    # Step 2. Size the table of pairs. Both literals of a frequent pair are frequent; leaving out the others spares most
    # of the table.
    pairs = 0
    for gate in gates:
        if pool.size[gate] > 2:
            often = 0
            for i in range(pool.start[gate], pool.start[gate] + min(pool.size[gate], _COUNTED_INPUTS)):
                if reads[pool.items[i]] >= _LEAST_USES:
                    often += 1
            pairs += often * (often - 1) // 2
    if pairs == 0:
        return 0, True
    length = 1024
    while length < 2 * min(pairs, _PAIR_LIMIT):
        length *= 2
    # Step 3. Count the uses of each pair, until the table is half full.
    keys = np.full(length, -1, np.int64)
    uses = np.zeros(length, np.int32)
    filled = 0
    inputs = np.empty(_COUNTED_INPUTS, np.int32)
    for gate in gates:
        if pool.size[gate] < 3:
            continue
        if filled * 2 > length:
            break
        often = 0
        for i in range(pool.start[gate], pool.start[gate] + min(pool.size[gate], _COUNTED_INPUTS)):
            if reads[pool.items[i]] >= _LEAST_USES:
                inputs[often] = pool.items[i]
                often += 1
        for i in range(often):
            for j in range(i + 1, often):
                slot, key = _pair_slot(keys, inputs[i], inputs[j])
                if keys[slot] == -1:
                    keys[slot] = key
                    filled += 1
                uses[slot] += 1
    # Step 4. List the readers of each literal, so that the users of a pair are found without a look at all gates.
    total = np.int64(0)
    for literal in range(2 * n + 1):
        count = reads[literal]
        reads[literal] = total
        total += count
    readers = np.empty(total, np.int32)
    fill = reads.copy()
    for gate in gates:
        for i in range(pool.start[gate], pool.start[gate] + pool.size[gate]):
            readers[fill[pool.items[i]]] = gate
            fill[pool.items[i]] += 1
    # Step 5. Take the pairs by their uses, most frequent first, while the budget of work lasts.
    chosen = np.flatnonzero(uses >= _LEAST_USES)
    for i in range(len(chosen)):
        chosen[i] -= np.int64(uses[chosen[i]]) << 32
    sort(chosen, np.int64(len(chosen)))
    saved = 0
    both = np.empty(2, np.int32)
    users = np.empty(n, np.int32)
    work = np.int64(0)
    for ranked in chosen:
        if work > _WORK_PER_INPUT * total:
            break
        slot = ranked & 0xFFFFFFFF
        a = np.int32(keys[slot] >> 32)
        b = np.int32(keys[slot] & 0xFFFFFFFF)
        # Step 6. Find the users: the readers of the rarer literal that still read both. Pairs taken before may have
        # replaced one of them.
        rare = a if reads[a + 1] - reads[a] <= reads[b + 1] - reads[b] else b
        other = b if rare == a else a
        k = 0
        existing = False
        for r in range(reads[rare], reads[rare + 1]):
            gate = readers[r]
            work += pool.size[gate]
            has_rare = False
            has_other = False
            for i in range(pool.start[gate], pool.start[gate] + pool.size[gate]):
                if pool.items[i] == rare:
                    has_rare = True
                elif pool.items[i] == other:
                    has_other = True
            if has_rare and has_other:
                if pool.size[gate] == 2:
                    existing = True
                else:
                    users[k] = gate
                    k += 1
        # Step 7. Skip pairs that do not pay: each user saves an input, a new gate costs two.
        if k < (1 if existing else _USERS_OF_NEW_GATE):
            continue
        # Step 8. Make the gate, unless it exists. One in a cycle may wait for one of the users, so it is not read.
        both[0] = min(a, b)
        both[1] = max(a, b)
        pool.counts[BLOCK] = -1
        signal = intern(pool, np.int64(GATE), np.int32(-1), both, np.int64(2))
        if signal == NO_ROOM:
            return saved, False
        if pool.owner[signal] >= 0:
            continue
        # Step 9. Replace the pair in its users.
        for u in range(k):
            gate = users[u]
            if gate == signal:
                continue
            first = pool.start[gate]
            at = first
            for i in range(first, first + pool.size[gate]):
                if pool.items[i] != a and pool.items[i] != b:
                    pool.items[at] = pool.items[i]
                    at += 1
            pool.items[at] = 2 * signal
            pool.size[gate] = at + 1 - first
        saved += k if existing else k - 2
    return saved, True
