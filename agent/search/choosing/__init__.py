"""What happens while the start clock runs, and between turns: which search plays a game for two, and how.

`match_series` plays matches on very short clocks (`tally` says how they went), `trial` those of alpha-beta against tree
search, `variants` those of tree search against itself, searching in another way, `guided_playouts` says what is to be
expected of one of these, and `tree_choice` which of them a game wants. `memory` keeps what was learnt for later
matches, `recollection` takes it from there and puts it there, and `preparation` does all that, and has an evaluation
learnt in between.
Imported by `agent.search.choosing.general`: `preparation`; `memory` by whoever makes the engine of a match
(`agent.search.registry`, `agent.worker.session`).
"""

from __future__ import annotations

from agent.search.kernel_groups import ALPHA_BETA, TREE, KernelGroup


def _load() -> None:
    from agent.search.learning.warming import warm_kernels
    from games.gdl.compile import warm_kernels as warm_circuit_kernels

    warm_kernels(warm_circuit_kernels())


KERNELS = KernelGroup(ALPHA_BETA, _load, TREE, 11, 9.5)
