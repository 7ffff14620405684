"""Numba kernels that evaluate a game's programs for many states at once.

A *lane* is one state. A slot is `W` consecutive 64-bit words; lane `64 * w + b` is bit `b` of word `w`. Kernels are
specialised by the type of `width`, a tuple of W zeros (`NARROW`, `WIDE`): Numba knows the length of a tuple. Kernels
take the arrays they read, not the whole `CircuitPrograms`: passing twenty arrays would dominate a small kernel's
compile time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits.compiling import KERNEL
from games.bits.inner import inner_kernel, step
from games.bits.rows import gather_rows
from games.bits.vectors import gate
from games.gdl.running.layout import ARITY, COUNT, FIRST, FIRST_FLUENT, FLIP, OUT, SLOT_TRUE

NARROW, WIDE = (0.0,), (0.0,) * 8
"""Compiled widths, in words: 1 for searches; 8, the widest that pays, for random playouts.

The zeros are floats: Numba types an integer constant by its value, and would compile kernels for that too."""

FIRST_WORD = np.int64(0)
"""The only word of lanes at W = 1, as an integer that Numba does not type by value."""

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
ZERO = np.uint64(0)
ONE = np.uint64(1)


@step
def _evaluate_run(runs, r, inputs, slots, width):
    """Computes the gates of run r; `runs` and `inputs` are a `GateProgram`'s, `slots` is uint64[n * W]."""
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
    """Computes every gate of a `GateProgram`; `slots` is uint64[n * W].

    A cyclic component is computed to its least fixpoint: its signals start false, and sweeps go on until none changes.
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
    """Empties the move sets (`CircuitPrograms`), before `enter_move`; `slots` is uint64[n_slots * W]."""
    words = len(width)
    for i in range(first_set * words, (first_set + n_sets) * words):
        slots[i] = ZERO


@inner_kernel(forceinline=True)
def enter_move(set_start, set_slot, slots, width, w, move, lanes):
    """Enters a move (numbered over all roles) of its role in these lanes (uint64) of word w.

    `set_start` and `set_slot` are those of `CircuitPrograms`; `slots` is uint64[n_slots * W]. The role's move sets must
    be clear (`clear_sets`).
    """
    words = len(width)
    for i in range(set_start[move], set_start[move + 1]):
        slots[set_slot[i] * words + w] |= lanes


@inner_kernel()
def advance(next_slot, initial, slots, width, keep, following):
    """Advances the lanes of `keep` (uint64[W]) to the next state, and resets all others to the initial state.

    `next_slot` and `initial` are those of `CircuitPrograms`; `slots` is uint64[n_slots * W]; `following`
    (uint64[fluents * W]) is overwritten.
    """
    gather_rows(following, slots, next_slot, initial, keep, width)
    base = FIRST_FLUENT * len(width)
    for i in range(len(following)):
        slots[base + i] = following[i]


@inner_kernel()
def reset(initial, slots, width):
    """Loads constants and the initial state into every lane of `slots` (uint64[n_slots * W]), and zeros all else.

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
