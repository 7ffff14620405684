from __future__ import annotations

import ctypes

import numpy as np
from numba import njit

from games.bits.addresses import load_word


@njit(cache=True)
def _load(address):
    return load_word(np.uint64(address))


def test_a_word_is_read_where_it_stands():
    words = np.array([7, 0xFFFFFFFFFFFFFFFF, 1 << 63], np.uint64)
    for i, word in enumerate(words):
        address = words.ctypes.data + 8 * i
        assert _load(address) == word == ctypes.c_uint64.from_address(address).value
