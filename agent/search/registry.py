"""The engines, and which of them plays a given game."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import TypeAlias

import numpy as np

from agent.search.choosing import general
from agent.search.engine import Engine
from agent.search.kernel_groups import ALPHA_BETA, GENERAL, PLANNING, TREE, kernel_groups
from agent.search.lean import on_lean
from agent.search.learning.memory import SheetMemory
from agent.search.montecarlo import MonteCarlo
from agent.search.planning import engine as planning
from agent.search.team import Team
from agent.search.tree import engine as tree
from games import families
from games.gdl.running.machine import CircuitMachine
from games.machine import StateMachine

log = logging.getLogger(__name__)

EngineFactory: TypeAlias = Callable[[StateMachine, int], Engine | None]
"""Makes an engine for one role (by index) of the game that a machine plays; None where the game is not its kind."""

ENTRY_POINTS = "ggp_agent.engines"
"""Entry points of engines from other packages: the name of the engine, and an `EngineFactory`."""


_held_back: frozenset[str] = frozenset()
_loaded: set[str] = set()


@cache
def plugged_in() -> dict[str, EngineFactory]:
    """The factories of other packages' engines, by name, in the order of names.

    One that cannot be imported is logged and left out.
    """
    found: dict[str, EngineFactory] = {}
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            found[point.name] = point.load()
        except Exception:
            log.exception("the engine %s (%s) cannot be loaded", point.name, point.value)
    return found


def native_factories() -> dict[str, EngineFactory]:
    """The factories of the native families, by name."""
    return {family.name: import_module(f"{family.engine}.engine").make_engine for family in families.FAMILIES}


def engines_for(
    machine: StateMachine, role: int, memory: SheetMemory | None = None, team: Team | None = None
) -> Iterator[Engine]:
    """The engines that can play a game, best first; each is made, and its kernels loaded, when it is asked for.

    Engines of other packages come first, then native families, then alpha-beta or tree search for two players, the
    planner for one, tree search for any number, and Monte-Carlo search on any machine, which needs no kernels. It alone
    goes on where one of several roles has no legal move: for the others, searches on circuits, the match ends there.
    `memory` is for engines that learn, `team` for alpha-beta, which searches and learns with helpers.
    """
    if team is not None and isinstance(machine, CircuitMachine):
        team.play(machine.searched, role)
    ours: dict[str, EngineFactory] = {
        **native_factories(),
        ALPHA_BETA: on_lean(partial(general.make_engine, memory=memory, team=team)),
        PLANNING: on_lean(planning.make_engine),
        TREE: on_lean(tree.make_engine),
    }
    factories = {**{f"engine {name}": factory for name, factory in plugged_in().items()}, **ours}
    stuck: bool | None = None
    for group, factory in factories.items():
        if group in _held_back:
            continue
        try:
            if group in (ALPHA_BETA, TREE):
                stuck = gets_stuck(machine) if stuck is None else stuck
                if stuck:
                    continue
            engine = factory(machine, role)
            if engine is not None and group in ours:
                _load(group)
        except Exception:
            log.exception("%s cannot say whether it plays this game", group)
            continue
        if engine is not None:
            yield engine
    yield MonteCarlo(machine, role)


def gets_stuck(machine: StateMachine) -> bool:
    """Whether in random matches one of several roles has no legal move before the end."""
    if not isinstance(machine, CircuitMachine) or len(machine.roles) == 1:
        return False
    found = machine.sample
    legal, _ = machine.legal_of(found.states[(found.joint[:, 0] < 0) & ~found.terminal])
    return not all(part.any(axis=1).all() for part in np.split(legal, machine.programs.role_start[1:-1], axis=1))


def warm_up(without: Collection[str] = ()) -> None:
    """Compiles the kernels that every game needs, or loads them from the cache, so that no match waits for them.

    Native families load theirs with their first game. This process uses no engine whose group is named in `without`.
    """
    global _held_back
    _held_back = frozenset(without)
    plugged_in()
    native_factories()
    for group in GENERAL:
        if group not in _held_back:
            _load(group)


def _load(group: str) -> None:
    if group not in _loaded:
        kernel_groups()[group].load()
        _loaded.add(group)
