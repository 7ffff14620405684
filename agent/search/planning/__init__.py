"""Planning for games of one player: finds goals at the end of long lines, which tree search hardly reaches.

`planner` solves formulas with more and more steps: `unrolling` states plans as a `formula` for clasp, clingo's solver.
For that, `gate_lists` are a circuit's gates in Python; `independence` finds moves whose order does not matter, and
`move_choices` moves that are several choices at once.
`rollouts` are nested rollouts with an adapting policy. Both yield a `plan` and share a `process`; `engine` plays the
plans, with a tree search beside it.
"""

from __future__ import annotations

from agent.search.kernel_groups import CIRCUIT, PLANNING, KernelGroup


def _load() -> None:
    from agent.search.planning.rollouts import warm_kernels
    from games.gdl.compile import warm_kernels as warm_circuit_kernels

    warm_kernels(warm_circuit_kernels())


KERNELS = KernelGroup(PLANNING, _load, CIRCUIT, 3, 4.0)
