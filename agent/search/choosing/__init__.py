"""Choice between alpha-beta and tree search for a game of two, while the start clock runs and between turns.

`preparation` has an evaluation learnt, or recalls that of earlier matches, and plays `trials` of alpha-beta against
tree search on very short clocks. `general` is the engine.
"""

from __future__ import annotations

from agent.search.kernel_groups import ALPHA_BETA, CIRCUIT, KernelGroup


def _load() -> None:
    from agent.search.choosing.general import warm_kernels
    from games.gdl.compile import warm_kernels as warm_circuit_kernels

    warm_kernels(warm_circuit_kernels())


KERNELS = KernelGroup(ALPHA_BETA, _load, CIRCUIT, 11, 47.0)
