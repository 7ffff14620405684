"""Word-level bit operations against Python integers."""

from __future__ import annotations

import random

import numpy as np
from numba import njit

from games.bits.words import aligned_words, lowest, popcount, select_bit, transpose

RNG = random.Random(1)
WORDS = [0, 1, 1 << 63, (1 << 64) - 1, 0xF0F0, *(RNG.getrandbits(64) & RNG.getrandbits(64) for _ in range(200))]


@njit(cache=True)
def describe(words, counts, lows, picked):
    """Popcount, lowest bit and all set bits (in order, by `select_bit`) of each word."""
    for i in range(len(words)):
        counts[i] = popcount(words[i])
        lows[i] = lowest(words[i])
        for k in range(counts[i]):
            picked[i, k] = select_bit(words[i], np.uint64(k))


def test_counts_and_finds_set_bits() -> None:
    """Popcount, lowest set bit and k-th set bit are those of the binary digits; the lowest bit of zero is 64."""
    counts = np.zeros(len(WORDS), np.int64)
    lows = np.zeros(len(WORDS), np.int64)
    picked = np.full((len(WORDS), 64), -1, np.int64)
    describe(np.array(WORDS, np.uint64), counts, lows, picked)
    for i, word in enumerate(WORDS):
        bits = [bit for bit in range(64) if word >> bit & 1]
        assert counts[i] == len(bits)
        assert lows[i] == (bits[0] if bits else 64)
        assert picked[i, : len(bits)].tolist() == bits


def test_transposes_a_square_of_bits() -> None:
    """Bit j of word i and bit i of word j change places."""
    block = np.array([RNG.getrandbits(64) for _ in range(64)], np.uint64)
    square = np.unpackbits(block.view(np.uint8), bitorder="little").reshape(64, 64)
    transpose(block)
    assert np.array_equal(np.unpackbits(block.view(np.uint8), bitorder="little").reshape(64, 64), square.T)


def test_aligned_words_start_on_a_cache_line() -> None:
    """Whatever the length, the words are zero and their address is a multiple of 64."""
    for n in (1, 7, 8, 1000):
        words = aligned_words(n)
        assert len(words) == n
        assert words.ctypes.data % 64 == 0
        assert not words.any()
