"""Learns the evaluation of any game of two players, for as long as somebody likes to wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import InputError
from agent.search.choosing.preparation import Preparation
from agent.search.engine import StopFlag
from agent.search.learning.learner import Generation, Learner
from agent.search.learning.memory import SheetMemory, Store
from agent.search.subgames.division import find_subgames
from agent.sheet import Sheet
from games import families
from games.gdl.running.machine import CircuitMachine
from games.machine import StateMachine
from games.roles import are_two_players

if TYPE_CHECKING:
    from agent.helpers.link import ClusterTeam

HELPER_SECONDS = 60.0
"""Longest wait for the first helper of a cluster."""


@dataclass(frozen=True)
class Version:
    """A version of the evaluation, a line of the log."""

    seconds: float
    """Since this run began."""
    generation: int
    """Goes on from run to run."""
    matches: int
    """Matches learnt from in this run."""
    figures: Generation
    helpers: int
    """Cores of other machines at work."""

    def as_json(self) -> dict[str, Any]:
        """As JSON data, rounded; the figures beside the others."""
        data = asdict(self)
        data |= data.pop("figures")._asdict()
        return {name: round(value, 4) if isinstance(value, float) else value for name, value in data.items()}


@dataclass(frozen=True)
class Course:
    """Result of a run."""

    generations: int
    """Of all runs."""
    matches: int
    """Of this run."""
    alpha_beta: bool
    """Whether alpha-beta with the evaluation will play the game: it did not lose to tree search."""
    trial_points: float
    trial_matches: int


def learn(
    sheet: Sheet,
    folder: Path,
    seconds: float,
    threads: int,
    cluster: str | None,
    stop: StopFlag,
    tell: Callable[[Version], None],
) -> Course:
    """Learns a sheet for that many seconds or until `stop`, on `threads` cores and those of a cluster.

    It goes on from what the memory in `folder` holds, and keeps the result there.

    Raises `InputError` where there is nothing to learn.
    """
    if sheet.imperfect:
        raise InputError(f"{sheet.name}: only games of perfect information are learnt")
    machine = sheet.machine()
    if (reason := _refusal(machine)) is not None:
        raise InputError(f"{sheet.name}: {reason}")
    assert isinstance(machine, CircuitMachine)
    searched = machine.searched
    memory = SheetMemory(Store(folder), sheet.rulesheet, machine.roles)
    begin = time.monotonic()
    with _helpers(cluster) as team:
        if team is not None:
            team.play(searched, 0)
        preparation = Preparation(searched, threads=threads, seed=time.time_ns() & 0xFFFFFFFF, memory=memory, team=team)

        def told(learner: Learner) -> None:
            latest = learner.latest
            assert latest is not None
            helpers = team.size if team is not None else 0
            tell(Version(time.monotonic() - begin, preparation.generations, learner.matches, latest, helpers))

        learns = preparation.study(seconds, stop, told)
    if not learns:
        raise InputError(f"{sheet.name}: only games whose players take turns, and come to an end, are learnt")
    return Course(
        preparation.generations,
        preparation.matches,
        preparation.prefers_alpha_beta,
        preparation.trials.points,
        preparation.trials.matches,
    )


def _refusal(machine: StateMachine) -> str | None:
    """Returns why nothing can be learnt of a game, for a person; None where it can."""
    if not isinstance(machine, CircuitMachine):
        return "the rules are too large to be compiled; nothing is learnt of such a game"
    for family in families.FAMILIES:
        if family.recognise(machine) is not None:
            return f"{family.title} has an engine and an evaluation of its own"
    if not are_two_players(machine.roles):
        return "only games of two players without chance are learnt"
    if find_subgames(machine.searched):
        return "this game falls into parts, each of which is learnt within a match"
    return None


@contextmanager
def _helpers(cluster: str | None) -> Iterator[ClusterTeam | None]:
    """Yields the helpers of a cluster, at least one at work; None without a cluster. Raises `InputError`."""
    if cluster is None:
        yield None
        return
    from agent.helpers.link import ClusterTeam

    team = ClusterTeam(cluster)
    try:
        if not team.wait(1, HELPER_SECONDS):
            raise InputError(
                f"no helper came from the cluster {cluster} in {HELPER_SECONDS:g} s (docs/cluster-match.md)"
            )
        yield team
    finally:
        team.close()
