"""What helpers cost the worker, and what they bring by simulation: `ggp-agent bench --helpers`."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from agent.cluster.searching.messages import pause
from agent.console import print_table
from agent.errors import InputError
from agent.kernels.groups import ALPHA_BETA, CIRCUIT, GROUPS, TREE
from agent.measuring.speed.helper_gain import (
    HELPERS,
    SplitGain,
    TreeGain,
    learnt,
    position_seconds,
    split_gain,
    tree_gain,
)
from agent.search.engine import consider, limited
from agent.search.pvs.preparing.preparation import Preparation
from agent.search.team import Hear, Setting, Team
from agent.search.tree.assistance import RootReport, merged
from agent.search.tree.engine import TreeSearch
from agent.search.tree.root_policy import read_root
from agent.search.tree.scheduler import SLICE_SECONDS
from agent.sheet import load
from games.gdl.compile import compile_rules
from games.gdl.running.machine import CircuitMachine
from games.machine import GameError, State

POSITIONS = 12
"""That each simulation looks at, where there is time for so many."""
TREE_SECONDS = 0.02
"""What a simulated tree gets, so that there is time for all positions."""
BUDGET_SECONDS = 60.0
"""For all of a sheet."""
LEARNING_SHARE, SPLIT_SHARE = 0.1, 0.15
"""Of that, for what alpha-beta learns before, and for its positions; what is left is the trees'. Set by hand; not
tuned."""
MESSAGE_SECONDS = 1.0
"""How long both sides of alpha-beta search before their messages are measured, which are to be as full as in a match: a
table that is touched for the first time makes the first tenths of a second slow."""
LEAST_SECONDS = 0.2
"""How long something is repeated to measure it."""


@dataclass(frozen=True)
class MergeCost:
    """What the worker spends on so many helpers of a search, on one core."""

    helpers: int
    answers_per_second: float
    """Of each helper."""
    milliseconds: float
    """CPU time per helper and second: tree search reads its answers, and adds them up whenever an opinion is formed;
    alpha-beta takes their entries into its table, and writes what it tells in return."""
    share: float
    """Of a core, for all helpers."""
    kilobytes: float
    """Per helper and second, that arrive."""


def bench_helpers(
    files: Sequence[str], seconds: float = TREE_SECONDS, budget: float = BUDGET_SECONDS
) -> dict[str, Any]:
    """Measures and simulates helpers on each sheet, in `budget` seconds, trees getting `seconds` each; prints tables,
    returns them as JSON data. Where time is short, fewer positions are simulated. Raises `InputError` for a sheet that
    cannot be read, or has no circuit."""
    for name in (CIRCUIT, TREE, ALPHA_BETA):
        GROUPS[name].load()
    results: dict[str, Any] = {}
    for file in files:
        end = time.monotonic() + budget
        sheet = load(file)
        try:
            machine = compile_rules(sheet.checked)
        except GameError as error:
            raise InputError(f"{file}: {error}") from None
        costs = merge_costs(machine, 0, seconds)
        _print_costs(f"{sheet.name}, tree search", costs)
        split, split_messages = None, None
        prepared = learnt(machine, 0, LEARNING_SHARE * budget) if len(machine.roles) == 2 else None
        if prepared is not None:
            each = SPLIT_SHARE * budget / POSITIONS
            split_messages = split_costs(machine, 0, prepared, MESSAGE_SECONDS)
            if split_messages is not None:
                _print_costs(f"{sheet.name}, alpha-beta", split_messages)
            split = split_gain(machine, 0, prepared, POSITIONS, each, until=end)
        if split is not None:
            _print_split(sheet.name, split)
        trees = tree_gain(machine, 0, POSITIONS, seconds, until=end)
        _print_trees(sheet.name, trees, seconds, budget)
        results[sheet.name] = {
            "costs": [asdict(cost) for cost in costs],
            "trees": asdict(trees),
            "split": None if split is None else asdict(split),
            "split_costs": None if split_messages is None else [asdict(cost) for cost in split_messages],
        }
    return results


def merge_costs(machine: CircuitMachine, role: int, seconds: float) -> list[MergeCost]:
    """Measures what answers of helpers cost in the initial position, after a search of so many seconds."""
    search = TreeSearch(machine, role, threads=1, memory_bytes=1 << 26, seed=1)
    search.begin(machine.initial())
    consider(search, machine.legal(machine.initial(), role), seconds)
    report = search.report_root()
    if report is None:
        raise InputError("there is nothing to choose in the initial position")
    data = pickle.dumps(report)
    reading = _cpu_seconds(lambda: pickle.loads(data))
    costs = []
    for helpers in HELPERS[1:]:
        reports: tuple[RootReport, ...] = (report,) * helpers

        def add(reports: tuple[RootReport, ...] = reports) -> None:
            merged(read_root(search._tree, role, search._parameters.random_role), reports)

        rate = 1 / pause(helpers)
        adding = _cpu_seconds(add) - _cpu_seconds(lambda: add(()))
        whole = helpers * rate * reading + adding / SLICE_SECONDS
        costs.append(MergeCost(helpers, rate, 1000 * whole / helpers, whole, rate * len(data) / 1000))
    return costs


class _Ear(Team):
    """Keeps what an engine asks, for a helper that answers afterwards."""

    size = 1

    def __init__(self) -> None:
        self.setting: Setting | None = None
        self.hear: Hear | None = None

    def play(self, machine: CircuitMachine, role: int) -> None:
        pass

    def ask(self, setting: Setting, state: State, hear: Hear | None = None) -> None:
        self.setting, self.hear = setting, hear

    def rest(self, setting: Setting) -> None:
        pass

    def answers(self) -> tuple[object, ...]:
        return ()


def split_costs(machine: CircuitMachine, role: int, preparation: Preparation, seconds: float) -> list[MergeCost] | None:
    """Measures what answers of helpers cost alpha-beta in the initial position, after both have searched it for so
    many seconds with what was `learnt`. None where it has nothing to choose there."""
    state, team = machine.initial(), _Ear()
    legal = machine.legal(state, role)
    if len(legal) < 2:
        return None
    engine = preparation.alpha_beta(role, threads=1, team=team)
    engine.begin(state)
    while team.setting is None or team.hear is None:
        # It asks when it has its first opinion.
        consider(engine, legal, seconds)
    assistant, hear = team.setting.assistant(machine, role, 0), team.hear
    assistant.begin(state)
    with limited(np.zeros(1, np.uint8), seconds) as stop:
        assistant.think(stop)
    data = pickle.dumps(assistant.answer())
    answer = _cpu_seconds(lambda: pickle.dumps(hear(pickle.loads(data))))
    costs = []
    for helpers in HELPERS[1:]:
        rate = 1 / pause(helpers)
        costs.append(MergeCost(helpers, rate, 1000 * rate * answer, helpers * rate * answer, rate * len(data) / 1000))
    return costs


def _cpu_seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    times, begin = 0, time.thread_time()
    while time.thread_time() - begin < LEAST_SECONDS:
        work()
        times += 1
    return (time.thread_time() - begin) / times


def _print_costs(name: str, costs: Sequence[MergeCost]) -> None:
    print_table(
        [("helpers", "right"), ("answers/s", "right"), ("CPU ms/s", "right"), ("core", "right"), ("kB/s", "right")],
        [
            [
                str(cost.helpers),
                f"{cost.answers_per_second:.1f}",
                f"{cost.milliseconds:.2f}",
                f"{100 * cost.share:.1f} %",
                f"{cost.kilobytes:.1f}",
            ]
            for cost in costs
        ],
        f"{name}: what helpers cost the worker; answers, CPU time and bytes of each helper",
    )


def _print_trees(name: str, gain: TreeGain, seconds: float, budget: float) -> None:
    if not gain.positions:
        print(
            f"{name}: no position was simulated; one takes {position_seconds(seconds):.0f} s or more,"
            f" and all there is are {budget:g} s (--budget, --seconds)"
        )
        return
    print_table(
        [("helpers", "right"), ("added up", "right"), ("error", "right"), ("one tree", "right")],
        [
            [str(n), f"{100 * gain.apart[n]:.2f}", f"{100 * gain.errors[n]:.2f}", f"{100 * gain.together[n]:.2f}"]
            for n in HELPERS
        ],
        f"{name}, simulated: points that the choice is worse than the best move, mean of {gain.positions} positions"
        f" (of {POSITIONS}) and its standard error, {seconds:g} s a tree; beside, one tree with as many times the time",
    )


def _print_split(name: str, gain: SplitGain) -> None:
    print_table(
        [("helpers", "right"), ("faster", "right")],
        [[str(n), f"{gain.speed[n]:.2f}"] for n in HELPERS],
        f"{name}, simulated: how many times sooner alpha-beta has a depth, at most; {gain.positions} positions (of"
        f" {POSITIONS}) to depth {gain.depth:.1f}, {100 * gain.first_share:.0f} % of the nodes are the first move's",
    )
