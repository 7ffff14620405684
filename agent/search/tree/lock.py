"""The spin lock of a tree that several threads search without the GIL."""

from __future__ import annotations

from numba import njit

from agent.search.tree.store import LOCK
from games.bits.compiling import KERNEL
from games.bits.locks import try_lock, yield_core


@njit(**KERNEL)
def lock(tree):
    """Waits until the tree is this thread's; `unlock(tree.counts, LOCK)` gives it back."""
    spins = 0
    while not try_lock(tree.counts, LOCK):
        spins += 1
        if spins & 63 == 0:
            yield_core()
