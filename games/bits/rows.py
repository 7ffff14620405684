"""Rows of lanes: W words that are one LLVM vector, in the code that intrinsics emit, and simple operations on them.

`width` is a tuple of W zeros. Arrays of rows are uint64[rows * W] from a multiple of 8 W bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from games.bits.llvm import WORD, array_data, call, splat

Value: TypeAlias = Any
"""A value in LLVM IR."""


class Rows:
    """Emits code for rows of `words` words."""

    def __init__(self, context: Any, builder: ir.IRBuilder, words: int) -> None:
        self._context = context
        self.builder = builder
        self.words = words
        self.type = WORD if words == 1 else ir.VectorType(WORD, words)

    def array(self, array_type: Any, array: Value) -> Callable[[Value], Value]:
        """Pointers to the rows of an array, by index."""
        data = array_data(self._context, self.builder, array_type, array)

        def pointer(index: Value) -> Value:
            index = WORD(index) if isinstance(index, int) else index
            start = self.builder.mul(index, WORD(self.words))
            return self.builder.bitcast(self.builder.gep(data, [start]), self.type.as_pointer())

        return pointer

    def load(self, pointer: Value) -> Value:
        return self.builder.load(pointer, align=8 * self.words)

    def store(self, value: Value, pointer: Value) -> None:
        self.builder.store(value, pointer, align=8 * self.words)

    def zero(self) -> Value:
        return ir.Constant(self.type, None)

    def add(self, a: Value, b: Value, c: Value | None = None) -> tuple[Value, Value]:
        """Sum and carry of two or three bits in each lane."""
        both, either = self.builder.and_(a, b), self.builder.xor(a, b)
        if c is None:
            return either, both
        return self.builder.xor(either, c), self.builder.or_(both, self.builder.and_(either, c))

    def subtract(self, a: Value, b: Value, borrow: Value | None = None) -> tuple[Value, Value]:
        """Difference and borrow of two bits in each lane, with a borrow from below."""
        without, either = self.builder.and_(self.builder.not_(a), b), self.builder.xor(a, b)
        if borrow is None:
            return either, without
        more = self.builder.and_(self.builder.not_(either), borrow)
        return self.builder.xor(either, borrow), self.builder.or_(without, more)

    def any(self, row: Value) -> Value:
        """A word, not 0 if any lane is set."""
        if self.words == 1:
            return row
        return call(self.builder, f"llvm.vector.reduce.or.v{self.words}i64", WORD, row)

    def count_of(self, options: list[Value]) -> list[Value]:
        """The planes of the number of set rows among eight."""
        a, b, c, d, e, f, g, h = options
        one, two = self.add(a, b, c)
        other, four = self.add(d, e, f)
        one, six = self.add(one, other, g)
        one, eight = self.add(one, h)
        twos, fours = self.add(two, four, six)
        twos, more = self.add(twos, eight)
        return [one, twos, *self.add(fours, more)]

    def planes(self, first: int, end: Value, body: Callable[[Value], None]) -> None:
        """Emits a loop over the planes from `first` on."""
        with cgutils.for_range_slice(self.builder, WORD(first), end, WORD(1), WORD) as (plane, _):
            body(plane)

    def ripple(
        self,
        operation: Callable[[Value, Value], tuple[Value, Value]],
        source: Callable[[Value], Value],
        target: Callable[[Value], Value],
        first: int,
        end: Value,
        carry: Value,
    ) -> Value:
        """Emits a loop that adds a carry to the planes of `source`, or subtracts it; returns what is carried out."""
        rest = cgutils.alloca_once_value(self.builder, carry)

        def go_on(plane: Value) -> None:
            result, carry = operation(self.load(source(plane)), self.builder.load(rest))
            self.store(result, target(plane))
            self.builder.store(carry, rest)

        self.planes(first, end, go_on)
        return self.builder.load(rest)

    def fill(self, word: Value) -> Value:
        """A row of the same word W times."""
        return word if self.words == 1 else splat(self.builder, word, self.words)

    def load_at(self, data: Value, index: Value) -> Value:
        """The element of an int32 array, as an index."""
        return self.builder.zext(self.builder.load(self.builder.gep(data, [index])), WORD)

    def blend(self, a: Value, b: Value, lanes: Value) -> Value:
        """`b` in the lanes of `lanes`, else `a`."""
        kept = self.builder.and_(a, self.builder.not_(lanes))
        return self.builder.or_(kept, self.builder.and_(b, lanes))


def _join_row(typing_context: Any, target: Any, to: Any, source: Any, at: Any, width: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows = Rows(context, builder, len(width))
        place = rows.array(target, arguments[0])(arguments[1])
        added = rows.load(rows.array(source, arguments[2])(arguments[3]))
        rows.store(builder.or_(rows.load(place), added), place)
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64, width), generate


def _any_lane(typing_context: Any, source: Any, at: Any, width: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows = Rows(context, builder, len(width))
        return rows.any(rows.load(rows.array(source, arguments[0])(arguments[1])))

    return types.uint64(source, types.int64, width), generate


def _blend_rows(typing_context: Any, target: Any, source: Any, lanes: Any, first: Any, end: Any, width: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows = Rows(context, builder, len(width))
        target_row, source_row, lane_row = (
            rows.array(of, array) for of, array in zip(signature.args[:3], arguments[:3], strict=True)
        )
        mask = rows.load(lane_row(0))
        with cgutils.for_range_slice(builder, arguments[3], arguments[4], WORD(1), WORD) as (row, _):
            rows.store(rows.blend(rows.load(target_row(row)), rows.load(source_row(row)), mask), target_row(row))
        return context.get_dummy_value()

    return types.void(target, source, lanes, types.int64, types.int64, width), generate


def _gather_rows(typing_context: Any, target: Any, source: Any, which: Any, others: Any, lanes: Any, width: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows = Rows(context, builder, len(width))
        target_row, source_row = rows.array(target, arguments[0]), rows.array(source, arguments[1])
        which_data = array_data(context, builder, which, arguments[2])
        other_data = array_data(context, builder, others, arguments[3])
        mask = rows.load(rows.array(lanes, arguments[4])(0))
        n = context.make_array(which)(context, builder, arguments[2]).nitems
        with cgutils.for_range_slice(builder, WORD(0), n, WORD(1), WORD) as (row, _):
            other = rows.fill(builder.load(builder.gep(other_data, [row])))
            here = rows.load(source_row(rows.load_at(which_data, row)))
            rows.store(rows.blend(other, here, mask), target_row(row))
        return context.get_dummy_value()

    return types.void(target, source, which, others, lanes, width), generate


any_lane: Any = intrinsic(_any_lane)
"""`any_lane(source, at, width)`: a word, not 0 if any lane is set in row `at`."""
join_row: Any = intrinsic(_join_row)
"""`join_row(target, to, source, at, width)`: adds the lanes in row `at` of `source` to row `to` of `target`."""
blend_rows: Any = intrinsic(_blend_rows)
"""`blend_rows(target, source, lanes, first, end, width)`: copies rows `first` to `end - 1` in the lanes of a row."""
gather_rows: Any = intrinsic(_gather_rows)
"""`gather_rows(target, source, which, others, lanes, width)`: row i of `target` = row `which[i]` of `source`.

So in the lanes of row `lanes`; in others it becomes the word `others[i]` (uint64[n]), W times. `which` is int32[n].
"""
