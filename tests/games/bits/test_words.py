"""Word-level bit operations against Python integers."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numba import njit

from games.bits.words import (
    HAS_DEPOSIT,
    aligned_words,
    deposit,
    lowest,
    popcount,
    select_bit,
    select_bit_by_bytes,
    transpose,
)

RNG = random.Random(1)
WORDS = [0, 1, 1 << 63, (1 << 64) - 1, 0xF0F0, *(RNG.getrandbits(64) & RNG.getrandbits(64) for _ in range(200))]


@njit(cache=True)
def describe(words, counts, lows, picked, picked_by_bytes):
    """Popcount, lowest bit and all set bits (in order, by both ways to select them) of each word."""
    for i in range(len(words)):
        counts[i] = popcount(words[i])
        lows[i] = lowest(words[i])
        for k in range(counts[i]):
            picked[i, k] = select_bit(words[i], np.uint64(k))
            picked_by_bytes[i, k] = select_bit_by_bytes(words[i], np.uint64(k))


@njit(cache=True)
def deposit_all(words, masks, results):
    """`deposit` of each word by each mask."""
    for i in range(len(words)):
        for k in range(len(masks)):
            results[i, k] = deposit(words[i], masks[k])


def plain_popcount(word: int) -> int:
    """The twin of `popcount`."""
    return f"{word:b}".count("1")


def plain_lowest(word: int) -> int:
    """The twin of `lowest`."""
    return next((bit for bit in range(64) if word >> bit & 1), 64)


def plain_deposit(bits: int, mask: int) -> int:
    """The twin of `deposit`."""
    places = [bit for bit in range(64) if mask >> bit & 1]
    return sum((bits >> k & 1) << place for k, place in enumerate(places))


def test_counts_and_finds_set_bits() -> None:
    """Popcount, lowest set bit and k-th set bit are those of the binary digits; the lowest bit of zero is 64."""
    counts = np.zeros(len(WORDS), np.int64)
    lows = np.zeros(len(WORDS), np.int64)
    picked = np.full((len(WORDS), 64), -1, np.int64)
    picked_by_bytes = picked.copy()
    describe(np.array(WORDS, np.uint64), counts, lows, picked, picked_by_bytes)
    for i, word in enumerate(WORDS):
        bits = [bit for bit in range(64) if word >> bit & 1]
        assert counts[i] == plain_popcount(word) == len(bits)
        assert lows[i] == plain_lowest(word)
        assert picked[i, : len(bits)].tolist() == bits
        assert picked_by_bytes[i, : len(bits)].tolist() == bits


@pytest.mark.skipif(not HAS_DEPOSIT, reason="needs a machine with BMI2")
def test_deposits_bits() -> None:
    """The low bits come to the places set in the mask, in order."""
    masks = WORDS[:20]
    results = np.zeros((len(WORDS), len(masks)), np.uint64)
    deposit_all(np.array(WORDS, np.uint64), np.array(masks, np.uint64), results)
    assert results.tolist() == [[plain_deposit(word, mask) for mask in masks] for word in WORDS]


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
