"""The groups of kernels: what is compiled together because it is used together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module

from games.families import FAMILIES


@dataclass(frozen=True, slots=True)
class KernelGroup:
    """Kernels that are used together."""

    name: str
    load: Callable[[], None]
    """Makes this process compile all of them, or load them from the cache."""
    after: str | None
    """The group whose kernels these call: compiled first, so that none is compiled twice."""
    specialisations: int
    """About how many there are to compile. This and the next are for estimates of the time left only, and were read off
    the files that `agent.kernels.state` keeps."""
    cost: float
    """About how long that takes, in CPU seconds of some machine."""


def _load_circuit() -> None:
    from games.gdl.compile import warm_kernels

    warm_kernels()


def _load_tree() -> None:
    from agent.search.planning.engine import warm_kernels as warm_planning_kernels
    from agent.search.tree.engine import warm_kernels
    from games.gdl.compile import warm_kernels as warm_circuit_kernels

    warm_kernels(warm_circuit_kernels())
    warm_planning_kernels(warm_circuit_kernels())


def _load_alpha_beta() -> None:
    from agent.search.pvs.learning.warming import warm_kernels
    from games.gdl.compile import warm_kernels as warm_circuit_kernels

    warm_kernels(warm_circuit_kernels())


def _load_family(name: str) -> None:
    import_module(f"agent.search.{name}.engine").warm_kernels()


def _load_playouts() -> None:
    from games.gdl.compile import warm_kernels

    warm_kernels().random_playouts(playouts=1)


CIRCUIT = "circuit"
"""From ground rules to the steps of a match: with these, any game can be played decently."""

TREE = "tree"
"""The general engine for any number of players."""

ALPHA_BETA = "alpha-beta"
"""Alpha-beta for two-player games on the circuit."""

PLAYOUTS = "playouts"
"""Long runs of random playouts: what benchmarks and descriptions of games need, and no match."""

_FAMILY_COSTS = {"reversi": (20, 6.0), "blokbox": (39, 11.0)}

GROUPS = {
    group.name: group
    for group in (
        KernelGroup(CIRCUIT, _load_circuit, None, 114, 13.0),
        KernelGroup(TREE, _load_tree, CIRCUIT, 29, 9.0),
        KernelGroup(ALPHA_BETA, _load_alpha_beta, TREE, 11, 9.5),
        *(
            KernelGroup(family.name, partial(_load_family, family.name), None, *_FAMILY_COSTS[family.name])
            for family in FAMILIES
        ),
        KernelGroup(PLAYOUTS, _load_playouts, CIRCUIT, 3, 1.0),
    )
}
"""By name, in the order in which they are compiled."""

PLAYING = tuple(name for name in GROUPS if name != PLAYOUTS)
"""What matches need."""
