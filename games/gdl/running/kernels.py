"""Numba kernels that evaluate a layout for many states at once.

A *lane* is one state. A slot is `W` consecutive 64-bit words, lane `64 * w + b` is bit `b` of word `w`. Kernels are
written once and specialised by the type of `width`, a tuple of W zeros (`WIDTHS`): the length of a tuple is known when
Numba compiles.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

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
        n_goal_slots=layout.n_goal_slots,
        legal_slot=layout.legal_slot,
        terminal_slot=layout.terminal_slot,
        next_slot=layout.next_slot,
        first_set=layout.first_set,
        n_sets=layout.n_sets,
        set_start=layout.set_start,
        set_slot=layout.set_slot,
        goal_slot=layout.goal_slot,
        goal_role=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
        goal_value=np.array([value for values in circuit.goals for value in values], np.int32),
        role_start=np.concatenate(([0], np.cumsum([len(moves) for moves in circuit.moves]))).astype(np.int64),
        initial=np.where(circuit.initial, ALL, ZERO).astype(np.uint64),
    )


def _gate(typing_context: Any, slots: Any, inputs: Any, at: Any, out: Any, flip: Any, arity: Any, width: Any) -> Any:
    """`gate(slots, inputs, at, out, flip, arity, width)`: slot `out` = AND of `arity` (a literal) slots, XOR `flip`.

    The slots to read are `inputs[at : at + arity]`. All W words are one LLVM vector, whatever registers the machine
    has.
    """
    if not isinstance(arity, types.IntegerLiteral):
        return None
    n_inputs = arity.literal_value
    words = len(width)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        slots_value, inputs_value, at_value, out_value, flip_value = arguments[:5]
        word = ir.IntType(64)
        vector = word if words == 1 else ir.VectorType(word, words)
        slots_data = context.make_array(signature.args[0])(context, builder, slots_value).data
        inputs_data = context.make_array(signature.args[1])(context, builder, inputs_value).data

        def slot_pointer(slot: Any) -> Any:
            offset = builder.mul(slot, ir.Constant(word, words)) if words > 1 else slot
            return builder.bitcast(builder.gep(slots_data, [offset]), vector.as_pointer())

        def load_slot(k: int) -> Any:
            where = builder.gep(inputs_data, [builder.add(at_value, ir.Constant(word, k))])
            slot = builder.zext(builder.load(where), word)
            return builder.load(slot_pointer(slot), align=8 * words if words > 1 else 8)

        result = load_slot(0)
        for k in range(1, n_inputs):
            result = builder.and_(result, load_slot(k))
        if words > 1:
            i32 = ir.IntType(32)
            splat = builder.insert_element(ir.Constant(vector, ir.Undefined), flip_value, ir.Constant(i32, 0))
            mask = ir.Constant(ir.VectorType(i32, words), [ir.Constant(i32, 0)] * words)
            flip_value = builder.shuffle_vector(splat, splat, mask)
        store = builder.store(builder.xor(result, flip_value), slot_pointer(out_value))
        store.align = 8 * words if words > 1 else 8
        return context.get_dummy_value()

    return types.void(slots, inputs, types.int64, types.int64, types.uint64, arity, width), generate


gate: Any = intrinsic(prefer_literal=True)(_gate)


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
