"""Rows of lanes for kernels, as bits."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from games.bits.words import aligned_words
from games.gdl.running.kernels import NARROW, WIDE

Bits: TypeAlias = NDArray[np.bool_]

WIDTHS = {1: NARROW, 8: WIDE}


def rows_of(bits: Bits) -> NDArray[np.uint64]:
    """Rows of lanes from bits (rows, lanes)."""
    rows = aligned_words(bits.size // 64)
    rows[:] = np.packbits(bits, axis=1, bitorder="little").view(np.uint64).ravel()
    return rows


def bits_of(rows: NDArray[np.uint64], width: int) -> Bits:
    """The inverse of `rows_of`."""
    return np.unpackbits(rows.view(np.uint8).reshape(-1, 8 * width), axis=1, bitorder="little").view(np.bool_)
