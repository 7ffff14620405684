"""Teams for a process that plays many matches, one after the other: to find helpers takes seconds.

The cluster is the one that this machine belongs to, or what RAY_ADDRESS says, as for any program that uses Ray.
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
"""How long helpers are waited for: where kernels are missing they have to be compiled. Set by hand; not tuned."""

FREE_SECONDS = 3.0
"""How long a team that an engine has is waited for: what that one has left running may take a second to end. A second
team would have to do without the cores that the first one's helpers have. Set by hand; not tuned."""

_idle: dict[int, list[ClusterTeam]] = {}
"""Teams that no engine uses, by the number of helpers."""
_teams: Counter[int] = Counter()
"""How many there are, by the number of helpers."""


def with_helpers(helpers: int, make: Callable[[Team], Engine | None]) -> Engine | None:
    """The engine that `make` makes of a team with so many helpers, all of which are at work.

    The team is free for another engine as soon as this one is no longer used. Raises `InputError` where there are not
    so many helpers.
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
