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
from agent.search.tree.assistant import TreeSetting
from agent.search.tree.engine import TreeSearch
from agent.search.tree.root_parallelism import RootReport
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


@pytest.mark.ray
def test_a_helper_that_is_killed_comes_back(cluster: Any, new_node: Callable[[], Any]) -> None:
    """Every turn gets an answer, with or without a helper; helpers end with the team."""
    others = helper_processes()
    machine = own_machine("connect_four")
    with closing(ClusterTeam(cluster.address)) as team:
        team.play(machine, 0)
        setting = TreeSetting()
        search = TreeSearch(machine, 0, threads=1, memory_bytes=1 << 24, seed=1, team=team, setting=setting)
        state = machine.initial()
        search.begin(state)

        def play_turn(condition: Callable[[], bool]) -> None:
            """Thinks until a condition holds. The middle column fills up, so that nothing is proven soon: a search
            that has nothing left to find out would end, and helpers rest."""
            nonlocal state
            said: list[Opinion] = []
            stop = np.zeros(1, np.uint8)
            thread = threading.Thread(target=search.think, args=(stop, said.append, UNLIMITED))
            thread.start()
            try:
                until(condition)
            finally:
                stop[0] = 1
                thread.join()
            assert said[-1].move in machine.legal(state, 0)
            joint = [next(m for m in machine.legal(state, role) if m in (("drop", "4"), "noop")) for role in (0, 1)]
            state = machine.next(state, joint)
            search.advance(tuple(joint), state)

        def helped() -> bool:
            """Whether a helper answers this turn's question; every second turn has no choice but `noop`."""
            moves = {machine.move_index(0, move) for move in machine.legal(state, 0)}
            return any(
                isinstance(answer, RootReport) and answer.results > 0 and set(answer.moves.tolist()) == moves
                for answer in team.answers()
            )

        node = new_node()
        play_turn(helped)
        play_turn(helped)
        cluster.remove_node(node, allow_graceful=False)
        play_turn(lambda: team.size == 0)
        new_node()
        play_turn(lambda: team.size == 1)
        play_turn(helped)
        own = helper_processes() - others
        assert own
    until(lambda: not own & helper_processes())


def test_a_cluster_that_is_not_there_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """The match goes on without helpers, and the team looks for them again."""
    with refusing_port() as port, closing(ClusterTeam(f"127.0.0.1:{port}")) as team:
        until(lambda: "no helpers of cluster" in caplog.text)
        assert team.size == 0
