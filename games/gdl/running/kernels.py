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
from games.gdl.running.layout import ARITY, COUNT, FIRST, FIRST_FLUENT, FLIP, OUT, SLOT_TRUE, Program, lay_out

WIDTHS = {1: (0,), 8: (0,) * 8}
"""The widths (in words) that kernels are compiled for."""

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
ZERO = np.uint64(0)
ONE = np.uint64(1)


class Net(NamedTuple):
    """A layout in the form that kernels take: arrays and integers."""

    legal: Program
    next: Program
    goal: Program
    n_slots: int
    n_goal_slots: int
    legal_slot: NDArray[np.int32]
    terminal_slot: int
    next_slot: NDArray[np.int32]
    first_set: int
    n_sets: int
    set_start: NDArray[np.int64]
    set_slot: NDArray[np.int32]
    goal_slot: NDArray[np.int32]
    """Per goal value (of all roles, one role after the other), the slot that says where it holds."""
    first_goal: int
    """From here on, per goal value, the slots that say where it is the role's only one (see `goals`)."""
    goal_role: NDArray[np.int32]
    goal_value: NDArray[np.int32]
    role_start: NDArray[np.int64]
    """Moves of role r are role_start[r] .. role_start[r + 1] - 1 in one numbering over all roles."""
    initial: NDArray[np.uint64]
    """Per fluent, 0 or all ones."""


def make_net(circuit: Circuit) -> Net:
    """Lays the circuit out."""
    layout = lay_out(circuit)
    sizes = [len(values) for values in circuit.goals]
    return Net(
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
    """Least fixpoint of the component whose header is run r: signals start false, sweeps go on until none changes."""
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
    """Computes every gate of the program from the slots it reads."""
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
def clear_sets(net, slots, width):
    """Empties the move sets: the step before moves are entered with `enter_move`."""
    words = len(width)
    for i in range(net.first_set * words, (net.first_set + net.n_sets) * words):
        slots[i] = ZERO


@njit(cache=True, nogil=True)
def enter_move(net, slots, width, w, move, lanes):
    """In these lanes (a word) of word w, the role that owns `move` (numbered over all roles) makes it."""
    words = len(width)
    for i in range(net.set_start[move], net.set_start[move + 1]):
        slots[net.set_slot[i] * words + w] |= lanes


@njit(cache=True, nogil=True)
def advance(net, slots, width, keep):
    """Replaces the state by the next one in the lanes of `keep` (W words), by the initial state in all others."""
    words = len(width)
    n = len(net.next_slot)
    fresh = np.empty(n * words, np.uint64)
    for f in range(n):
        base = net.next_slot[f] * words
        for w in range(words):
            fresh[f * words + w] = slots[base + w]
    base = FIRST_FLUENT * words
    for f in range(n):
        initial = net.initial[f]
        for w in range(words):
            slots[base + f * words + w] = (fresh[f * words + w] & keep[w]) | (initial & ~keep[w])


@njit(cache=True, nogil=True)
def reset(net, slots, width):
    """Constants and the initial state in every lane."""
    words = len(width)
    slots[:] = ZERO
    for w in range(words):
        slots[SLOT_TRUE * words + w] = ALL
    for f in range(len(net.initial)):
        for w in range(words):
            slots[(FIRST_FLUENT + f) * words + w] = net.initial[f]


@njit(cache=True, nogil=True)
def load_state(net, slots, width, lane, state):
    """Puts a packed state (uint64 words, fluent f is bit f % 64 of word f // 64) into a lane."""
    words = len(width)
    w = lane >> 6
    bit = np.uint64(lane & 63)
    mask = ~(ONE << bit)
    for f in range(len(net.next_slot)):
        at = (FIRST_FLUENT + f) * words + w
        value = (state[f >> 6] >> np.uint64(f & 63)) & ONE
        slots[at] = (slots[at] & mask) | (value << bit)


@njit(cache=True, nogil=True)
def store_state(net, slots, width, lane, state):
    """Reads a lane's state into packed form; see `load_state`."""
    words = len(width)
    w = lane >> 6
    bit = np.uint64(lane & 63)
    state[:] = ZERO
    for f in range(len(net.next_slot)):
        value = (slots[(FIRST_FLUENT + f) * words + w] >> bit) & ONE
        state[f >> 6] |= value << np.uint64(f & 63)
