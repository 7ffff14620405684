"""Outputs of a circuit, as literals over a pool of signals, and the signals that they need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.gdl.circuit.pool import GATE, LOOP, N_SIGNALS

Literals = NDArray[np.int32]


class Outputs(NamedTuple):
    """Outputs of a circuit, as literals."""

    legal: Literals
    """Moves of all roles in a row, in the order of `Circuit.moves`."""
    next: Literals
    """One per fluent."""
    terminal: Literals
    """One element."""
    goal: Literals
    """One per (role, value) in the order of `Circuit.goals`."""
    loop_signal: NDArray[np.int32]
    """The signals of kind `LOOP`."""
    loop_definition: Literals
    """The definition of each `LOOP` signal. Least fixpoint: all loops of a component start false."""

    def mapped(self, literals: Literals) -> Outputs:
        """The outputs in another pool, given the literal there of each signal; loops without one (-1) are dropped."""
        there = literals[self.loop_signal] >= 0
        legal, following, terminal, goal, definition = (
            (literals[some >> 1] ^ (some & 1)).astype(np.int32)
            for some in (self.legal, self.next, self.terminal, self.goal, self.loop_definition[there])
        )
        loops = (literals[self.loop_signal[there]] >> 1).astype(np.int32)
        return Outputs(legal, following, terminal, goal, loops, definition)

    def roots(self) -> tuple[Literals, NDArray[np.int32], Literals]:
        """All outputs in a row, and the loops: arguments of `mark_live`."""
        everything = np.concatenate((self.legal, self.next, self.terminal, self.goal))
        return everything, self.loop_signal, self.loop_definition


@njit(cache=True, nogil=True)
def mark_live(pool, roots, loop_signal, loop_definition):
    """The signals that the roots need (bool[signals]); loops need their definitions.

    `pool` is a `Pool`, `roots` int32[n] are literals, the others are those of `Outputs`.
    """
    n = pool.counts[N_SIGNALS]
    live = np.zeros(n, np.bool_)
    definition = np.full(n, -1, np.int32)
    for i in range(len(loop_signal)):
        definition[loop_signal[i]] = loop_definition[i]
    stack = np.empty(n, np.int32)
    top = 0
    for literal in roots:
        signal = literal >> 1
        if not live[signal]:
            live[signal] = True
            stack[top] = signal
            top += 1
    while top > 0:
        top -= 1
        signal = stack[top]
        if pool.kind[signal] == GATE:
            for i in range(pool.start[signal], pool.start[signal] + pool.size[signal]):
                other = pool.items[i] >> 1
                if not live[other]:
                    live[other] = True
                    stack[top] = other
                    top += 1
        elif pool.kind[signal] == LOOP:
            other = definition[signal] >> 1
            if not live[other]:
                live[other] = True
                stack[top] = other
                top += 1
    return live
