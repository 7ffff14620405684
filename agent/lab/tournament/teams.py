"""Teams of helpers for a process that plays many matches: finding helpers takes seconds.

The cluster is that of this machine, or of RAY_ADDRESS, as for any program that uses Ray.
"""

from __future__ import annotations

import gc
import os
import time
import weakref
from collections import Counter
from collections.abc import Callable

from agent.errors import InputError
from agent.helpers.link import ClusterTeam
from agent.search.engine import Engine
from agent.search.team import Team

READY_SECONDS = 180.0
"""Longest wait for helpers, which may have to compile kernels."""

FREE_SECONDS = 3.0
"""Longest wait for a team that an earlier engine holds, whose threads may take a second to end. A second team would
lack the cores of the first."""

_idle: dict[int, list[ClusterTeam]] = {}
"""Free teams by their number of helpers."""
_teams: Counter[int] = Counter()
"""Number of teams by their number of helpers."""


def with_helpers(helpers: int, make: Callable[[Team], Engine | None]) -> Engine | None:
    """Returns the engine that `make` makes of a team with `helpers` helpers at work.

    The team is free again once the engine is garbage. Raises `InputError` where there are not so many helpers.
    """
    idle = _idle.setdefault(helpers, [])
    end = time.monotonic() + FREE_SECONDS
    while not idle and _teams[helpers] and time.monotonic() < end:
        # Engines are parts of cycles.
        gc.collect()
        time.sleep(FREE_SECONDS / 100)
    if idle:
        team = idle.pop()
    else:
        team = ClusterTeam(os.environ.get("RAY_ADDRESS", "auto"), helpers)
        _teams[helpers] += 1
    if not team.wait(helpers, READY_SECONDS):
        team.close()
        _teams[helpers] -= 1
        raise InputError(
            f"{helpers} helpers are wanted, and {team.size} are at work after {READY_SECONDS:g} s: is there a Ray "
            "cluster with so many free cores that this process does not use itself? (docs/cluster-match.md)"
        )
    engine: Engine | None = None
    try:
        engine = make(team)
    finally:
        if engine is None:
            idle.append(team)
        else:
            weakref.finalize(engine, idle.append, team)
    return engine
