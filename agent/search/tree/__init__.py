"""General tree search on circuits: Monte-Carlo tree search for any number of roles.

`store` holds the tree (nodes, edges, transpositions), `proofs` what is proven in it, `workspace` what one thread works
on, `kernels` the search itself, put together from `batch` and `descent` (selection; `regret` where several roles choose
at once), `expansion` (leaves and their children) and `backup`, with the `lock` for threads that share a tree;
`compaction` drops what a match has left behind, and makes room in a full tree. `judge` fits a linear evaluation that
takes the place of long playouts, `decisive` knows the moves of playouts that win or do not lose at once, and
`move_averages` how well the others did. `breadth` enumerates the states of one-player games, `best_lines` keeps the
best matches of a single player, `assistance` adds up what helpers elsewhere have found. `scheduler` shares each
thread's time among all that, `root_policy` picks the move, and `engine` is the engine contract; nothing else is
imported from outside but `judge`, and what `agent.search.choosing.variants` has to know of `move_averages`.
"""

from __future__ import annotations

from agent.search.kernel_groups import CIRCUIT, TREE, KernelGroup


def _load() -> None:
    from agent.search.tree.engine import warm_kernels
    from games.gdl.compile import warm_kernels as warm_circuit_kernels

    warm_kernels(warm_circuit_kernels())


KERNELS = KernelGroup(TREE, _load, CIRCUIT, 29, 9.0)
