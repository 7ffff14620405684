"""Bit operations on words for Numba kernels, as LLVM intrinsics where the machine has an instruction."""

from __future__ import annotations

from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from games.bits.compiling import KERNEL
from games.bits.llvm import BOOL, WORD, call

_ONE = np.uint64(1)

HAS_DEPOSIT = bool(llvmlite.binding.get_host_cpu_features().get("bmi2"))
"""Whether the machine has the instruction of `deposit`."""

HAS_FAST_DEPOSIT = HAS_DEPOSIT and llvmlite.binding.get_host_cpu_name() not in ("znver1", "znver2")
"""Whether `deposit` is fast: these two CPUs take some ten cycles per bit of the mask (Fog, "Instruction tables")."""


def _popcount(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return call(builder, "llvm.ctpop.i64", WORD, arguments[0])

    return types.int64(types.uint64), generate


def _lowest(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return call(builder, "llvm.cttz.i64", WORD, arguments[0], BOOL(0))

    return types.int64(types.uint64), generate


def _deposit(typing_context: Any, bits: Any, mask: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return call(builder, "llvm.x86.bmi.pdep.64", WORD, arguments[0], arguments[1])

    return types.uint64(types.uint64, types.uint64), generate


popcount: Any = intrinsic(_popcount)
"""`popcount(word: uint64) -> int64`: the number of set bits."""
lowest: Any = intrinsic(_lowest)
"""`lowest(word: uint64) -> int64`: the index of the lowest set bit; 64 for zero."""
deposit: Any = intrinsic(_deposit)
"""`deposit(bits: uint64, mask: uint64) -> uint64`: the low bits, moved in order to the set places of the mask.

x86 PDEP (BMI2): without the instruction, a kernel that calls it does not run.
"""


_ONES = np.uint64(0x0101010101010101)
_HIGHS = np.uint64(0x8080808080808080)
_SET_BITS = [[bit for bit in range(8) if byte >> bit & 1] for byte in range(256)]
_IN_BYTE = np.array([(bits + 8 * [0])[k] for k in range(8) for bits in _SET_BITS], np.uint8)
"""uint8[8 * 256]: the index of a byte's k-th set bit, at `256 * k + byte`."""


@njit(**KERNEL)
def select_bit_by_bytes(word, k):
    """`select_bit` without `deposit`: finds the byte by prefix sums, the bit in it by a table.

    Vigna 2008, "Broadword implementation of rank/select queries".
    """
    sums = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    sums = (sums & np.uint64(0x3333333333333333)) + ((sums >> np.uint64(2)) & np.uint64(0x3333333333333333))
    sums = ((sums + (sums >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)) * _ONES
    # Byte b of `sums` counts the set bits in bytes 0..b.
    k = np.uint64(k)
    shift = np.uint64(popcount((((k * _ONES) | _HIGHS) - sums) & _HIGHS) << 3)
    before = ((sums << np.uint64(8)) >> shift) & np.uint64(0xFF)
    return np.int64(shift) + np.int64(_IN_BYTE[((k - before) << np.uint64(8)) | ((word >> shift) & np.uint64(0xFF))])


if HAS_FAST_DEPOSIT:

    @njit(**KERNEL)
    def select_bit(word, k):
        """The index (int64) of the k-th set bit of `word` (uint64), from 0; at least k + 1 bits must be set."""
        return lowest(deposit(_ONE << np.uint64(k), word))

else:
    select_bit = select_bit_by_bytes


@njit(**KERNEL)
def transpose(block):
    """Transposes a 64x64 bit matrix in place: swaps bit j of `block[i]` with bit i of `block[j]`.

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
    """`n` zeroed words from the start of a cache line (64 bytes), so that vector loads do not straddle two."""
    buffer = np.zeros(n + 8, np.uint64)
    offset = (-buffer.ctypes.data % 64) // 8
    return buffer[offset : offset + n]
