"""The evaluation's pattern numbers as sums of table rows, in vector code (LLVM does not vectorise the plain loop)."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from agent.search.reversi.patterns import WORDS

_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(_WORD, 4)


def _data(context: Any, builder: ir.IRBuilder, array_type: Any, array: Any) -> Any:
    return context.make_array(array_type)(context, builder, array).data


def _pattern_numbers(typing_context: Any, player: Any, opponent: Any, rows: Any, numbers: Any) -> Any:
    """`pattern_numbers(player, opponent, rows, numbers)`: write the contents of all pattern instances to `numbers`.

    `rows` is `PatternSet.row_words` (uint64[8 * 256, WORDS]), `numbers` uint64[WORDS]: four 16-bit lanes each. A board
    row's byte picks the table row; the opponent's discs count twice (digit 2).
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        def word(value: int) -> ir.Constant:
            return ir.Constant(_WORD, value)

        def pointer(base: Any, index: Any) -> Any:
            return builder.bitcast(builder.gep(base, [index]), _VECTOR.as_pointer())

        table = _data(context, builder, signature.args[2], arguments[2])
        target = _data(context, builder, signature.args[3], arguments[3])
        sums: list[Any] = [ir.Constant(_VECTOR, [word(0)] * 4) for _ in range(WORDS // 4)]
        for discs in (arguments[1], arguments[0]):
            sums = [builder.add(part, part) for part in sums]
            for row in range(8):
                contents = builder.and_(builder.lshr(discs, word(8 * row)), word(255))
                start = builder.mul(builder.add(contents, word(256 * row)), word(WORDS))
                for part in range(len(sums)):
                    place = pointer(table, builder.add(start, word(4 * part)))
                    sums[part] = builder.add(sums[part], builder.load(place, align=8))
        for index, part in enumerate(sums):
            builder.store(part, pointer(target, word(4 * index)), align=8)
        return context.get_dummy_value()

    return types.none(player, opponent, rows, numbers), generate


pattern_numbers: Any = intrinsic(_pattern_numbers)
