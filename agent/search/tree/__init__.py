"""General tree search on circuits: Monte-Carlo tree search for any number of roles.

The tree: `store` (nodes, edges, transpositions), `proofs`, and `compaction`.

The search: `kernels`, put together from `descent` (selection; `regret` where several roles choose at once),
`expansion` and `backup`, in one thread's `workspace`. Playouts use `decisive` moves and `move_averages`; `threats`
proves wins that they force.

One-player games: `breadth` enumerates states, whatever their step counters (`clock`); `best_lines` keeps the best
matches.

The engine: `scheduler` shares each thread's time, `root_policy` picks the move, `variation` shows the expected line.
"""

from __future__ import annotations

from agent.search.kernel_groups import CIRCUIT, TREE, KernelGroup


def _load() -> None:
    from agent.search.tree.engine import warm_kernels
    from games.gdl.compile import warm_kernels as warm_circuit_kernels

    warm_kernels(warm_circuit_kernels())


KERNELS = KernelGroup(TREE, _load, CIRCUIT, 50, 56.0)
