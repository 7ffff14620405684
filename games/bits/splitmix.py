"""Random numbers for kernels: SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).

A generator is a uint64[1] array, seeded with any number; every draw changes it in place.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from games.bits.compiling import KERNEL


@njit(inline="always")
def _next(generator):
    """The next state of `generator` (uint64[1]), without the last mixing step (uint64)."""
    generator[0] += np.uint64(0x9E3779B97F4A7C15)
    z = generator[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)


@njit(**KERNEL)
def random64(generator):
    """The next 64 random bits (uint64) of `generator` (uint64[1])."""
    z = _next(generator)
    return z ^ (z >> np.uint64(31))


@njit(**KERNEL)
def random32(generator):
    """The next 32 random bits (uint64) of `generator` (uint64[1]).

    The last mixing step improves the low bits only, so it is left out. The result differs from the high bits of
    `random64`.
    """
    return _next(generator) >> np.uint64(32)


@njit(**KERNEL)
def random_below(generator, bound):
    """A random integer (int64) in 0..bound-1, `bound` below 2^31, uniform within 2^-32. `generator` is uint64[1]."""
    return np.int64(((random64(generator) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))
