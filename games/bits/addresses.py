"""Reads memory that another library owns, by address."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import intrinsic

from games.bits import llvm


def _load_word(typing_context: Any, address: Any) -> Any:
    """The eight bytes at an address (uint64) as a uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return llvm.load(builder, arguments[0], llvm.WORD, 8)

    return types.uint64(types.uint64), generate


load_word: Any = intrinsic(_load_word)
