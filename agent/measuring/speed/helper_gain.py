"""What helpers bring, on paper: simulated on one core, up to as many as nobody has at hand.

Tree search: many trees of one position are searched one after the other, and their roots added up, as those of so many
helpers would be; what they choose is judged by one tree that gets more time than all of them together. Alpha-beta: an
iteration's cost is measured move by move, in nodes, and shared out among so many searches; the way the messages take,
and bounds that turn out to be wrong, are left out, so that this is what can be had at most.
"""

from __future__ import annotations

import heapq
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from agent.search.alphabeta.table import new_table
from agent.search.engine import StopFlag, consider, limited
from agent.search.pvs.analysis import Searcher, Verdict
from agent.search.pvs.preparing.preparation import Preparation
from agent.search.tree.assistance import merged
from agent.search.tree.engine import TreeSearch
from agent.search.tree.root_policy import RootStatistics, choose, read_root
from games.gdl.running.machine import CircuitMachine
from games.machine import State

HELPERS = (0, 1, 3, 7, 15, 31, 63)
"""Numbers of helpers that are simulated."""
MEMORY = 1 << 26
"""Bytes of a simulated tree."""
OPENING = 8
"""Most random plies before a position."""
FIRST_DEPTH = 3
"""Iterations below are over at once."""


@dataclass
class TreeGain:
    """Regret of what is chosen: by how much better (0..1) the best move is, as a long search has it. Means."""

    positions: int
    """How many there was time for."""
    apart: dict[int, float]
    """By number of helpers: of trees of equal size, added up."""
    errors: dict[int, float]
    """Standard errors of `apart`; nan of a single position."""
    together: dict[int, float]
    """Of one tree with as many times the time."""


@dataclass
class SplitGain:
    """How much sooner the iterations of alpha-beta are over, at most."""

    positions: int
    """How many there was time for."""
    depth: float
    """Mean of the last iterations' depths."""
    first_share: float
    """Share of the nodes that the first move takes: nobody helps with it."""
    speed: dict[int, float]
    """By number of helpers."""


def positions_of(machine: CircuitMachine, role: int, count: int, seed: int) -> Iterator[State]:
    """Positions after random plies in which the role has a choice; none where such are hard to find."""
    rng = random.Random(seed)
    for _ in range(100 * count):
        state = machine.initial()
        for _ in range(rng.randint(0, OPENING)):
            legal = [machine.legal(state, r) for r in range(len(machine.roles))]
            if machine.terminal(state) or not all(legal):
                break
            state = machine.next(state, [rng.choice(moves) for moves in legal])
        if not machine.terminal(state) and len(machine.legal(state, role)) > 1:
            yield state
            count -= 1
            if count == 0:
                return


def position_seconds(seconds: float) -> float:
    """What `tree_gain` takes for a position at least: all trees, one of the time of all, and a judge of twice that."""
    return 3 * (max(HELPERS) + 1) * seconds


def tree_gain(
    machine: CircuitMachine, role: int, positions: int, seconds: float, seed: int = 0, until: float = math.inf
) -> TreeGain:
    """Searches `positions` positions with trees of so many seconds each, one core.

    Begins no position that would take longer than `until`, by `time.monotonic`.
    """
    longest = position_seconds(seconds)
    apart: dict[int, list[float]] = {n: [] for n in HELPERS}
    together: dict[int, list[float]] = {n: [] for n in HELPERS}
    count = 0
    for state in positions_of(machine, role, positions, seed):
        begin = time.monotonic()
        if begin + longest > until:
            break
        count += 1
        one = _tree(machine, role, state, seed)
        snapshots: dict[int, RootStatistics] = {}
        spent = 0
        for n in HELPERS:
            consider_on(one, machine, state, role, seconds * (n + 1 - spent))
            spent = n + 1
            snapshots[n] = _root(one, role)
        # The judge has seen more than any of those that are judged.
        consider_on(one, machine, state, role, seconds * spent)
        judge = _root(one, role)
        values = np.where(judge.proven_goals >= 0, judge.proven_goals, np.where(judge.visits > 0, judge.means, -1.0))
        reports = []
        for n in range(max(HELPERS) + 1):
            other = _tree(machine, role, state, seed + 1 + n)
            consider_on(other, machine, state, role, seconds)
            report = other.report_root()
            assert report is not None
            reports.append((_root(other, role), report))
        rng = random.Random(seed)
        for n in HELPERS:
            alone = choose(snapshots[n], None, 0.0, rng).edge
            own = reports[0][0]
            helped = choose(merged(own, tuple(report for _, report in reports[1 : n + 1])), None, 0.0, rng).edge
            together[n].append(float(values.max() - values[alone]))
            apart[n].append(float(values.max() - values[helped]))
        longest = max(longest, time.monotonic() - begin)
    return TreeGain(count, _means(apart), _errors(apart), _means(together))


def consider_on(engine: TreeSearch, machine: CircuitMachine, state: State, role: int, seconds: float) -> None:
    """Lets a search go on for so many seconds."""
    if seconds > 0:
        consider(engine, machine.legal(state, role), seconds)


def _tree(machine: CircuitMachine, role: int, state: State, seed: int) -> TreeSearch:
    tree = TreeSearch(machine, role, threads=1, memory_bytes=MEMORY, seed=seed)
    tree.begin(state)
    return tree


def _root(tree: TreeSearch, role: int) -> RootStatistics:
    root = read_root(tree._tree, role, tree._parameters.random_role)
    return root._replace(visits=root.visits.copy(), moves=root.moves.copy(), strategy=root.strategy.copy())


def _means(values: dict[int, list[float]]) -> dict[int, float]:
    return {n: float(np.mean(some)) if some else float("nan") for n, some in values.items()}


def _errors(values: dict[int, list[float]]) -> dict[int, float]:
    return {
        n: float(np.std(some, ddof=1) / math.sqrt(len(some))) if len(some) > 1 else math.nan
        for n, some in values.items()
    }


# --------------------------------------------------------------------------------------------------------- alpha-beta


class _Measured(Searcher):
    """Notes what each move of the root costs."""

    costs: dict[int, int]
    iterations: list[list[int]]

    def iterate(
        self,
        order: list[int],
        depth: int,
        stop: StopFlag,
        publish: Callable[[Verdict], None] = lambda verdict: None,
    ) -> int | None:
        self.costs = {}
        score = super().iterate(order, depth, stop, publish)
        if score is not None and depth >= FIRST_DEPTH:
            self.iterations.append(list(self.costs.values()))
        return score

    def score(self, child: int, alpha: int, beta: int, depth: int, stop: StopFlag) -> int | None:
        before = self.nodes
        score = super().score(child, alpha, beta, depth, stop)
        # Children come in the order in which they are searched first.
        self.costs[child] = self.costs.get(child, 0) + self.nodes - before
        return score


@dataclass
class _Sums:
    nodes: float = 0.0
    first: float = 0.0
    spans: dict[int, float] = field(default_factory=lambda: dict.fromkeys(HELPERS, 0.0))


def learnt(machine: CircuitMachine, role: int, seconds: float, seed: int = 0) -> Preparation | None:
    """Learns an evaluation for so many seconds; None where alpha-beta does not suit the game, or has no helpers."""
    preparation = Preparation(machine, role, threads=1, seed=seed)
    preparation.run(machine.initial(), seconds, np.zeros(1, np.uint8), trial=False)
    # Where both choose at once, it is another game that is searched, and never with helpers.
    usable = preparation.evaluation is not None and preparation.searched is machine
    return preparation if usable else None


def split_gain(
    machine: CircuitMachine,
    role: int,
    preparation: Preparation,
    positions: int,
    seconds: float,
    seed: int = 0,
    until: float = math.inf,
) -> SplitGain | None:
    """Searches positions for `seconds` each with what was `learnt`; None where no iteration was over.

    Begins no position that would take longer than `until`, by `time.monotonic`.
    """
    evaluation, features = preparation.evaluation, preparation.features
    assert evaluation is not None
    assert features is not None
    zobrist = np.random.default_rng(seed).integers(0, 1 << 64, len(machine.game.fluents), np.uint64)
    sums, depths = _Sums(), []
    for state in positions_of(machine, role, positions, seed):
        if time.monotonic() + seconds > until:
            break
        searcher = _Measured(machine, features, new_table(64), zobrist)
        searcher.set_evaluation(*evaluation.in_units)
        searcher.iterations = []
        with limited(np.zeros(1, np.uint8), seconds) as stop:
            searcher.analyse(machine.pack(state), stop, lambda verdict: None, confirm=False)
        depths.append(FIRST_DEPTH + len(searcher.iterations) - 1)
        for costs in searcher.iterations:
            sums.nodes += sum(costs)
            sums.first += costs[0]
            for n in HELPERS:
                sums.spans[n] += makespan(costs, n)
    if not sums.nodes:
        return None
    speed = {n: sums.nodes / span for n, span in sums.spans.items()}
    return SplitGain(len(depths), float(np.mean(depths)), sums.first / sums.nodes, speed)


def makespan(costs: Sequence[int], helpers: int) -> float:
    """How long an iteration takes whose moves cost so much, where helpers begin with all but the first one.

    The engine searches the first and then joins them; whoever is free takes the next move.
    """
    free = [0.0] * helpers + [float(costs[0])]
    heapq.heapify(free)
    end = float(costs[0])
    for cost in costs[1:]:
        done = heapq.heappop(free) + cost
        end = max(end, done)
        heapq.heappush(free, done)
    return end
