"""Choice of a match's engines: that of a level, or with the memory of earlier matches and the helpers of a cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from agent.playing.messages import Begin
from agent.search.engine import Engine
from agent.search.learning.memory import SheetMemory, Store
from agent.search.leveled import LevelSearch
from agent.search.levels import PREFIX, level_of
from agent.search.registry import engines_for
from agent.search.team import Team
from games.machine import StateMachine

log = logging.getLogger(__name__)

EngineChoice: TypeAlias = Callable[[StateMachine, int], Iterator[Engine]]
"""Gives the engines that can play a game in a role, best first."""


def choice_for(begin: Begin) -> EngineChoice:
    """Returns the one engine of the match's level, or the registry's choice with the match's memory and helpers."""
    if begin.level is not None:
        return partial(_at_level, begin.level)
    folder, rules = begin.memory, begin.start.rules
    team = _team(begin)

    def choose(machine: StateMachine, role: int) -> Iterator[Engine]:
        memory = None if folder is None else SheetMemory(Store(folder), rules, machine.roles)
        return engines_for(machine, role, memory, team)

    return choose


def _at_level(name: str, machine: StateMachine, role: int) -> Iterator[Engine]:
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
