"""Bitboard primitives as LLVM intrinsics for Numba kernels: mobility and flips, beside those of `games.bits.words`.

A board is a pair of `uint64` (`player`, `opponent`), seen from the side to move. Cell `8 * row + column` is bit
`8 * row + column`. Smaller boards and boards with blocked cells are embedded: a cell in neither set stops every line,
so only the caller's set of empty playable cells knows about them.

The eight directions are handled side by side in vectors of four 64-bit words. LLVM splits them on machines without
such registers, so the code is the same everywhere.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from games.bits.words import lowest as lowest
from games.bits.words import popcount as popcount

FULL = 0xFFFFFFFFFFFFFFFF
"""All 64 cells."""

_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(_WORD, 4)
_INNER_COLUMNS = 0x7E7E7E7E7E7E7E7E


def ray(cell: int, row_step: int, column_step: int) -> int:
    """The cells (bitboard) reached from `cell` by repeated steps, without `cell` itself."""
    row, column = divmod(cell, 8)
    cells = 0
    while 0 <= (row := row + row_step) < 8 and 0 <= (column := column + column_step) < 8:
        cells |= 1 << (8 * row + column)
    return cells


# The rays of every cell towards higher bits (E, SW, S, SE when row 0 is drawn on top), and their mirror images.
_UP_STEPS = ((0, 1), (1, -1), (1, 0), (1, 1))
_UP_RAYS = [ray(cell, row, column) for cell in range(64) for row, column in _UP_STEPS]
_DOWN_RAYS = [ray(cell, -row, -column) for cell in range(64) for row, column in _UP_STEPS]


def _constant(*values: int) -> ir.Constant:
    return ir.Constant(_VECTOR, [ir.Constant(_WORD, value) for value in values])


def _splat(builder: ir.IRBuilder, word: Any) -> Any:
    vector = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), word, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), 4), [ir.Constant(ir.IntType(32), 0)] * 4)
    return builder.shuffle_vector(vector, vector, lanes)


def _call(builder: ir.IRBuilder, name: str, result: ir.Type, *arguments: Any) -> Any:
    """Call the LLVM intrinsic of that full name."""
    signature = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), arguments)


def _or_lanes(builder: ir.IRBuilder, vector: Any) -> Any:
    return _call(builder, "llvm.vector.reduce.or.v4i64", _WORD, vector)


def _capture_targets(typing_context: Any, player: Any, opponent: Any) -> Any:
    """Cells at the far end of opponent's lines that start beside an own disc (parallel prefix, Kogge-Stone)."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        own, other = arguments
        once = _constant(1, 7, 8, 9)
        twice = _constant(2, 14, 16, 18)
        starts = _splat(builder, own)
        # A disc on the first or last column never lies inside a line that crosses columns.
        inner = builder.and_(_splat(builder, other), _constant(_INNER_COLUMNS, _INNER_COLUMNS, FULL, _INNER_COLUMNS))
        reached = None
        for shift in (builder.shl, builder.lshr):
            line = builder.and_(inner, shift(starts, once))
            line = builder.or_(line, builder.and_(inner, shift(line, once)))
            pairs = builder.and_(inner, shift(inner, once))
            line = builder.or_(line, builder.and_(pairs, shift(line, twice)))
            line = builder.or_(line, builder.and_(pairs, shift(line, twice)))
            ends = shift(line, once)
            reached = ends if reached is None else builder.or_(reached, ends)
        return _or_lanes(builder, reached)

    return types.uint64(types.uint64, types.uint64), generate


def _flips(typing_context: Any, cell: Any, player: Any, opponent: Any) -> Any:
    """`flips(cell: int64, player: uint64, opponent: uint64) -> uint64`: the discs turned by playing on an empty cell.

    Towards higher bits the carry of an addition runs through the opponent's discs to the disc that ends the line;
    towards lower bits that disc is the highest one of the ray that is not the opponent's (count of leading zeros).
    Both are the techniques of Edax (R. Delorme, `flip_carry_64.c`, `flip_avx_lzcnt.c` by T. Okuhara).
    """

    def load_rays(builder: ir.IRBuilder, name: str, rays: list[int], cell: Any) -> Any:
        table_type = ir.ArrayType(_VECTOR, 64)
        table = builder.module.globals.get(name)
        if table is None:
            rows = [_constant(*rays[4 * index : 4 * index + 4]) for index in range(64)]
            table = cgutils.global_constant(builder.module, name, ir.Constant(table_type, rows))
        return builder.load(builder.gep(table, [ir.Constant(_WORD, 0), cell]))

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        cell, player, opponent = arguments
        own, other = _splat(builder, player), _splat(builder, opponent)
        one, zero = _constant(1, 1, 1, 1), _constant(0, 0, 0, 0)

        rays = load_rays(builder, "reversi_rays_up", _UP_RAYS, cell)
        carried = builder.add(builder.or_(other, builder.not_(rays)), one)
        outflank = builder.and_(builder.and_(carried, rays), own)
        missing = builder.sext(builder.icmp_unsigned("==", outflank, zero), _VECTOR)
        # outflank - 1, or 0 where there is none
        below = builder.sub(builder.sub(outflank, one), missing)
        up = builder.and_(below, rays)

        rays = load_rays(builder, "reversi_rays_down", _DOWN_RAYS, cell)
        stops = builder.or_(builder.and_(rays, builder.not_(other)), one)  # bit 0 keeps the shift below in range
        zeros = _call(builder, "llvm.ctlz.v4i64", _VECTOR, stops, ir.Constant(ir.IntType(1), 1))
        highest = builder.lshr(_constant(*[1 << 63] * 4), zeros)
        outflank = builder.and_(builder.and_(highest, rays), own)
        down = builder.and_(builder.neg(builder.shl(outflank, one)), rays)
        return _or_lanes(builder, builder.or_(up, down))

    return types.uint64(types.int64, types.uint64, types.uint64), generate


flips: Any = intrinsic(_flips)
_targets: Any = intrinsic(_capture_targets)


@njit(inline="always")
def legal_moves(player, opponent, empty):
    """The cells of `empty` (uint64 set) on which the side to move captures something."""
    return _targets(player, opponent) & empty
