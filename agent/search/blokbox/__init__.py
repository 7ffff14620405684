"""Search for the Blokbox family.

`engine` runs the tree search (`tree`), guided by values and priors (`guiding`) with shipped `weights`, and beside it an
alpha-beta that proves results (`proving`).
"""

from __future__ import annotations

from agent.search.kernel_groups import KernelGroup


def _load() -> None:
    from agent.search.blokbox.engine import warm_kernels

    warm_kernels()


KERNELS = KernelGroup("blokbox", _load, None, 34, 28.0)
