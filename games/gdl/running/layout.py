"""Lays a circuit out for the kernels: every literal that is read gets a slot, gates are sorted into branch-free runs.

A *slot* holds one word (or W words) of lanes. Both polarities of a signal are slots of their own where both are read,
so that a kernel's inner loop is load-and-and, nothing else. Gates are grouped by level (everything they read is
computed before), then by arity and polarity; a *run* is such a group, its outputs are consecutive slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.gdl.circuit.circuit import Circuit
from games.gdl.circuit.outputs import mark_live
from games.gdl.circuit.pool import GATE, LOOP, MOVE_SET, N_ITEMS, N_SIGNALS, Pool, grow

MAX_ARITY = 8
"""Wider gates are split into trees, so that the kernels have straight-line code for every arity."""

SLOT_TRUE = 0
SLOT_FALSE = 1
FIRST_FLUENT = 2
"""The state's bits are slots FIRST_FLUENT, FIRST_FLUENT + 1, ..."""

ARITY, FLIP, COUNT, FIRST, OUT = range(5)
"""Columns of `GateProgram.runs`. Arity 0 is a loop: FLIP counts the runs of its body, COUNT its signals, FIRST where
their (loop slot, definition slot) pairs are in `GateProgram.inputs`."""


class GateProgram(NamedTuple):
    """A sequence of runs over slots."""

    runs: NDArray[np.int64]
    """(n_runs, 5): see `ARITY`, `FLIP`, `COUNT`, `FIRST`, `OUT`."""
    inputs: NDArray[np.int32]
    """Slots read: gate after gate, ARITY each, from a run's FIRST on."""


@dataclass(frozen=True)
class Layout:
    """The programs of a game over two sets of slots: for a step (legal and terminal, then next) and for the goals."""

    legal_program: GateProgram
    next_program: GateProgram
    n_slots: int
    legal_slot: NDArray[np.int32]
    """All roles' moves, one after the other."""
    terminal_slot: int
    next_slot: NDArray[np.int32]
    first_set: int
    """Move-set slots are consecutive from here; the joint move is entered in them before `next_program` runs."""
    n_sets: int
    set_start: NDArray[np.int64]
    """Per move (all roles, one after the other): which part of `set_slot` lists the sets it is in."""
    set_slot: NDArray[np.int32]
    goal_program: GateProgram
    n_goal_slots: int
    goal_slot: NDArray[np.int32]


def lay_out(circuit: Circuit) -> Layout:
    """The layout of a circuit."""
    outputs = circuit.outputs
    pool = circuit.pool
    loops = (outputs.loop_signal, outputs.loop_definition)
    everything = mark_live(pool, np.concatenate((outputs.legal, outputs.terminal, outputs.next, outputs.goal)), *loops)
    pool = _narrow(pool, everything)
    now = mark_live(pool, np.concatenate((outputs.legal, outputs.terminal)), *loops)
    later = mark_live(pool, outputs.next, *loops) & ~now
    goal = mark_live(pool, outputs.goal, *loops)

    n_fluents = len(circuit.fluents)
    step = _Slots(pool, n_fluents, loops, now | later, np.concatenate((outputs.legal, outputs.terminal, outputs.next)))
    sets = np.flatnonzero((now | later) & (pool.kind[: len(now)] == MOVE_SET)).astype(np.int32)
    first_set = step.next_slot
    step.place(sets)
    legal_program = step.program(now, np.arange(1, n_fluents + 1, dtype=np.int32))
    next_program = step.program(later, sets)
    ends = _Slots(pool, n_fluents, loops, goal, outputs.goal)
    goal_program = ends.program(goal, np.arange(1, n_fluents + 1, dtype=np.int32))

    set_start, set_slot = _sets_by_move(pool, sets, first_set)
    return Layout(
        legal_program=legal_program,
        next_program=next_program,
        n_slots=step.next_slot,
        legal_slot=step.of(outputs.legal),
        terminal_slot=int(step.of(outputs.terminal)[0]),
        next_slot=step.of(outputs.next),
        first_set=first_set,
        n_sets=len(sets),
        set_start=set_start,
        set_slot=set_slot,
        goal_program=goal_program,
        n_goal_slots=ends.next_slot,
        goal_slot=ends.of(outputs.goal),
    )


def _sets_by_move(pool: Pool, sets: NDArray[np.int32], first_set: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    offsets = np.concatenate(([0], np.cumsum(pool.moves)))
    sizes = pool.size[sets].astype(np.int64)
    members = np.concatenate(
        [np.zeros(0, np.int64)]
        + [pool.items[pool.start[s] : pool.start[s] + pool.size[s]] + offsets[pool.owner[s]] for s in sets]
    ).astype(np.int64)
    slots = np.repeat(np.arange(first_set, first_set + len(sets), dtype=np.int32), sizes)
    order = np.argsort(members, kind="stable")
    start = np.zeros(int(offsets[-1]) + 1, np.int64)
    np.cumsum(np.bincount(members, minlength=int(offsets[-1])), out=start[1:])
    return start, slots[order]


class _Slots:
    """Hands out slots while programs are laid out, one after the other, over the same pool."""

    def __init__(
        self,
        pool: Pool,
        n_fluents: int,
        loops: tuple[NDArray[np.int32], NDArray[np.int32]],
        live: NDArray[np.bool_],
        outputs: NDArray[np.int32],
    ) -> None:
        n = len(live)
        self._pool = pool
        self._loops = loops
        self._definition = np.full(n, -1, np.int32)
        self._definition[loops[0]] = loops[1]
        self._read = _literals_read(pool, live, outputs, *loops)
        self._slot = np.full(2 * n, -1, np.int32)
        self._slot[0] = SLOT_TRUE
        self._slot[1] = SLOT_FALSE
        self.next_slot = FIRST_FLUENT
        self.place(np.arange(1, n_fluents + 1, dtype=np.int32))

    def of(self, literals: NDArray[np.int32]) -> NDArray[np.int32]:
        """The slots of these literals."""
        slots = self._slot[literals]
        assert (slots >= 0).all()
        return slots

    def place(self, signals: NDArray[np.int32]) -> None:
        """Gives inputs consecutive slots."""
        self._slot[2 * signals] = np.arange(self.next_slot, self.next_slot + len(signals))
        self.next_slot += len(signals)

    def program(self, live: NDArray[np.bool_], inputs: NDArray[np.int32]) -> GateProgram:
        """The runs that compute the live gates, starting with the complements of `inputs` that are read."""
        pool = self._pool
        runs: list[tuple[int, int, int, int, int]] = []
        slots: list[NDArray[np.int32]] = []
        self._filled = 0

        def emit(arity: int, flip: int, signals: NDArray[np.int32], read: NDArray[np.int32]) -> None:
            runs.append((arity, flip, len(signals), self._filled, self.next_slot))
            slots.append(read)
            self._filled += len(read)
            self._slot[2 * signals + flip] = np.arange(self.next_slot, self.next_slot + len(signals))
            self.next_slot += len(signals)

        def complement(signals: NDArray[np.int32]) -> None:
            """Slots for the negations of signals that have a slot, where they are read and not there yet."""
            signals = signals[self._read[2 * signals + 1] & (self._slot[2 * signals + 1] < 0)]
            if len(signals):
                emit(1, 1, signals, self._slot[2 * signals])

        def gates(members: NDArray[np.int32], level: NDArray[np.int32]) -> None:
            """Plain gates of one block, level by level, sorted by arity and polarity within each."""
            flip = (~self._read[2 * members]).astype(np.int32)
            arity = pool.size[members]
            order = np.lexsort((flip, arity, level))
            members, flip, arity, level = members[order], flip[order], arity[order], level[order]
            key = (level.astype(np.int64) * (MAX_ARITY + 1) + arity) * 2 + flip
            cuts = np.flatnonzero(np.diff(key)) + 1
            starts = np.concatenate(([0], cuts))
            ends = np.concatenate((cuts, [len(members)]))
            for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
                group = members[start:end]
                width = int(arity[start])
                read = pool.items[(pool.start[group][:, None] + np.arange(width)).ravel()]
                emit(width, int(flip[start]), group, self.of(read))
                if i + 1 == len(starts) or level[end] != level[start]:
                    here = members[np.searchsorted(level, level[start]) : end]
                    complement(here[self._slot[2 * here] >= 0])

        complement(inputs)
        for level_members, cyclic in _schedule(pool, live, *self._loops):
            if not cyclic:
                gates(level_members, np.zeros(len(level_members), np.int32))
                continue
            loop = level_members[pool.kind[level_members] == LOOP]
            inner = level_members[pool.kind[level_members] == GATE]
            header = len(runs)
            self.place(loop)
            complement(loop)
            if len(inner):
                gates(inner, _local_levels(pool, inner, len(live)))
            pairs = np.stack((self._slot[2 * loop], self.of(self._definition[loop])), axis=1)
            runs.insert(header, (0, len(runs) - header, len(loop), self._filled, 0))
            slots.append(pairs.astype(np.int32).ravel())
            self._filled += 2 * len(loop)
        return GateProgram(
            np.array(runs, np.int64).reshape(len(runs), 5),
            np.concatenate([np.zeros(0, np.int32), *slots]).astype(np.int32),
        )


def _schedule(
    pool: Pool, live: NDArray[np.bool_], loop_signal: NDArray[np.int32], loop_definition: NDArray[np.int32]
) -> list[tuple[NDArray[np.int32], bool]]:
    """Live gates and loops in evaluation order: groups of plain gates of one level, and whole cyclic components."""
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
def _literals_read(pool, live, outputs, loop_signal, loop_definition):
    """Which literals any live gate or output reads."""
    read = np.zeros(2 * len(live), np.bool_)
    for literal in outputs:
        read[literal] = True
    for i in range(len(loop_signal)):
        if live[loop_signal[i]]:
            read[loop_definition[i]] = True
            read[2 * loop_signal[i]] = True
    for gate in range(len(live)):
        if live[gate] and pool.kind[gate] == GATE:
            for i in range(pool.start[gate], pool.start[gate] + pool.size[gate]):
                read[pool.items[i]] = True
        elif live[gate] and pool.kind[gate] == MOVE_SET:
            read[2 * gate] = True
    return read


@njit(cache=True, nogil=True)
def _levels(pool, live, definition):
    """The level of each live gate and loop: the longest path from what is not live here (Kahn 1962).

    A cyclic component counts as one node.
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
def _local_levels(pool, members, n):
    """Levels inside one cyclic component, where its loop signals count as given (depth-first, own stack)."""
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


def _narrow(pool: Pool, live: NDArray[np.bool_]) -> Pool:
    """Splits live gates wider than `MAX_ARITY` into trees, in place where there is room."""
    n = len(live)
    wide = np.flatnonzero(live & (pool.kind[:n] == GATE) & (pool.size[:n] > MAX_ARITY)).astype(np.int32)
    sizes = pool.size[wide].astype(np.int64)
    need_signals = int((sizes // (MAX_ARITY - 1) + 2).sum())
    need_items = int(2 * sizes.sum())
    pool = pool._replace(
        items=pool.items.copy(), size=pool.size.copy(), start=pool.start.copy(), counts=pool.counts.copy()
    )
    while pool.counts[N_SIGNALS] + need_signals > len(pool.kind) or pool.counts[N_ITEMS] + need_items > len(pool.items):
        pool = grow(pool)
    _split_wide(pool, wide)
    return pool


@njit(cache=True, nogil=True)
def _split_wide(pool, wide):
    for gate in wide:
        while pool.size[gate] > MAX_ARITY:
            first = pool.start[gate]
            size = pool.size[gate]
            kept = 0
            for begin in range(0, size, MAX_ARITY):
                part = min(MAX_ARITY, size - begin)
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
