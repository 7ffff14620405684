"""Numba kernels that evaluate a layout for many states at once.

A *lane* is one state. A slot is `W` consecutive 64-bit words, lane `64 * w + b` is bit `b` of word `w`. Kernels are
written once and specialised by the type of `width`, a tuple of W zeros (`WIDTHS`): the length of a tuple is known when
Numba compiles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.vectors import gate
from games.gdl.circuit.circuit import Circuit
from games.gdl.running.layout import ARITY, COUNT, FIRST, FIRST_FLUENT, FLIP, OUT, SLOT_TRUE, GateProgram, lay_out

WIDTHS = {1: (0,), 8: (0,) * 8}
"""The widths (in words) that kernels are compiled for: 1 suits a tree; 8 is the widest that pays in random playouts."""

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
ZERO = np.uint64(0)
ONE = np.uint64(1)


class CircuitPrograms(NamedTuple):
    """All that kernels need of a game, as arrays and integers: three programs, and which slots they read and write."""

    legal: GateProgram
    next: GateProgram
    goal: GateProgram
    n_slots: int
    n_goal_slots: int
    legal_slot: NDArray[np.int32]
    """Per move, of all roles one after the other, the slot that says where it is legal."""
    terminal_slot: int
    next_slot: NDArray[np.int32]
    """Per fluent, the slot that says where it holds next."""
    first_set: int
    n_sets: int
    """Move sets are the `n_sets` slots from `first_set` on."""
    set_start: NDArray[np.int64]
    set_slot: NDArray[np.int32]
    """The sets that move m is in are `set_slot[set_start[m] : set_start[m + 1]]`, as slots."""
    goal_slot: NDArray[np.int32]
    """Per goal value (of all roles, one role after the other), the slot that says where it holds."""
    first_goal: int
    """From here on, per goal value, the slots that say where it is the role's only one (see `goals`)."""
    goal_role: NDArray[np.int32]
    goal_value: NDArray[np.int32]
    """Per goal value, the role and the number."""
    role_start: NDArray[np.int64]
    """Moves of role r are role_start[r] .. role_start[r + 1] - 1 in one numbering over all roles."""
    initial: NDArray[np.uint64]
    """Per fluent, 0 or all ones."""


def make_programs(circuit: Circuit) -> CircuitPrograms:
    """Lays the circuit out."""
    layout = lay_out(circuit)
    sizes = [len(values) for values in circuit.goals]
    return CircuitPrograms(
        legal=layout.legal_program,
        next=layout.next_program,
        goal=layout.goal_program,
        n_slots=layout.n_slots,
        n_goal_slots=layout.n_goal_slots + len(layout.goal_slot),
        legal_slot=layout.legal_slot,
        terminal_slot=layout.terminal_slot,
        next_slot=layout.next_slot,
        first_set=layout.first_set,
        n_sets=layout.n_sets,
        set_start=layout.set_start,
        set_slot=layout.set_slot,
        goal_slot=layout.goal_slot,
        first_goal=layout.n_goal_slots,
        goal_role=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
        goal_value=np.array([value for values in circuit.goals for value in values], np.int32),
        role_start=np.concatenate(([0], np.cumsum([len(moves) for moves in circuit.moves]))).astype(np.int64),
        initial=np.where(circuit.initial, ALL, ZERO).astype(np.uint64),
    )


@njit(cache=True, nogil=True)
def _evaluate_run(runs, r, inputs, slots, width):
    """Computes the gates of run r; `runs` and `inputs` are those of a `GateProgram`, `slots` is uint64[n * W]."""
    at = runs[r, FIRST]
    first = runs[r, OUT]
    last = first + runs[r, COUNT]
    flip = ALL if runs[r, FLIP] else ZERO
    arity = runs[r, ARITY]
    if arity == 2:
        for out in range(first, last):
            gate(slots, inputs, at, out, flip, 2, width)
            at += 2
    elif arity == 3:
        for out in range(first, last):
            gate(slots, inputs, at, out, flip, 3, width)
            at += 3
    elif arity == 1:
        for out in range(first, last):
            gate(slots, inputs, at, out, flip, 1, width)
            at += 1
    elif arity == 4:
        for out in range(first, last):
            gate(slots, inputs, at, out, flip, 4, width)
            at += 4
    elif arity == 5:
        for out in range(first, last):
            gate(slots, inputs, at, out, flip, 5, width)
            at += 5
    elif arity == 6:
        for out in range(first, last):
            gate(slots, inputs, at, out, flip, 6, width)
            at += 6
    elif arity == 7:
        for out in range(first, last):
            gate(slots, inputs, at, out, flip, 7, width)
            at += 7
    else:
        for out in range(first, last):
            gate(slots, inputs, at, out, flip, 8, width)
            at += 8


@njit(cache=True, nogil=True)
def _evaluate_loop(runs, r, inputs, slots, width):
    """Least fixpoint of the component whose header is run r: signals start false, sweeps go on until none changes.

    Arguments are those of `_evaluate_run`.
    """
    words = len(width)
    body = runs[r, FLIP]
    n_loops = runs[r, COUNT]
    pairs = runs[r, FIRST]
    for i in range(n_loops):
        base = inputs[pairs + 2 * i] * words
        for w in range(words):
            slots[base + w] = ZERO
    changed = True
    while changed:
        for k in range(r + 1, r + 1 + body):
            _evaluate_run(runs, k, inputs, slots, width)
        changed = False
        for i in range(n_loops):
            base = inputs[pairs + 2 * i] * words
            definition = inputs[pairs + 2 * i + 1] * words
            for w in range(words):
                if slots[base + w] != slots[definition + w]:
                    slots[base + w] = slots[definition + w]
                    changed = True


@njit(cache=True, nogil=True)
def evaluate(program, slots, width):
    """Computes every gate of a `GateProgram` from the slots it reads; `slots` is uint64[n * W]."""
    runs = program.runs
    r = 0
    while r < len(runs):
        if runs[r, ARITY] == 0:
            _evaluate_loop(runs, r, program.inputs, slots, width)
            r += runs[r, FLIP]
        else:
            _evaluate_run(runs, r, program.inputs, slots, width)
        r += 1


@njit(cache=True, nogil=True)
def clear_sets(programs, slots, width):
    """Empties the move sets, before moves are entered with `enter_move`; `slots` is uint64[n_slots * W]."""
    words = len(width)
    for i in range(programs.first_set * words, (programs.first_set + programs.n_sets) * words):
        slots[i] = ZERO


@njit(cache=True, nogil=True)
def enter_move(programs, slots, width, w, move, lanes):
    """In these lanes (uint64) of word w, the role that owns `move` (numbered over all roles) makes it.

    `slots` is uint64[n_slots * W], with the move sets of the roles that have not moved yet as `clear_sets` left them.
    """
    words = len(width)
    for i in range(programs.set_start[move], programs.set_start[move + 1]):
        slots[programs.set_slot[i] * words + w] |= lanes


@njit(cache=True, nogil=True)
def advance(programs, slots, width, keep):
    """Replaces the state by the next one in the lanes of `keep` (uint64[W]), by the initial state in all others.

    `slots` is uint64[n_slots * W].
    """
    words = len(width)
    n = len(programs.next_slot)
    fresh = np.empty(n * words, np.uint64)
    for f in range(n):
        base = programs.next_slot[f] * words
        for w in range(words):
            fresh[f * words + w] = slots[base + w]
    base = FIRST_FLUENT * words
    for f in range(n):
        initial = programs.initial[f]
        for w in range(words):
            slots[base + f * words + w] = (fresh[f * words + w] & keep[w]) | (initial & ~keep[w])


@njit(cache=True, nogil=True)
def reset(programs, slots, width):
    """Constants and the initial state in every lane of `slots` (uint64[n_slots * W]); all else is zero."""
    words = len(width)
    slots[:] = ZERO
    for w in range(words):
        slots[SLOT_TRUE * words + w] = ALL
    for f in range(len(programs.initial)):
        for w in range(words):
            slots[(FIRST_FLUENT + f) * words + w] = programs.initial[f]


@njit(cache=True, nogil=True)
def load_state(programs, slots, width, lane, state):
    """Puts a packed state into a lane of `slots` (uint64[n_slots * W]).

    `state` is uint64[words]: fluent f is bit f % 64 of word f // 64.
    """
    words = len(width)
    w = lane >> 6
    bit = np.uint64(lane & 63)
    mask = ~(ONE << bit)
    for f in range(len(programs.next_slot)):
        at = (FIRST_FLUENT + f) * words + w
        value = (state[f >> 6] >> np.uint64(f & 63)) & ONE
        slots[at] = (slots[at] & mask) | (value << bit)


@njit(cache=True, nogil=True)
def store_state(programs, slots, width, lane, state):
    """Reads a lane's state into packed form; see `load_state`."""
    words = len(width)
    w = lane >> 6
    bit = np.uint64(lane & 63)
    state[:] = ZERO
    for f in range(len(programs.next_slot)):
        value = (slots[(FIRST_FLUENT + f) * words + w] >> bit) & ONE
        state[f >> 6] |= value << np.uint64(f & 63)
