"""Tree search with helpers: separate trees of one root, whose root statistics are added up.

Root parallelisation (Cazenave and Jouandeau 2007; Chaslot et al. 2008): a helper reports visits and goals of the root's
edges, a few numbers per legal move, several times a second. The trees differ by their random numbers only. Where roles
choose at once, summed strategies give the average over all trees. A proof in any tree is a proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.search.team import Setting, Team
from agent.search.tree.best_lines import BestLines
from agent.search.tree.root_policy import RootStatistics
from agent.search.tree.workspace import Parameters
from games.machine import State


@dataclass(frozen=True, eq=False)
class Judgement:
    """Parameters that an engine learns as it searches."""

    horizon: int
    """See `Parameters` for all fields."""
    weights: NDArray[np.float32]
    bias: NDArray[np.float64]
    exploration: NDArray[np.float64]
    draws: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RootReport:
    """A helper's statistics of the root; see `RootStatistics`."""

    moves: NDArray[np.int32]
    visits: NDArray[np.float64]
    totals: NDArray[np.float64]
    """Sums of the goals, 0..1."""
    strategy: NDArray[np.float64]
    proven_goals: NDArray[np.float64]
    proven: bool
    value: float
    results: float
    line: tuple[tuple[int, ...], float] | None = None
    """Best match of a single player: indices of its moves, and its goal (0..1)."""
    solved: bool = False
    """Whether the line is proven to be the best possible."""

    def fits(self, root: RootStatistics) -> bool:
        """Whether the report is of this root, and plausible."""
        columns = (self.visits, self.totals, self.strategy, self.proven_goals)
        return (
            np.array_equal(self.moves, root.moves)
            and all(column.shape == root.visits.shape and bool(np.isfinite(column).all()) for column in columns)
            and bool((self.visits >= 0).all() and (self.totals >= 0).all() and (self.strategy >= 0).all())
            # Other threads were writing when counts were read.
            and bool((self.totals <= self.visits + 1024).all())
            and bool((self.proven_goals <= 1).all() and math.isfinite(self.value) and 0 <= self.value <= 1)
            and math.isfinite(self.results)
            and self.results >= 0
        )


def report_of(root: RootStatistics, line: tuple[tuple[int, ...], float] | None, solved: bool) -> RootReport:
    """The report of a root and of the best line of a single player, which may be `solved`."""
    return RootReport(
        root.moves.copy(),
        root.visits.copy(),
        root.means * root.visits,
        root.strategy.copy(),
        root.proven_goals.copy(),
        root.proven,
        root.value,
        root.results,
        line,
        solved and line is not None,
    )


def merged(root: RootStatistics, reports: tuple[object, ...]) -> RootStatistics:
    """The root's statistics together with those of the helpers' reports that fit."""
    for report in reports:
        if isinstance(report, RootReport) and report.fits(root):
            root = _merged(root, report)
    return root


def _merged(root: RootStatistics, report: RootReport) -> RootStatistics:
    visits = root.visits + report.visits
    proven_goals = np.maximum(root.proven_goals, report.proven_goals)
    strategy = visits if root.strategy is root.visits else root.strategy + report.strategy
    total = root.means * root.visits + report.totals
    proven = root.proven or report.proven
    if root.proven or report.proven:
        value = root.value if root.proven else report.value
    else:
        both = root.results * root.value + report.results * report.value
        value = both / max(1.0, root.results + report.results)
    return root._replace(
        visits=visits,
        strategy=strategy,
        means=total / np.maximum(visits, 1),
        proven_goals=proven_goals,
        proven=proven,
        value=value,
        results=root.results + report.results,
    )


class RootParallelism:
    """A tree search's connection to its helpers; does nothing without a team."""

    def __init__(self, team: Team | None, setting: Setting | None, parameters: Parameters) -> None:
        """`parameters` are the search's; they change as it learns. Raises `ValueError` for a team without a setting."""
        if team is not None and setting is None:
            raise ValueError("a team needs a setting")
        self._team = team
        self._setting = setting
        self._parameters = parameters
        self._passed_on: tuple[bytes, ...] | None = None

    @contextmanager
    def asked(self, state: State) -> Iterator[None]:
        """Makes helpers search a state meanwhile."""
        if self._team is None or self._setting is None:
            yield
            return
        self._passed_on = None
        with self._team.searching(self._setting, state, self._hear):
            yield

    @property
    def info(self) -> dict[str, object]:
        """Entries for `Opinion.info`."""
        return {} if self._team is None else {"helpers": self._team.size}

    def add(self, root: RootStatistics, lines: BestLines) -> RootStatistics:
        """The root's statistics with the helpers' added; notes their lines for a single player."""
        answers = () if self._team is None else self._team.answers()
        for answer in answers:
            if isinstance(answer, RootReport) and answer.line is not None and answer.fits(root):
                moves, goal = answer.line
                lines.add(moves, goal)
                if answer.solved:
                    lines.limit(goal)
        return merged(root, answers)

    def _hear(self, answer: object) -> Judgement | None:
        """Replies with the newest parameters, if they have changed."""
        parameters = self._parameters
        judge = (parameters.horizon, parameters.judge_weights, parameters.judge_bias)
        learnt = tuple(array.tobytes() for array in (*judge, parameters.exploration, parameters.draws))
        if learnt == self._passed_on:
            return None
        self._passed_on = learnt
        return Judgement(
            int(parameters.horizon[0]),
            parameters.judge_weights.copy(),
            parameters.judge_bias.copy(),
            parameters.exploration.copy(),
            parameters.draws.copy(),
        )
