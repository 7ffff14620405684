"""Numba kernels that evaluate the programs of a game for many states at once.

A *lane* is one state. A slot is `W` consecutive 64-bit words, lane `64 * w + b` is bit `b` of word `w`. Kernels are
written once and specialised by the type of `width`, a tuple of W zeros (`WIDTHS`): the length of a tuple is known when
Numba compiles. Kernels take the arrays that they read, not the whole `CircuitPrograms`: to hand over its twenty arrays
is most of what a small kernel would cost to compile.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits.compiling import KERNEL
from games.bits.inner import inner_kernel, step
from games.bits.vectors import gate
from games.gdl.running.layout import ARITY, COUNT, FIRST, FIRST_FLUENT, FLIP, OUT, SLOT_TRUE

WIDTHS = {1: (0.0,), 8: (0.0,) * 8}
"""The widths (in words) that kernels are compiled for: 1 suits a tree; 8 is the widest that pays in random playouts.

The zeros are floats because Numba types an integer constant by its value, and would compile kernels for that, too."""

FIRST_WORD = np.int64(0)
"""The only word of lanes at W = 1, as an integer that Numba does not type by its value."""

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
ZERO = np.uint64(0)
ONE = np.uint64(1)


@step
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


@njit(**KERNEL)
def evaluate(program, slots, width):
    """Computes every gate of a `GateProgram` from the slots it reads; `slots` is uint64[n * W].

    A component with cycles is computed to its least fixpoint: its signals start false, sweeps go on until none changes.
    """
    runs, inputs = program.runs, program.inputs
    words = len(width)
    begin = 0
    while begin < len(runs):
        n_loops = 0
        pairs = np.int64(0)
        end = begin + 1
        if runs[begin, ARITY] == 0:
            n_loops = runs[begin, COUNT]
            pairs = runs[begin, FIRST]
            end += runs[begin, FLIP]
            begin += 1
            for i in range(n_loops):
                base = inputs[pairs + 2 * i] * words
                for w in range(words):
                    slots[base + w] = ZERO
        changed = True
        while changed:
            for r in range(begin, end):
                _evaluate_run(runs, r, inputs, slots, width)
            changed = False
            for i in range(n_loops):
                base = inputs[pairs + 2 * i] * words
                definition = inputs[pairs + 2 * i + 1] * words
                for w in range(words):
                    if slots[base + w] != slots[definition + w]:
                        slots[base + w] = slots[definition + w]
                        changed = True
        begin = end


@inner_kernel(forceinline=True)
def clear_sets(first_set, n_sets, slots, width):
    """Empties the move sets (`CircuitPrograms`), before moves are entered with `enter_move`.

    `slots` is uint64[n_slots * W].
    """
    words = len(width)
    for i in range(first_set * words, (first_set + n_sets) * words):
        slots[i] = ZERO


@inner_kernel(forceinline=True)
def enter_move(set_start, set_slot, slots, width, w, move, lanes):
    """In these lanes (uint64) of word w, the role that owns `move` (numbered over all roles) makes it.

    `set_start` and `set_slot` are those of `CircuitPrograms`; `slots` is uint64[n_slots * W], with the move sets of the
    roles that have not moved yet as `clear_sets` left them.
    """
    words = len(width)
    for i in range(set_start[move], set_start[move + 1]):
        slots[set_slot[i] * words + w] |= lanes


@inner_kernel()
def advance(next_slot, initial, slots, width, keep, following):
    """Replaces the state by the next one in the lanes of `keep` (uint64[W]), by the initial state in all others.

    `next_slot` and `initial` are those of `CircuitPrograms`; `slots` is uint64[n_slots * W]; `following`
    (uint64[fluents * W]) is overwritten.
    """
    words = len(width)
    n = len(next_slot)
    for f in range(n):
        base = next_slot[f] * words
        for w in range(words):
            following[f * words + w] = slots[base + w]
    base = FIRST_FLUENT * words
    for f in range(n):
        first = initial[f]
        for w in range(words):
            slots[base + f * words + w] = (following[f * words + w] & keep[w]) | (first & ~keep[w])


@inner_kernel()
def reset(initial, slots, width):
    """Constants and the initial state in every lane of `slots` (uint64[n_slots * W]); all else is zero.

    `initial` is that of `CircuitPrograms`.
    """
    words = len(width)
    for i in range(len(slots)):
        slots[i] = ZERO
    for w in range(words):
        slots[SLOT_TRUE * words + w] = ALL
    for f in range(len(initial)):
        for w in range(words):
            slots[(FIRST_FLUENT + f) * words + w] = initial[f]


@inner_kernel()
def load_state(n_fluents, slots, width, lane, state):
    """Puts a packed state into a lane of `slots` (uint64[n_slots * W]).

    `state` is uint64[words]: fluent f is bit f % 64 of word f // 64.
    """
    words = len(width)
    w = lane >> 6
    bit = np.uint64(lane & 63)
    mask = ~(ONE << bit)
    for f in range(n_fluents):
        at = (FIRST_FLUENT + f) * words + w
        value = (state[f >> 6] >> np.uint64(f & 63)) & ONE
        slots[at] = (slots[at] & mask) | (value << bit)


@inner_kernel()
def store_state(n_fluents, slots, width, lane, state):
    """Reads a lane's state into packed form; see `load_state`."""
    words = len(width)
    w = lane >> 6
    bit = np.uint64(lane & 63)
    for word in range(len(state)):
        state[word] = ZERO
    for f in range(n_fluents):
        value = (slots[(FIRST_FLUENT + f) * words + w] >> bit) & ONE
        state[f >> 6] |= value << np.uint64(f & 63)
