"""Operations on rows of several words, as LLVM intrinsics for Numba kernels: gates, and sums of table rows.

LLVM does not vectorise the plain loops, or spills the registers between iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from games.bits.llvm import HALF, WORD, array_data, load, splat, store

FLOATS = 32
"""Floats in a row of `sum_rows`."""

_FOUR_WORDS = ir.VectorType(WORD, 4)
_FLOAT_ROW = ir.VectorType(ir.FloatType(), FLOATS)


def _gate(typing_context: Any, slots: Any, inputs: Any, at: Any, out: Any, flip: Any, arity: Any, width: Any) -> Any:
    if not isinstance(arity, types.IntegerLiteral):
        return None
    n_inputs = arity.literal_value
    words = len(width)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        _, _, first_input, out_slot, flip_value = arguments[:5]
        vector = WORD if words == 1 else ir.VectorType(WORD, words)
        slots_data = array_data(context, builder, signature.args[0], arguments[0])
        inputs_data = array_data(context, builder, signature.args[1], arguments[1])

        def slot_pointer(slot: Any) -> Any:
            offset = builder.mul(slot, WORD(words)) if words > 1 else slot
            return builder.bitcast(builder.gep(slots_data, [offset]), vector.as_pointer())

        def load_slot(k: int) -> Any:
            slot = builder.load(builder.gep(inputs_data, [builder.add(first_input, WORD(k))]))
            return builder.load(slot_pointer(builder.zext(slot, WORD)), align=8 * words)

        result = load_slot(0)
        for k in range(1, n_inputs):
            result = builder.and_(result, load_slot(k))
        if words > 1:
            flip_value = splat(builder, flip_value, words)
        builder.store(builder.xor(result, flip_value), slot_pointer(out_slot), align=8 * words)
        return context.get_dummy_value()

    return types.void(slots, inputs, types.int64, types.int64, types.uint64, arity, width), generate


def _sum_byte_rows(typing_context: Any, ones: Any, twos: Any, rows: Any, sums: Any, words: Any) -> Any:
    if not isinstance(words, types.IntegerLiteral) or words.literal_value % 4:
        return None
    n_words = words.literal_value

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        def pointer(base: Any, index: Any) -> Any:
            return builder.bitcast(builder.gep(base, [index]), _FOUR_WORDS.as_pointer())

        table = array_data(context, builder, signature.args[2], arguments[2])
        target = array_data(context, builder, signature.args[3], arguments[3])
        totals: list[Any] = [ir.Constant(_FOUR_WORDS, [WORD(0)] * 4) for _ in range(n_words // 4)]
        for word in (arguments[1], arguments[0]):
            totals = [builder.add(part, part) for part in totals]
            for byte in range(8):
                value = builder.and_(builder.lshr(word, WORD(8 * byte)), WORD(255))
                start = builder.mul(builder.add(value, WORD(256 * byte)), WORD(n_words))
                for part in range(len(totals)):
                    place = pointer(table, builder.add(start, WORD(4 * part)))
                    totals[part] = builder.add(totals[part], builder.load(place, align=8))
        for index, part in enumerate(totals):
            builder.store(part, pointer(target, WORD(4 * index)), align=8)
        return context.get_dummy_value()

    return types.none(types.uint64, types.uint64, rows, sums, words), generate


def _sum_rows(typing_context: Any, *arguments: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows, bias, active, n, target = arguments
        total = cgutils.alloca_once_value(builder, load(builder, bias, _FLOAT_ROW, 4))
        with cgutils.for_range_slice(builder, WORD(0), n, WORD(1), WORD) as (index, _):
            address = builder.add(active, builder.mul(index, WORD(4)))
            row = builder.zext(load(builder, address, HALF, 4), WORD)
            values = load(builder, builder.add(rows, builder.mul(row, WORD(4 * FLOATS))), _FLOAT_ROW, 4)
            builder.store(builder.fadd(builder.load(total), values), total)
        store(builder, builder.load(total), target, 4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), generate


gate: Any = intrinsic(prefer_literal=True)(_gate)
"""`gate(slots, inputs, at, out, flip, arity, width)`: slot `out` = AND of `arity` (a literal) slots, XOR `flip`.

`width` is a tuple of W zeros. `slots` is uint64[n * W], at an address that is a multiple of 8 W bytes; slot s is words
W * s .. W * s + W - 1. The input slots are `inputs[at : at + arity]` (int32). All W words are one LLVM vector, on any
machine.
"""
sum_byte_rows: Any = intrinsic(prefer_literal=True)(_sum_byte_rows)
"""`sum_byte_rows(ones, twos, rows, sums, words)`: adds up the table rows selected by the bytes of two words.

`ones` and `twos` are uint64, `rows` uint64[8 * 256, words], `sums` uint64[words]; `words` is a literal multiple of 4.
`sums` = the sum over the bytes b = 0..7 of `rows[256 * b + byte b of ones] + 2 * rows[256 * b + byte b of twos]`.
Words are added as a whole: packed numbers must be small enough that no carry leaves them.
"""
sum_rows: Callable[..., None] = intrinsic(
    lambda typing_context, rows, bias, active, n, target: _sum_rows(typing_context)
)
"""`sum_rows(rows, bias, active, n, target)`: `target` = `bias` plus the first `n` rows that `active` lists.

All but `n` (int64) are addresses (`array.ctypes.data`): of float32[..., FLOATS], float32[FLOATS], int32[n] and
float32[FLOATS]. Rows are added in order, in vector registers.
"""
