"""Search for the Blokbox family, and how it learns.

`engine` runs the tree search (`tree`), guided by values and priors (`guiding`), and beside it an alpha-beta that proves
results (`proving`). `training` makes the weights that `weights` holds. `guiding` imports none of the others; `proving`
and `weights` import `guiding`, `tree` imports `guiding`, and `training` imports all but `proving` and `engine`.
"""

from __future__ import annotations

from agent.search.kernel_groups import KernelGroup


def _load() -> None:
    from agent.search.blokbox.engine import warm_kernels

    warm_kernels()


KERNELS = KernelGroup("blokbox", _load, None, 39, 11.0)
