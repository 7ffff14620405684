"""The spin lock of a tree that several threads search without the GIL."""

from __future__ import annotations

from agent.search.tree.store import LOCK
from games.bits.inner import inner_kernel
from games.bits.locks import try_lock, yield_core


@inner_kernel()
def lock(counts):
    """Waits for the lock; `unlock(counts, LOCK)` releases it. `counts` is a `SearchTree`'s."""
    spins = 0
    while not try_lock(counts, LOCK):
        spins += 1
        if spins & 63 == 0:
            yield_core()
