"""The groups of kernels: kernels that are used together are compiled together, ahead of their first use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from games import families

if TYPE_CHECKING:
    from games.machine import StateMachine

CIRCUIT = "circuit"
"""From ground rules to the steps of a match."""

TREE = "tree"
"""Tree search, for any number of players."""

PLANNING = "planning"
"""The planner, for one player."""

ALPHA_BETA = "alpha-beta"
"""Alpha-beta on circuits, for two players."""

GENERAL = (CIRCUIT, TREE, PLANNING, ALPHA_BETA)
"""The groups that any game may need; each native family has another one."""

PLAYOUTS = "playouts"
"""Long runs of random playouts: for benchmarks and descriptions of games, never for a match."""


@dataclass(frozen=True, slots=True)
class KernelGroup:
    """Kernels that are used together. An engine's folder declares its own, as `KERNELS`."""

    name: str
    load: Callable[[], None]
    """Compiles all of them in this process, or loads them from the cache."""
    after: str | None = None
    """The group most of whose kernels these call: compiled first, so that few are compiled twice."""
    specialisations: int = 1
    """Number to be compiled. Used, like `cost`, to estimate the time left."""
    cost: float = 1.0
    """CPU seconds of compilation, on some machine."""


def kernel_groups() -> dict[str, KernelGroup]:
    """All groups by name, in the order in which they are compiled."""
    engines = ("agent.search.tree", "agent.search.planning", "agent.search.choosing")
    found = [
        KernelGroup(CIRCUIT, _load_circuit, None, 81, 32.0),
        *(import_module(engine).KERNELS for engine in engines),
        *(import_module(family.engine).KERNELS for family in families.FAMILIES),
        KernelGroup(PLAYOUTS, _load_playouts, CIRCUIT, 9, 6.0),
    ]
    return {group.name: group for group in found}


def playing() -> tuple[str, ...]:
    """The names of the groups that matches need."""
    return tuple(name for name in kernel_groups() if name != PLAYOUTS)


def needed_for(machine: StateMachine) -> tuple[str, ...]:
    """The names of the groups that the engine which plays this game needs."""
    from games.gdl.running.machine import CircuitMachine

    if isinstance(machine, CircuitMachine):
        for family in families.FAMILIES:
            if family.recognise(machine) is not None:
                return CIRCUIT, family.name
    by_roles = {1: (PLANNING,), 2: (ALPHA_BETA,)}
    return CIRCUIT, TREE, *by_roles.get(len(machine.roles), ())


def _load_circuit() -> None:
    from games.gdl.compile import warm_kernels

    warm_kernels()


def _load_playouts() -> None:
    from games.gdl.compile import warm_kernels

    warm_kernels().random_playouts(playouts=1)
