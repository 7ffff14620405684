"""The random generator against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from games.bits.splitmix import random32, random64, random_below

MASK = (1 << 64) - 1


def plain_splitmix(state: int) -> tuple[int, int, int]:
    """The next state, 32 bits as `random32` draws them, and 64 bits as the reference implementation does."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    z = state
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return state, z >> 32, z ^ (z >> 31)


def test_known_sequence() -> None:
    """The published first numbers of seed 1234567."""
    generator = np.array([1234567], np.uint64)
    assert [int(random64(generator)) for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@pytest.mark.parametrize("seed", [0, 1, MASK, 0x123456789ABCDEF])
def test_agrees_with_its_definition(seed: int) -> None:
    """All three ways of drawing take one step each."""
    generator, state = np.array([seed], np.uint64), seed
    for bound in (1, 2, 7, 1000, (1 << 31) - 1):
        state, bits32, _ = plain_splitmix(state)
        assert int(random32(generator)) == bits32
        state, _, bits64 = plain_splitmix(state)
        assert int(random64(generator)) == bits64
        state, _, bits64 = plain_splitmix(state)
        assert random_below(generator, bound) == (bits64 >> 32) * bound >> 32
        assert int(generator[0]) == state
