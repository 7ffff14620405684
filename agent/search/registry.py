"""Which engines there are, and which of them play a given game."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TypeAlias

from agent.search.engine import Engine
from agent.search.montecarlo import MonteCarlo
from agent.search.tree import engine as tree
from games.families import FAMILIES
from games.gdl.compile import warm_kernels
from games.machine import StateMachine

log = logging.getLogger(__name__)

EngineFactory: TypeAlias = Callable[[StateMachine, int], Engine | None]
"""Makes an engine for one role (by index) of the game that a machine plays; None where the game is not its kind."""

_NATIVE = [import_module(f"agent.search.{family.name}.engine") for family in FAMILIES]

NATIVE_FACTORIES: list[EngineFactory] = [module.make_engine for module in _NATIVE]
"""Those of the native families."""

FACTORIES: list[EngineFactory] = [*NATIVE_FACTORIES, tree.make_engine, MonteCarlo]
"""Best first: native families, tree search on the circuit, Monte-Carlo search on any machine."""


def engines_for(machine: StateMachine, role: int) -> Iterator[Engine]:
    """The engines that can play a game, best first; each is made only when it is asked for."""
    for factory in FACTORIES:
        try:
            engine = factory(machine, role)
        except Exception:
            log.exception("%s cannot say whether it plays this game", factory)
            continue
        if engine is not None:
            yield engine


def warm_up() -> None:
    """Compiles all kernels or loads them from the cache, so that no match has to wait for them."""
    tree.warm_kernels(warm_kernels())
    for module in _NATIVE:
        module.warm_kernels()
