"""Random choices in many lanes at once, on bit planes, as LLVM intrinsics for Numba kernels.

Options are rows of lanes (the lanes that have the option) in blocks of `BLOCK`. Numbers per lane are *planes*: row p
holds bit p of each lane's number. So one pass of adders counts every lane's options, a random number below that count
is a rank, and subtracting the blocks' counts from it one after the other borrows just where the ranked option is.

A row is W words, one LLVM vector; `width` is a tuple of W zeros. Arrays are uint64[rows * W] from a multiple of 8 W
bytes, where nothing else is said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from games.bits.llvm import WORD, array_data
from games.bits.rows import Rows, Value

BLOCK = 8
"""Options of a block."""
BLOCK_PLANES = 4
"""Planes of a block's count, and the fewest of a total."""


def _count_block(
    typing_context: Any,
    slots: Any,
    option: Any,
    block: Any,
    lanes: Any,
    counts: Any,
    at: Any,
    totals: Any,
    planes: Any,
    width: Any,
) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows = Rows(context, builder, len(width))
        option_data = array_data(context, builder, option, arguments[1])
        slot_row, lane_row = rows.array(slots, arguments[0]), rows.array(lanes, arguments[3])
        count_row, total_row = rows.array(counts, arguments[4]), rows.array(totals, arguments[6])
        options = _load_options(rows, slot_row, option_data, arguments[2])
        some = options[0]
        for one in options[1:]:
            some = builder.or_(some, one)
        some = rows.any(builder.and_(some, rows.load(lane_row(0))))
        with builder.if_then(builder.icmp_unsigned("!=", some, WORD(0))):
            first = builder.mul(arguments[5], WORD(BLOCK_PLANES))
            carry = None
            for plane, count in enumerate(rows.count_of(options)):
                rows.store(count, count_row(builder.add(first, WORD(plane))))
                total, carry = rows.add(rows.load(total_row(plane)), count, carry)
                rows.store(total, total_row(plane))
            rows.ripple(rows.add, total_row, total_row, BLOCK_PLANES, arguments[7], carry)
        return some

    return types.uint64(slots, option, types.int64, lanes, counts, types.int64, totals, types.int64, width), generate


def _load_options(rows: Rows, slot_row: Callable[[Value], Value], data: Value, block: Value) -> list[Value]:
    """The rows of a block's options; `data` points to their slots (int32)."""
    builder = rows.builder
    first = builder.mul(block, WORD(BLOCK))
    return [rows.load(slot_row(rows.load_at(data, builder.add(first, WORD(k))))) for k in range(BLOCK)]


def _begin_ranks(
    typing_context: Any, totals: Any, lanes: Any, greatest: Any, ranks: Any, waiting: Any, planes: Any, width: Any
) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows = Rows(context, builder, len(width))
        total_row, lane_row, greatest_row, rank_row, waiting_row = (
            rows.array(of, array) for of, array in zip(signature.args[:5], arguments[:5], strict=True)
        )
        # The greatest rank is one less than the total; lanes where the total is 0 borrow to the end.
        one = builder.not_(rows.zero())
        empty = rows.ripple(rows.subtract, total_row, greatest_row, 0, arguments[5], one)
        choosing = builder.and_(rows.load(lane_row(0)), builder.not_(empty))
        rows.store(choosing, waiting_row(0))
        higher = cgutils.alloca_once_value(builder, rows.zero())

        def smear(plane: Value) -> None:
            place = greatest_row(builder.sub(builder.sub(arguments[5], WORD(1)), plane))
            value = builder.or_(builder.load(higher), rows.load(place))
            rows.store(value, place)
            builder.store(value, higher)
            rows.store(builder.not_(choosing), rank_row(plane))

        rows.planes(0, arguments[5], smear)
        return rows.any(choosing)

    return types.uint64(totals, lanes, greatest, ranks, waiting, types.int64, width), generate


def _draw_ranks(
    typing_context: Any,
    totals: Any,
    greatest: Any,
    ranks: Any,
    waiting: Any,
    drawn: Any,
    generator: Any,
    planes: Any,
    width: Any,
) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows = Rows(context, builder, len(width))
        total_row, greatest_row, rank_row, waiting_row, drawn_row, generator_row = (
            rows.array(of, array) for of, array in zip(signature.args[:6], arguments[:6], strict=True)
        )

        def rotated(value: Value, bits: int) -> Value:
            return builder.or_(
                builder.shl(value, rows.fill(WORD(bits))), builder.lshr(value, rows.fill(WORD(64 - bits)))
            )

        states = [cgutils.alloca_once_value(builder, rows.load(generator_row(i))) for i in (0, 1)]
        less = cgutils.alloca_once_value(builder, rows.zero())

        def draw(plane: Value) -> None:
            first, second = map(builder.load, states)
            random = builder.add(first, second)
            second = builder.xor(second, first)
            mixed = builder.xor(builder.xor(rotated(first, 24), second), builder.shl(second, rows.fill(WORD(16))))
            builder.store(mixed, states[0])
            builder.store(rotated(second, 37), states[1])
            bit, total = builder.and_(random, rows.load(greatest_row(plane))), rows.load(total_row(plane))
            rows.store(bit, drawn_row(plane))
            builder.store(rows.subtract(bit, total, builder.load(less))[1], less)

        rows.planes(0, arguments[6], draw)
        for i, state in enumerate(states):
            rows.store(builder.load(state), generator_row(i))
        before = rows.load(waiting_row(0))
        accepted = builder.and_(before, builder.load(less))

        def accept(plane: Value) -> None:
            rank = builder.or_(rows.load(rank_row(plane)), builder.and_(rows.load(drawn_row(plane)), accepted))
            rows.store(rank, rank_row(plane))

        rows.planes(0, arguments[6], accept)
        rest = builder.and_(before, builder.not_(accepted))
        rows.store(rest, waiting_row(0))
        return rows.any(rest)

    return types.uint64(totals, greatest, ranks, waiting, drawn, generator, types.int64, width), generate


def _choose_in_block(
    typing_context: Any,
    slots: Any,
    option: Any,
    block: Any,
    counts: Any,
    at: Any,
    ranks: Any,
    planes: Any,
    chosen: Any,
    out: Any,
    width: Any,
) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows = Rows(context, builder, len(width))
        option_data = array_data(context, builder, option, arguments[1])
        slot_row, count_row = rows.array(slots, arguments[0]), rows.array(counts, arguments[3])
        rank_row, chosen_row = rows.array(ranks, arguments[5]), rows.array(chosen, arguments[7])
        first = builder.mul(arguments[4], WORD(BLOCK_PLANES))
        before = []
        borrow = None
        for plane in range(BLOCK_PLANES):
            rank = rows.load(rank_row(plane))
            count = rows.load(count_row(builder.add(first, WORD(plane))))
            difference, borrow = rows.subtract(rank, count, borrow)
            rows.store(difference, rank_row(plane))
            before.append(rank)
        here = rows.ripple(rows.subtract, rank_row, rank_row, BLOCK_PLANES, arguments[6], borrow)
        some = rows.any(here)
        with builder.if_then(builder.icmp_unsigned("!=", some, WORD(0))):

            def settle(plane: Value) -> None:
                # The greatest number: no later block borrows from it.
                rows.store(builder.or_(rows.load(rank_row(plane)), here), rank_row(plane))

            rows.planes(0, arguments[6], settle)
            rank = before[:-1]
            for k, lanes in enumerate(_load_options(rows, slot_row, option_data, arguments[2])):
                borrow = builder.and_(lanes, here)
                for plane in range(len(rank)):
                    rank[plane], borrow = rows.subtract(rank[plane], borrow)
                rows.store(borrow, chosen_row(builder.add(arguments[8], WORD(k))))
        return some

    return types.uint64(
        slots, option, types.int64, counts, types.int64, ranks, types.int64, chosen, types.int64, width
    ), generate


count_block: Any = intrinsic(_count_block)
"""`count_block(slots, option, block, lanes, counts, at, totals, planes, width)`: adds a block's counts to the totals.

The options are the rows `option[BLOCK * block : BLOCK * (block + 1)]` (int32) of `slots`. Where any lane of row
`lanes` has one, their counts become rows `BLOCK_PLANES * at` and following of `counts`, and are added to the `planes`
rows of `totals`. Returns a word, not 0 in this case.
"""
begin_ranks: Any = intrinsic(_begin_ranks)
"""`begin_ranks(totals, lanes, greatest, ranks, waiting, planes, width)`: prepares `draw_ranks`.

Sets `greatest`, `ranks` and `waiting`, the lanes of `lanes` with a total above 0. Returns a word, not 0 if there are
any. All other lanes get a rank that is never reached.
"""
draw_ranks: Any = intrinsic(_draw_ranks)
"""`draw_ranks(totals, greatest, ranks, waiting, drawn, generator, planes, width)`: tries random ranks below the totals.

Lanes of `waiting` whose rank is small enough keep it, and leave `waiting`; at least half, on average. Returns a word,
0 if none waits any more. `drawn` is work memory of `planes` rows, `generator` two rows (see `new_generator`): each word
has a generator xoroshiro128+ of its own (Blackman & Vigna, "Scrambled linear pseudorandom number generators", 2021).
"""
choose_in_block: Any = intrinsic(_choose_in_block)
"""`choose_in_block(slots, option, block, counts, at, ranks, planes, chosen, out, width)`: the options that ranks reach.

`block`, `counts` and `at` are those of `count_block`. Blocks are asked in the order of counting, each once; `ranks`
changes. Where any lane's option is in this block, rows `out` to `out + BLOCK - 1` of `chosen` become the lanes that
chose each. Returns a word, not 0 in this case.
"""


def planes_for(most: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """The planes for totals up to each of `most`."""
    return np.array([max(BLOCK_PLANES, int(total).bit_length()) for total in most], np.int64)


def new_generator(seed: int, words: int) -> NDArray[np.uint64]:
    """Generators for `draw_ranks`, from any seed."""
    state = np.random.SeedSequence(seed % 2**64).generate_state(2 * words, np.uint64)
    return state.astype(np.uint64)
