"""Planning for games of one player: what a tree search hardly finds, a goal at the end of a long line.

`circuit` reads a compiled game as lists of gates; `independence` finds moves whose order does not matter; `unrolling`
states plans as a `formula` for clasp, clingo's solver; `planner` has it solved for more and more steps. `rollouts` are
nested rollouts whose policy adapts. Both find a `plan`, and run by turns in a `process` of their own; `engine` plays
what they find out, with a tree search beside them. Imports `tree`, nothing else of `agent.search` but the contract.
"""

from __future__ import annotations

from agent.search.kernel_groups import PLANNING, TREE, KernelGroup


def _load() -> None:
    from agent.search.planning.rollouts import warm_kernels
    from games.gdl.compile import warm_kernels as warm_circuit_kernels

    warm_kernels(warm_circuit_kernels())


KERNELS = KernelGroup(PLANNING, _load, TREE, 2, 1.0)
