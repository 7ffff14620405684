"""Choice of a match's engines, with the memory of earlier matches of its rules and the helpers of a cluster."""

from __future__ import annotations

import logging
from collections.abc import Iterator
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
    """Returns the registry's choice of engines with the match's memory and helpers; None without either."""
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
