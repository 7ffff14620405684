"""Teams for a process that plays many matches, one after the other: to find helpers takes seconds.

The cluster is the one that this machine belongs to, or what RAY_ADDRESS says, as for any program that uses Ray.
"""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Callable

from agent.cluster.searching.link import ClusterTeam
from agent.errors import InputError
from agent.search.engine import Engine
from agent.search.team import Team

READY_SECONDS = 180.0
"""How long helpers are waited for: where kernels are missing they have to be compiled. Set by hand; not tuned."""

_idle: dict[int, list[ClusterTeam]] = {}
"""Teams that no engine uses, by the number of helpers."""


def with_helpers(helpers: int, make: Callable[[Team], Engine | None]) -> Engine | None:
    """The engine that `make` makes of a team with so many helpers, all of which are at work.

    The team is free for another engine as soon as this one is no longer used. Raises `InputError` where there are not
    so many helpers.
    """
    if not _idle.get(helpers):
        # Engines are parts of cycles.
        gc.collect()
    idle = _idle.setdefault(helpers, [])
    team = idle.pop() if idle else ClusterTeam(os.environ.get("RAY_ADDRESS", "auto"), helpers)
    if not team.wait(helpers, READY_SECONDS):
        team.close()
        raise InputError(
            f"{helpers} helpers are wanted, and {team.size} are at work after {READY_SECONDS:g} s: is there a Ray "
            "cluster with so many free cores that this process does not use itself? (docs/cluster-match.md)"
        )
    engine = make(team)
    if engine is None:
        idle.append(team)
    else:
        weakref.finalize(engine, idle.append, team)
    return engine
