"""Choice of a match's engines: that of a level, or with the memory of earlier matches and the helpers of a cluster."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from agent.worker.gamer import EngineChoice
from agent.worker.messages import Begin
from games.machine import StateMachine

if TYPE_CHECKING:
    # A light worker imports neither kernels nor child processes.
    from agent.search.engine import Engine
    from agent.search.team import Team

log = logging.getLogger(__name__)


def choice_for(begin: Begin) -> EngineChoice | None:
    """Returns the one engine of the match's level, or the registry's choice with the match's memory and helpers; None
    without any of these."""
    if begin.level is not None:
        return partial(_at_level, begin.level)
    folder, rules = begin.memory, begin.start.rules
    team = _team(begin)
    if folder is None and team is None:
        return None

    def choose(machine: StateMachine, role: int) -> Iterator[Engine]:
        from agent.search.learning.memory import SheetMemory, Store
        from agent.search.registry import engines_for

        memory = None if folder is None else SheetMemory(Store(folder), rules, machine.roles)
        return engines_for(machine, role, memory, team)

    return choose


def _at_level(name: str, machine: StateMachine, role: int) -> Iterator[Engine]:
    from agent.search.leveled import LevelSearch
    from agent.search.levels import PREFIX, level_of

    level = level_of(PREFIX + name)
    assert level is not None
    yield LevelSearch(machine, role, level)


def _team(begin: Begin) -> Team | None:
    """Returns helpers, which get ready while the rules are compiled and end with this process; None without."""
    if begin.cluster is None:
        return None
    try:
        from agent.helpers.link import ClusterTeam

        return ClusterTeam(begin.cluster.address, begin.cluster.helpers)
    except Exception:
        log.exception("no helpers")
        return None


def monte_carlo(machine: StateMachine, role: int) -> Iterator[Engine]:
    """Yields the one engine that needs no kernels."""
    from agent.search.montecarlo import MonteCarlo

    yield MonteCarlo(machine, role)
