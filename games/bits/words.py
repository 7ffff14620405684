"""Word-level bit operations for Numba kernels, as LLVM intrinsics where the machine has an instruction for them."""

from __future__ import annotations

from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

_WORD = ir.IntType(64)
_ONE = np.uint64(1)


def _has_fast_pdep() -> bool:
    return bool(llvmlite.binding.get_host_cpu_features().get("bmi2"))


_PDEP = _has_fast_pdep()


def _call(builder: ir.IRBuilder, name: str, *arguments: Any) -> Any:
    signature = ir.FunctionType(_WORD, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), arguments)


def _popcount(typing_context: Any, word: Any) -> Any:
    """`popcount(word: uint64) -> int64`: how many bits are set."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.ctpop.i64", arguments[0])

    return types.int64(types.uint64), generate


def _lowest(typing_context: Any, word: Any) -> Any:
    """`lowest(word: uint64) -> int64`: the index of the lowest set bit; 64 for zero."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.cttz.i64", arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


def _deposit(typing_context: Any, bits: Any, mask: Any) -> Any:
    """`deposit(bits: uint64, mask: uint64) -> uint64`: the low bits spread to the places set in the mask (x86 PDEP)."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return _call(builder, "llvm.x86.bmi.pdep.64", arguments[0], arguments[1])

    return types.uint64(types.uint64, types.uint64), generate


popcount: Any = intrinsic(_popcount)
lowest: Any = intrinsic(_lowest)
_deposit_bits: Any = intrinsic(_deposit)


if _PDEP:

    @njit(cache=True, nogil=True)
    def select_bit(word, k):
        """The index (int64) of the k-th set bit of `word` (uint64), counted from 0; 64 if there are not so many."""
        return lowest(_deposit_bits(_ONE << np.uint64(k), word))

else:

    @njit(cache=True, nogil=True)
    def select_bit(word, k):
        """The index (int64) of the k-th set bit of `word` (uint64), counted from 0; 64 if there are not so many."""
        for _ in range(k):
            word &= word - _ONE
        return lowest(word)


@njit(cache=True, nogil=True)
def transpose(block):
    """Transposes a 64x64 bit matrix in place: bit j of `block[i]` and bit i of `block[j]` change places.

    `block` is uint64[64]. Recursive block swap, Warren, "Hacker's Delight", 7-3.
    """
    mask = np.uint64(0x00000000FFFFFFFF)
    j = 32
    while j > 0:
        shift = np.uint64(j)
        for base in range(0, 64, 2 * j):
            for k in range(base, base + j):
                swap = ((block[k] >> shift) ^ block[k + j]) & mask
                block[k] ^= swap << shift
                block[k + j] ^= swap
        j >>= 1
        mask ^= mask << np.uint64(j)


def aligned_words(n: int) -> NDArray[np.uint64]:
    """`n` zeroed words that start on a cache line (64 bytes), so that vector loads do not straddle two."""
    buffer = np.zeros(n + 8, np.uint64)
    offset = (-buffer.ctypes.data % 64) // 8
    return buffer[offset : offset + n]
