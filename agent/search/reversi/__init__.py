"""The Reversi engine: exact endings, evaluation by patterns, principal variation search, and the engine around them.

`search` is the family's part of `agent.search.alphabeta`. `analysis` deepens at the root, `engine` plays matches by it,
`problems` solves endings. `weights` holds the evaluation's weights; `training` makes them, and imports all but
`engine`, which uses `training.quick` for boards that have none.
"""

from __future__ import annotations

from agent.search.kernel_groups import KernelGroup


def _load() -> None:
    from agent.search.reversi.engine import warm_kernels

    warm_kernels()


KERNELS = KernelGroup("reversi", _load, None, 20, 6.0)
