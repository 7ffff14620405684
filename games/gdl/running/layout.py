"""Lays a circuit out for the kernels: every literal read gets a slot, gates are sorted into branch-free runs.

A *slot* holds one word (or W words) of lanes. Where both polarities of a signal are read, each has a slot, so that a
kernel's inner loop only loads and ANDs. Gates are grouped by level (their inputs are computed before), then by arity
and polarity; a *run* is such a group, with outputs in consecutive slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.gdl.circuit.circuit import Circuit
from games.gdl.circuit.outputs import mark_live
from games.gdl.circuit.pool import GATE, LOOP, MOVE_SET, Pool, items_of
from games.gdl.running.schedule import argsort_small, local_levels, narrow, schedule
from games.machine import USUAL_GOALS, GoalScale

MAX_ARITY = 8
"""Largest arity of a gate; wider ones are split into trees, so that kernels have straight-line code for every arity."""

SLOT_TRUE = 0
SLOT_FALSE = 1
FIRST_FLUENT = 2
"""The state's bits are slots FIRST_FLUENT, FIRST_FLUENT + 1, ..."""

ARITY, FLIP, COUNT, FIRST, OUT = range(5)
"""Columns of `GateProgram.runs`. Arity 0 is a loop: FLIP counts the runs of its body, COUNT its signals, and FIRST is
the start of its (loop slot, definition slot) pairs in `GateProgram.inputs`."""


class GateProgram(NamedTuple):
    """A sequence of runs over slots."""

    runs: NDArray[np.int64]
    """(n_runs, 5): see `ARITY`, `FLIP`, `COUNT`, `FIRST`, `OUT`."""
    inputs: NDArray[np.int32]
    """Input slots: ARITY per gate, from the run's FIRST on."""


class CircuitPrograms(NamedTuple):
    """A game for kernels: three programs, and the slots they read and write.

    There are two arrays of slots: one for a step (legal and terminal, then next), one for goals.
    """

    legal: GateProgram
    """Legal moves and terminal, from the state."""
    next: GateProgram
    """Next facts, from the state, the move sets and the results of `legal`."""
    goal: GateProgram
    n_slots: int
    n_goal_slots: int
    legal_slot: NDArray[np.int32]
    """Per move, of all roles in order, the slot of its legality."""
    terminal_slot: int
    next_slot: NDArray[np.int32]
    """Per fluent, the slot of its next value."""
    first_set: int
    n_sets: int
    """Number of move sets, the slots from `first_set` on; they hold the joint move when `next` runs."""
    set_start: NDArray[np.int64]
    set_slot: NDArray[np.int32]
    """The sets (slots) that contain move m: `set_slot[set_start[m] : set_start[m + 1]]`. Behind the moves of all roles
    stands, per role, that it makes none."""
    goal_slot: NDArray[np.int32]
    """Per goal value, of all roles in order and ascending, the slot of its truth (see `goals`)."""
    goal_role: NDArray[np.int32]
    """Per goal value, its role."""
    goal_value: NDArray[np.float64]
    """Per goal value, its worth on the scale of search, 0..100 (`GoalScale`); at last that of 0 points, for a role
    without a goal."""
    role_start: NDArray[np.int64]
    """Moves of role r are `role_start[r]` .. `role_start[r + 1] - 1` in the numbering over all roles."""
    initial: NDArray[np.uint64]
    """Per fluent of the initial state, 0 or all ones."""


def scale_of(goals: Sequence[Sequence[int]]) -> GoalScale:
    """The range of the goals (by role) of a game."""
    return USUAL_GOALS.including(chain(*goals))


def lay_out(circuit: Circuit) -> CircuitPrograms:
    """The programs of a circuit."""
    outputs = circuit.outputs
    pool = circuit.pool
    loops = (outputs.loop_signal, outputs.loop_definition)
    everything = mark_live(pool, np.concatenate((outputs.legal, outputs.terminal, outputs.next, outputs.goal)), *loops)
    pool = narrow(pool, everything, MAX_ARITY)
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

    role_start = np.concatenate(([0], np.cumsum([len(moves) for moves in circuit.moves]))).astype(np.int64)
    set_start, set_slot = _sets_by_move(pool, sets, first_set, role_start)
    sizes = [len(values) for values in circuit.goals]
    return CircuitPrograms(
        legal=legal_program,
        next=next_program,
        goal=goal_program,
        n_slots=step.next_slot,
        n_goal_slots=ends.next_slot,
        legal_slot=step.of(outputs.legal),
        terminal_slot=int(step.of(outputs.terminal)[0]),
        next_slot=step.of(outputs.next),
        first_set=first_set,
        n_sets=len(sets),
        set_start=set_start,
        set_slot=set_slot,
        goal_slot=ends.of(outputs.goal),
        goal_role=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
        goal_value=np.array([*map(scale_of(circuit.goals).worth, (*chain(*circuit.goals), 0))]),
        role_start=role_start,
        initial=np.where(circuit.initial, np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0)),
    )


def gates_of(program: GateProgram) -> Iterator[tuple[int, int, list[int]]]:
    """Slot, complement flag and input slots of each gate, in an order of evaluation.

    Signals of cycles have no gate.
    """
    for run in program.runs.tolist():
        arity = run[ARITY]
        if arity == 0:
            continue
        at = run[FIRST]
        for i in range(run[COUNT]):
            yield run[OUT] + i, run[FLIP], program.inputs[at : at + arity].tolist()
            at += arity


def _sets_by_move(
    pool: Pool, sets: NDArray[np.int32], first_set: int, role_start: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    sizes = pool.size[sets].astype(np.int64)
    items = [items_of(pool, s) for s in sets]
    members = np.concatenate([np.zeros(0, np.int64), *items]).astype(np.int64)
    owners = np.repeat(pool.owner[sets], sizes)
    n_moves, n_roles = int(role_start[-1]), len(role_start) - 1
    none = members == np.diff(role_start)[owners]
    members = np.where(none, n_moves + owners, members + role_start[owners])
    slots = np.repeat(np.arange(first_set, first_set + len(sets), dtype=np.int32), sizes)
    order = np.argsort(members, kind="stable")
    start = np.zeros(n_moves + n_roles + 1, np.int64)
    np.cumsum(np.bincount(members, minlength=n_moves + n_roles), out=start[1:])
    return start, slots[order]


class _Slots:
    """Assigns slots while programs over the same pool are laid out in order."""

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
        slots = self._slot[literals]
        assert (slots >= 0).all()
        return slots

    def place(self, signals: NDArray[np.int32]) -> None:
        """Gives inputs consecutive slots."""
        self._slot[2 * signals] = np.arange(self.next_slot, self.next_slot + len(signals))
        self.next_slot += len(signals)

    def program(self, live: NDArray[np.bool_], inputs: NDArray[np.int32]) -> GateProgram:
        """The runs that compute the live gates, after the complements of `inputs` that are read."""
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
            """Assigns slots to the negations of signals with a slot, where read and still missing."""
            signals = signals[self._read[2 * signals + 1] & (self._slot[2 * signals + 1] < 0)]
            if len(signals):
                emit(1, 1, signals, self._slot[2 * signals])

        def gates(members: NDArray[np.int32], level: NDArray[np.int32]) -> None:
            """Lays out plain gates of one block, level by level, sorted by arity and polarity."""
            flip = (~self._read[2 * members]).astype(np.int32)
            arity = pool.size[members]
            key = (level.astype(np.int64) * (MAX_ARITY + 1) + arity) * 2 + flip
            order = argsort_small(key)
            members, flip, arity, level, key = members[order], flip[order], arity[order], level[order], key[order]
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
        local = local_levels(pool, live)
        for level_members, cyclic in schedule(pool, live, *self._loops):
            if not cyclic:
                gates(level_members, np.zeros(len(level_members), np.int32))
                continue
            loop = level_members[pool.kind[level_members] == LOOP]
            inner = level_members[pool.kind[level_members] == GATE]
            header = len(runs)
            self.place(loop)
            complement(loop)
            if len(inner):
                gates(inner, local[inner])
            pairs = np.stack((self._slot[2 * loop], self.of(self._definition[loop])), axis=1)
            runs.insert(header, (0, len(runs) - header, len(loop), self._filled, 0))
            slots.append(pairs.astype(np.int32).ravel())
            self._filled += 2 * len(loop)
        return GateProgram(
            np.array(runs, np.int64).reshape(len(runs), 5),
            np.concatenate([np.zeros(0, np.int32), *slots]).astype(np.int32),
        )


def _literals_read(
    pool: Pool,
    live: NDArray[np.bool_],
    outputs: NDArray[np.int32],
    loop_signal: NDArray[np.int32],
    loop_definition: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """bool[2 * signals]: literals read by any live gate or output.

    `outputs` and `loop_definition` are literals, loops are those of `Outputs`.
    """
    read = np.zeros(2 * len(live), np.bool_)
    read[outputs] = True
    loops = live[loop_signal]
    read[loop_definition[loops]] = True
    read[2 * loop_signal[loops]] = True
    _mark_inputs(pool, live, read)
    return read


@njit(cache=True, nogil=True)
def _mark_inputs(pool, live, read):
    """Marks in `read` (bool[2 * signals]) live move sets of a `Pool`, and inputs of its live gates (bool[signals])."""
    for signal in range(len(live)):
        if not live[signal]:
            continue
        if pool.kind[signal] == GATE:
            for i in range(pool.start[signal], pool.start[signal] + pool.size[signal]):
                read[pool.items[i]] = True
        elif pool.kind[signal] == MOVE_SET:
            read[2 * signal] = True
