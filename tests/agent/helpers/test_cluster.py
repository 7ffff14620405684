"""A real Ray cluster of two nodes on this machine: helpers come, vanish, return, and end with the match."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.helpers.link import ClusterTeam
from agent.search.engine import UNLIMITED, Opinion
from agent.search.evaluation.network import linear_evaluation
from agent.search.pvs.engine import AlphaBetaSearch
from agent.search.pvs.splitting import Findings
from agent.search.team import Hear, Setting
from games.machine import State
from tests.agent.search.features import features_of
from tests.circuits import own_machine
from tests.ports import refusing_port
from tests.processes import until

ray: Any = pytest.importorskip("ray", reason="needs Ray")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without cores."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield cluster
    cluster.shutdown()


@pytest.fixture
def new_node(cluster: Any) -> Iterator[Callable[[], Any]]:
    """Adds a node that may use all cores but one, which this process keeps to."""
    cores = os.sched_getaffinity(0)
    if len(cores) < 2:
        pytest.skip("needs two cores")

    def add() -> Any:
        os.sched_setaffinity(0, cores)
        try:
            return cluster.add_node(num_cpus=1)
        finally:
            os.sched_setaffinity(0, {min(cores)})

    os.sched_setaffinity(0, {min(cores)})
    yield add
    os.sched_setaffinity(0, cores)


def helper_processes() -> set[int]:
    """Process IDs of helpers: Ray names processes after the actor's class."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "cmdline").read_bytes().startswith(b"ray::_Actor"):
                found.add(int(folder.name))
    return found


class Counted(ClusterTeam):
    """Counts the findings of helpers."""

    findings = 0

    def ask(self, setting: Setting, state: State, hear: Hear) -> None:
        def count(answer: object) -> object:
            self.findings += isinstance(answer, Findings)
            return hear(answer)

        super().ask(setting, state, count)


@pytest.mark.ray
def test_a_helper_that_is_killed_comes_back(cluster: Any, new_node: Callable[[], Any]) -> None:
    """Every turn gets an answer, with or without a helper; helpers end with the team."""
    others = helper_processes()
    machine = own_machine("connect_four")
    with closing(Counted(cluster.address)) as team:
        team.play(machine, 0)
        features = features_of(machine)
        search = AlphaBetaSearch(machine, 0, features, threads=1, megabytes=1, team=team)
        search.use(linear_evaluation(np.random.default_rng(1).normal(0, 0.05, features.n), 0.0))
        state = machine.initial()

        def play_turn(condition: Callable[[], bool]) -> None:
            """Thinks until a condition holds. The middle column fills up, so that nothing is proven soon: a search
            that has nothing left to find out would end, and helpers rest."""
            nonlocal state
            said: list[Opinion] = []
            stop = np.zeros(1, np.uint8)
            search.begin(state)
            team.findings = 0
            thread = threading.Thread(target=search.think, args=(stop, said.append, UNLIMITED))
            thread.start()
            try:
                until(condition)
            finally:
                stop[0] = 1
                thread.join()
            assert said[-1].move in machine.legal(state, 0)
            for _ in range(2):
                joint = [next(m for m in machine.legal(state, role) if m in (("drop", "4"), "noop")) for role in (0, 1)]
                state = machine.next(state, joint)

        node = new_node()
        play_turn(lambda: team.findings > 0)
        cluster.remove_node(node, allow_graceful=False)
        play_turn(lambda: team.size == 0)
        new_node()
        play_turn(lambda: team.size == 1 and team.findings > 0)
        own = helper_processes() - others
        assert own
    until(lambda: not own & helper_processes())


def test_a_cluster_that_is_not_there_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """The match goes on without helpers, and the team looks for them again."""
    with refusing_port() as port, closing(ClusterTeam(f"127.0.0.1:{port}")) as team:
        until(lambda: "no helpers of cluster" in caplog.text)
        assert team.size == 0
