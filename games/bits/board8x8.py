"""Boards of 8x8 cells in one word, as LLVM intrinsics for Numba kernels: lines of cells between two others.

Cell `8 * row + column` is bit `8 * row + column`. A board is a pair of `uint64` (`player`, `opponent`), seen from the
side to move. A gapless line of opponent's cells is *captured* when it lies between an empty cell and an own cell
(Reversi). Smaller boards and boards with blocked cells are embedded: a cell in neither set stops every line, so only
the caller knows which empty cells are playable.

Vectors of four 64-bit words hold four directions each. LLVM splits them on machines without such registers.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from games.bits.llvm import BOOL, WORD, call, splat

FULL = 0xFFFFFFFFFFFFFFFF
"""All 64 cells."""

_VECTOR = ir.VectorType(WORD, 4)
_INNER_COLUMNS = 0x7E7E7E7E7E7E7E7E


def ray(cell: int, row_step: int, column_step: int) -> int:
    """The cells (bitboard) from `cell` in the direction of the step, without `cell` itself."""
    row, column = divmod(cell, 8)
    cells = 0
    while 0 <= (row := row + row_step) < 8 and 0 <= (column := column + column_step) < 8:
        cells |= 1 << (8 * row + column)
    return cells


# Each cell's rays towards higher bits (E, SW, S, SE when row 0 is drawn on top), and their mirror images.
_UP_STEPS = ((0, 1), (1, -1), (1, 0), (1, 1))
_UP_RAYS = [ray(cell, row, column) for cell in range(64) for row, column in _UP_STEPS]
_DOWN_RAYS = [ray(cell, -row, -column) for cell in range(64) for row, column in _UP_STEPS]


def _constant(*values: int) -> ir.Constant:
    return ir.Constant(_VECTOR, [WORD(value) for value in values])


def _or_lanes(builder: ir.IRBuilder, vector: Any) -> Any:
    return call(builder, "llvm.vector.reduce.or.v4i64", WORD, vector)


def _capture_targets(typing_context: Any, player: Any, opponent: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        own, other = arguments
        once = _constant(1, 7, 8, 9)
        twice = _constant(2, 14, 16, 18)
        starts = splat(builder, own, 4)
        # A disc on the first or last column never lies inside a line that crosses columns.
        inner = builder.and_(splat(builder, other, 4), _constant(_INNER_COLUMNS, _INNER_COLUMNS, FULL, _INNER_COLUMNS))
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


def _load_rays(builder: ir.IRBuilder, name: str, rays: list[int], cell: Any) -> Any:
    """The entry of `cell` in a constant table `rays` (four rays per cell)."""
    table = builder.module.globals.get(name)
    if table is None:
        rows = [_constant(*rays[4 * index : 4 * index + 4]) for index in range(64)]
        table = cgutils.global_constant(builder.module, name, ir.Constant(ir.ArrayType(_VECTOR, 64), rows))
    return builder.load(builder.gep(table, [WORD(0), cell]))


def _flips(typing_context: Any, cell: Any, player: Any, opponent: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        cell, player, opponent = arguments
        own, other = splat(builder, player, 4), splat(builder, opponent, 4)
        one, zero = _constant(1, 1, 1, 1), _constant(0, 0, 0, 0)

        rays = _load_rays(builder, "board8x8_rays_up", _UP_RAYS, cell)
        carried = builder.add(builder.or_(other, builder.not_(rays)), one)
        outflank = builder.and_(builder.and_(carried, rays), own)
        missing = builder.sext(builder.icmp_unsigned("==", outflank, zero), _VECTOR)
        # outflank - 1, or 0 where there is none
        below = builder.sub(builder.sub(outflank, one), missing)
        up = builder.and_(below, rays)

        rays = _load_rays(builder, "board8x8_rays_down", _DOWN_RAYS, cell)
        stops = builder.or_(builder.and_(rays, builder.not_(other)), one)  # bit 0 keeps the shift below in range
        zeros = call(builder, "llvm.ctlz.v4i64", _VECTOR, stops, BOOL(1))
        highest = builder.lshr(_constant(*[1 << 63] * 4), zeros)
        outflank = builder.and_(builder.and_(highest, rays), own)
        down = builder.and_(builder.neg(builder.shl(outflank, one)), rays)
        return _or_lanes(builder, builder.or_(up, down))

    return types.uint64(types.int64, types.uint64, types.uint64), generate


capture_targets: Any = intrinsic(_capture_targets)
"""`capture_targets(player: uint64, opponent: uint64) -> uint64`: the empty cells on which playing captures something.

Bits of occupied cells are meaningless. A parallel prefix (Kogge-Stone) over the lines that start beside own cells.
"""
flips: Any = intrinsic(_flips)
"""`flips(cell: int64, player: uint64, opponent: uint64) -> uint64`: the cells captured by playing on an empty cell.

Towards higher bits, the carry of an addition runs through the opponent's cells to the end of the line. Towards lower
bits, that end is the ray's highest cell that is not the opponent's (count of leading zeros). Both techniques are from
Edax (R. Delorme, `flip_carry_64.c`, `flip_avx_lzcnt.c` by T. Okuhara).
"""
