"""Symbols of clingo's C interface, taken apart by kernels."""

from __future__ import annotations

import ctypes
import mmap

import clingo
import numpy as np
import pytest
from numpy.typing import NDArray

from games.gdl.grounding import observer
from games.gdl.grounding.observer import RawDecoder

MAP_32BIT = 0x40
"""mmap(2): below 2 GiB."""


def test_names_may_be_at_small_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name is mistaken for a number in a Python at a fixed address, whose heap begins right behind it."""
    interface = observer._interface()
    if interface is None:
        pytest.skip("clingo's C interface is not where it used to be")
    try:
        memory = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_32BIT)
    except OSError:
        pytest.skip("needs Linux on x86-64")
    memory.write(b"cell\0")
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if address >> 31:
        pytest.skip("needs Linux on x86-64")
    take_apart = observer._take_apart

    def take_apart_low(symbols: NDArray[np.uint64], heads: NDArray[np.uint64], *others: NDArray[np.uint64]) -> None:
        take_apart(symbols, heads, *others)
        heads[others[0] > 0] = address

    monkeypatch.setattr(observer, "_take_apart", take_apart_low)
    decoder = RawDecoder(["zero", "one", "two"], {"cell": "cell"}, *interface)
    symbols = [
        clingo.Number(2),
        clingo.Function("cell", [clingo.Number(1), clingo.Number(0)]),
        clingo.Function("cell", [clingo.Function("cell", [clingo.Number(2)])]),
    ]
    words = np.array([symbol._rep for symbol in symbols], np.uint64)
    assert decoder.terms(words) == ["two", ("cell", "one", "zero"), ("cell", ("cell", "two"))]
