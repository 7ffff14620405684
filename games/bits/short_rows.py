"""Rows of sixteen integers as one LLVM vector: sums of rows, and the output of a small layer of clipped units.

Arrays are flat int32[16 * rows], from a multiple of 64 bytes. In all operations `wide` (bool) says whether whole rows
count or only column 0, which takes less time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from games.bits.llvm import HALF, WORD, array_data, call
from games.bits.words import aligned_words

COLUMNS = 16
"""Integers in a row."""
FULL_SHIFT = 10
"""A unit's sum counts from 0 to 1 << FULL_SHIFT."""

_ROW = ir.VectorType(HALF, COLUMNS)


def aligned_rows(n: int) -> NDArray[np.int32]:
    """`n` rows of zeros, flat."""
    return aligned_words(n * COLUMNS // 2).view(np.int32)


def _pointer(context: Any, builder: ir.IRBuilder, array_type: Any, array: Any, row: Any) -> Any:
    start = builder.mul(row, WORD(COLUMNS))
    return builder.gep(array_data(context, builder, array_type, array), [start])


def _whole(builder: ir.IRBuilder, first: Any) -> Any:
    return builder.bitcast(first, _ROW.as_pointer())


def _combine(operation: str) -> Callable[..., Any]:
    def change(builder: ir.IRBuilder, to: Any, by: Any) -> None:
        value = builder.load(by, align=64)
        if operation != "copy":
            value = getattr(builder, operation)(builder.load(to, align=64), value)
        builder.store(value, to, align=64)

    def typed(typing_context: Any, target: Any, at: Any, rows: Any, row: Any, wide: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
            to = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
            by = _pointer(context, builder, signature.args[2], arguments[2], arguments[3])
            with builder.if_else(arguments[4]) as (whole, first):
                with whole:
                    change(builder, _whole(builder, to), _whole(builder, by))
                with first:
                    change(builder, to, by)
            return context.get_dummy_value()

        return types.void(target, types.int64, rows, types.int64, types.boolean), generate

    return typed


def _output(typing_context: Any, sums: Any, at: Any, outputs: Any, row: Any, wide: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        value = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        weight = _pointer(context, builder, signature.args[2], arguments[2], arguments[3])
        first = builder.add(builder.load(value, align=64), builder.load(weight, align=64))
        start = builder.block
        with builder.if_then(arguments[4]):
            values, weights = (builder.load(_whole(builder, one), align=64) for one in (value, weight))
            least, most = (ir.Constant(_ROW, [HALF(number)] * COLUMNS) for number in (0, 1 << FULL_SHIFT))
            clipped = call(builder, "llvm.smax.v16i32", _ROW, values, least)
            clipped = call(builder, "llvm.smin.v16i32", _ROW, clipped, most)
            products = builder.insert_element(builder.mul(clipped, weights), HALF(0), HALF(0))
            total = call(builder, "llvm.vector.reduce.add.v16i32", HALF, products)
            units = builder.ashr(total, HALF(FULL_SHIFT))
            end = builder.block
        found = builder.phi(HALF)
        found.add_incoming(HALF(0), start)
        found.add_incoming(units, end)
        return builder.sext(builder.add(first, found), WORD)

    return types.int64(sums, types.int64, outputs, types.int64, types.boolean), generate


add_row: Any = intrinsic(_combine("add"))
"""`add_row(target, at, rows, row, wide)`: adds row `row` of `rows` to row `at` of `target`."""
subtract_row: Any = intrinsic(_combine("sub"))
"""`subtract_row(target, at, rows, row, wide)`: subtracts row `row` of `rows` from row `at` of `target`."""
copy_row: Any = intrinsic(_combine("copy"))
"""`copy_row(target, at, rows, row, wide)`: row `at` of `target` becomes row `row` of `rows`."""
unit_output: Any = intrinsic(_output)
"""`unit_output(sums, at, outputs, row, wide)`: the output of row `at` of `sums` by weights, row `row` of `outputs`.

Column 0 of both is added as it is; the other columns are units: a sum, clipped to 0 .. 1 << FULL_SHIFT, counts times
its weight / (1 << FULL_SHIFT). Products and their sum must fit into 32 bits.
"""
