"""Alpha-beta for the Reversi family.

`search` has the family's steps of `agent.search.alphabeta`: `endings` play the last cells exactly, `evaluation` judges
by `patterns`, `stability`, `selectivity` and the `table` cut, `ordering` sorts moves. `analysis` deepens at the root,
`engine` plays matches. `weights` are the shipped ones; `training.quick` makes some for boards without any.
"""

from __future__ import annotations

from agent.search.kernel_groups import KernelGroup


def _load() -> None:
    from agent.search.reversi.engine import warm_kernels

    warm_kernels()


KERNELS = KernelGroup("reversi", _load, None, 16, 15.0)
