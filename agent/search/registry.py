"""Which engines there are, and which of them play a given game."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import TypeAlias

from agent.kernels.groups import ALPHA_BETA, CIRCUIT, GROUPS, TREE
from agent.search import general
from agent.search.engine import Engine
from agent.search.montecarlo import MonteCarlo
from agent.search.planning import engine as planning
from agent.search.pvs.preparing.memory import SheetMemory
from agent.search.team import Team
from agent.search.tree import engine as tree
from games.families import FAMILIES
from games.gdl.running.machine import CircuitMachine
from games.machine import StateMachine

log = logging.getLogger(__name__)

EngineFactory: TypeAlias = Callable[[StateMachine, int], Engine | None]
"""Makes an engine for one role (by index) of the game that a machine plays; None where the game is not its kind."""

_NATIVE = {family.name: import_module(f"agent.search.{family.name}.engine").make_engine for family in FAMILIES}

NATIVE_FACTORIES: list[EngineFactory] = list(_NATIVE.values())
"""Those of the native families."""


def _make_tree(machine: StateMachine, role: int, team: Team | None = None) -> Engine | None:
    return planning.make_engine(machine, role, team) or tree.make_engine(machine, role, team)


_FACTORIES: dict[str, EngineFactory] = {**_NATIVE, ALPHA_BETA: general.make_engine, TREE: _make_tree}
"""Best first: native families, alpha-beta or tree search on the circuit for two players, tree search for any number
(with a planner for one); each by the group of its kernels."""

ENTRY_POINTS = "ggp_agent.engines"
"""Where other packages announce engines: the name of an entry point is the engine's, what it refers to is an
`EngineFactory`."""

_held_back: frozenset[str] = frozenset()
_loaded: set[str] = set()


@cache
def plugged_in() -> dict[str, EngineFactory]:
    """The factories of engines that other packages have announced, by name, in the order of names.

    One that cannot be imported is left out, and the log says why.
    """
    found: dict[str, EngineFactory] = {}
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            found[point.name] = point.load()
        except Exception:
            log.exception("the engine %s (%s) cannot be loaded", point.name, point.value)
    return found


def engines_for(
    machine: StateMachine, role: int, memory: SheetMemory | None = None, team: Team | None = None
) -> Iterator[Engine]:
    """The engines that can play a game, best first; each is made, and its kernels loaded, when it is asked for.

    Those of other packages come first: whoever installs one wants it to play. After the others comes Monte-Carlo search
    on any machine, which needs no kernels. `memory` is what earlier matches of the game have left, for engines that
    learn; `team` searches with those engines on circuits that can make use of it.
    """
    if team is not None and isinstance(machine, CircuitMachine):
        team.play(machine, role)
    ours: dict[str, EngineFactory] = {
        **_FACTORIES,
        ALPHA_BETA: partial(general.make_engine, memory=memory, team=team),
        TREE: partial(_make_tree, team=team),
    }
    factories = {**{f"engine {name}": factory for name, factory in plugged_in().items()}, **ours}
    for group, factory in factories.items():
        if group in _held_back:
            continue
        try:
            engine = factory(machine, role)
            if engine is not None and group in ours:
                _load(group)
        except Exception:
            log.exception("%s cannot say whether it plays this game", group)
            continue
        if engine is not None:
            yield engine
    yield MonteCarlo(machine, role)


def warm_up(without: Collection[str] = ()) -> None:
    """Compiles the kernels that every game needs or loads them from the cache, so that no match has to wait for them.

    Those of the native families follow when one of their games is met. Engines of the groups of kernels named in
    `without` are not used by this process.
    """
    global _held_back
    _held_back = frozenset(without)
    plugged_in()
    for group in (CIRCUIT, TREE, ALPHA_BETA):
        if group not in _held_back:
            _load(group)


def _load(group: str) -> None:
    if group not in _loaded:
        GROUPS[group].load()
        _loaded.add(group)
