"""Groups of arrays that are declared and allocated by one table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from games.bits.arrays import allocate, array, group

RECORD = np.dtype([("first", np.int64), ("second", np.int8)], align=True)


class Inner(NamedTuple):
    flags: NDArray[np.bool_] = array(np.bool_, "n")


class Outer(NamedTuple):
    known: NDArray[np.int64]
    words: NDArray[np.uint64] = array(np.uint64, "n", 3)
    records: NDArray[np.void] = array(RECORD, 5)
    filled: NDArray[np.int32] = array(np.int32, 2, fill=-7)
    inner: Inner = group(Inner)


def test_fields_are_as_declared() -> None:
    """Types, shapes and contents; what is given is taken as it is; each array begins a cache line of its own."""
    known = np.arange(3)
    made = allocate(Outer, {"known": known}, n=4)
    assert made.known is known
    assert (made.words.dtype, made.words.shape, made.words.any()) == (np.uint64, (4, 3), False)
    assert (made.records.dtype, made.records.shape) == (RECORD, (5,))
    assert made.filled.tolist() == [-7, -7]
    assert made.inner.flags.shape == (4,)
    assert all(one.ctypes.data % 64 == 0 for one in (made.words, made.records, made.filled, made.inner.flags))
    assert not np.shares_memory(made.words, allocate(Outer, {"known": known}, n=4).words)


def test_a_missing_size_is_named() -> None:
    """Sizes have no defaults."""
    with pytest.raises(KeyError, match="n"):
        allocate(Outer, {"known": np.arange(3)})
