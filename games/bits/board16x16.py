"""Sets of cells on boards up to 16x16 as LLVM intrinsics for Numba kernels: all places of a shape at once.

A board is four `uint64` words, least significant first. Cell `16 * y + x` is bit `cell & 63` of word `cell >> 6`, so
the 32 bytes are also sixteen rows of 16 bits. A *shape* is a list of non-negative cell offsets `(dx, dy)` from its
anchor. Its anchors are the intersection of the free cells shifted by each offset. Shifting by `dx` shifts all rows in
parallel; shifting by `dy` is a load that starts `dy` rows later. With the board stored once per `dx`
(`store_shifted`), each cell of a shape costs one load and one AND (`fit`).

Addresses are `array.ctypes.data` of contiguous arrays. The code is little-endian.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from games.bits.llvm import HALF, WORD, call, load, splat, store

SIDE = 16
"""Width and height of the embedding board."""
WORDS = 4
"""Words of a board."""
SHIFTED_BYTES = 64
"""Bytes of one shifted board: 16 rows and 16 empty rows below."""

_WORD_VECTOR = ir.VectorType(WORD, WORDS)
_ROW_VECTOR = ir.VectorType(ir.IntType(16), SIDE)


def _load(builder: ir.IRBuilder, address: Any, type_: ir.Type) -> Any:
    # Loads start at any row.
    return load(builder, address, type_, align=2)


def _store(builder: ir.IRBuilder, value: Any, address: Any) -> None:
    store(builder, value, address, align=2)


def _count(builder: ir.IRBuilder, vector: Any) -> Any:
    counts = call(builder, "llvm.ctpop.v4i64", _WORD_VECTOR, vector)
    return call(builder, "llvm.vector.reduce.add.v4i64", WORD, counts)


def _store_shifted(typing_context: Any, board: Any, columns: Any, target: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        board, columns, target = arguments
        rows = _load(builder, board, _ROW_VECTOR)
        with cgutils.for_range_slice(builder, WORD(0), columns, WORD(1), WORD) as (index, _):
            row_index = builder.trunc(index, ir.IntType(16))
            shift = splat(builder, row_index, SIDE)
            address = builder.add(target, builder.mul(index, WORD(SHIFTED_BYTES)))
            _store(builder, builder.lshr(rows, shift), address)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


def _fit(typing_context: Any, *arguments: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        free, corners, offsets, size, anchors, legal = arguments
        entry = builder.block
        head, done = builder.append_basic_block("cell"), builder.append_basic_block("done")
        admissible = _load(builder, anchors, _WORD_VECTOR)
        builder.branch(head)

        builder.position_at_end(head)
        index = builder.phi(WORD)
        fitting, touching = builder.phi(_WORD_VECTOR), builder.phi(_WORD_VECTOR)
        index.add_incoming(WORD(0), entry)
        fitting.add_incoming(admissible, entry)
        touching.add_incoming(ir.Constant(_WORD_VECTOR, [0] * WORDS), entry)
        offset = builder.zext(_load(builder, builder.add(offsets, builder.mul(index, WORD(4))), HALF), WORD)
        fitting_here = builder.and_(fitting, _load(builder, builder.add(free, offset), _WORD_VECTOR))
        touching_here = builder.or_(touching, _load(builder, builder.add(corners, offset), _WORD_VECTOR))
        following = builder.add(index, WORD(1))
        index.add_incoming(following, head)
        fitting.add_incoming(fitting_here, head)
        touching.add_incoming(touching_here, head)
        builder.cbranch(builder.icmp_signed("<", following, size), head, done)

        builder.position_at_end(done)
        result = builder.and_(fitting_here, touching_here)
        _store(builder, result, legal)
        any_fit = call(builder, "llvm.vector.reduce.or.v4i64", WORD, fitting_here)
        dead = builder.icmp_unsigned("==", any_fit, WORD(0))
        return builder.select(dead, WORD(-1), _count(builder, result))

    return types.int64(*[types.int64] * 6), generate


def _spread(typing_context: Any, *arguments: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        anchors, offsets, size, cells = arguments
        entry = builder.block
        head, done = builder.append_basic_block("cell"), builder.append_basic_block("done")
        before = _load(builder, cells, _ROW_VECTOR)
        builder.branch(head)

        builder.position_at_end(head)
        index = builder.phi(WORD)
        covered = builder.phi(_ROW_VECTOR)
        index.add_incoming(WORD(0), entry)
        covered.add_incoming(before, entry)
        offset = _load(builder, builder.add(offsets, builder.mul(index, WORD(4))), HALF)
        rows_down = builder.zext(builder.and_(offset, HALF(SHIFTED_BYTES - 1)), WORD)
        columns = builder.trunc(builder.lshr(offset, HALF(SHIFTED_BYTES.bit_length() - 1)), ir.IntType(16))
        moved = _load(builder, builder.sub(anchors, rows_down), _ROW_VECTOR)
        covered_here = builder.or_(covered, builder.shl(moved, splat(builder, columns, SIDE)))
        following = builder.add(index, WORD(1))
        index.add_incoming(following, head)
        covered.add_incoming(covered_here, head)
        builder.cbranch(builder.icmp_signed("<", following, size), head, done)

        builder.position_at_end(done)
        _store(builder, covered_here, cells)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), generate


def _diagonals(typing_context: Any, board: Any, target: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        board, target = arguments
        rows = _load(builder, board, _ROW_VECTOR)
        one = ir.Constant(_ROW_VECTOR, [1] * SIDE)
        none = ir.Constant(_ROW_VECTOR, [0] * SIDE)
        beside = builder.or_(builder.shl(rows, one), builder.lshr(rows, one))
        lanes = ir.VectorType(HALF, SIDE)
        up = builder.shuffle_vector(beside, none, ir.Constant(lanes, list(range(1, SIDE + 1))))
        down = builder.shuffle_vector(none, beside, ir.Constant(lanes, list(range(SIDE - 1, 2 * SIDE - 1))))
        _store(builder, builder.or_(up, down), target)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def _overlap(typing_context: Any, *arguments: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        one, other = (_load(builder, address, _WORD_VECTOR) for address in arguments)
        return _count(builder, builder.and_(one, other))

    return types.int64(*[types.int64] * 2), generate


def _overlap_beyond(typing_context: Any, *arguments: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        one, other, without = (_load(builder, address, _WORD_VECTOR) for address in arguments)
        return _count(builder, builder.and_(builder.and_(one, other), builder.not_(without)))

    return types.int64(*[types.int64] * 3), generate


store_shifted: Any = intrinsic(_store_shifted)
"""`store_shifted(board: address, columns: int64, target: address)`: the board shifted by 0..columns-1 columns.

Copy dx goes to `target + 64 * dx`; its cell (x, y) is cell (x + dx, y) of the board. The caller keeps the 32 bytes
after each copy zero.
"""
diagonals: Any = intrinsic(_diagonals)
"""`diagonals(board: address, target: address)`: the diagonal neighbours of a board's cells."""
spread: Any = intrinsic(lambda typing_context, anchors, offsets, size, cells: _spread(typing_context))
"""`spread(anchors, offsets, size, cells)`: adds to `cells` the cells that a shape covers from any of the anchors.

The reverse of `fit`: `anchors` is the address of a board with 32 zero bytes before it, `offsets` and `size` are
those of `fit`, `cells` is the address of a board. No cell may be off the board.
"""
fit: Any = intrinsic(lambda typing_context, free, corners, offsets, size, anchors, legal: _fit(typing_context))
"""`fit(free, corners, offsets, size, anchors, legal) -> int64`: the anchors at which a shape fits and touches a corner.

`free` and `corners` are addresses of boards from `store_shifted`; `offsets` is the address of `size` byte offsets into
them (`uint32`, `64 * dx + 2 * dy`), `anchors` that of the board of admissible anchors. Stores at `legal` the anchors
at which all cells are free and one is a corner. Returns their number; -1 where the shape fits nowhere, corner or not:
free cells never come back, so it never will.
"""
overlap: Any = intrinsic(lambda typing_context, one, other: _overlap(typing_context))
"""`overlap(one, other) -> int64`: the number of cells on both boards (addresses of uint64[4])."""
overlap_beyond: Any = intrinsic(lambda typing_context, one, other, without: _overlap_beyond(typing_context))
"""`overlap_beyond(one, other, without) -> int64`: as `overlap`, without the cells of a third board."""
