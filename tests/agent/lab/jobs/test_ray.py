"""The executor on a Ray cluster of two nodes of one CPU, both on this machine."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.cli import main
from agent.commands.options import OK
from agent.errors import InputError
from agent.helpers.connection import connect
from agent.lab.commands import tournament
from agent.lab.jobs.executor import JobDone, Started, Task
from agent.lab.jobs.inline import InlineExecutor
from agent.lab.jobs.ray_executor import RayExecutor
from tests.agent.lab.jobs.contract import check_losses, check_results
from tests.agent.lab.jobs.jobs import Dice, dice, slower_each_time, thrown
from tests.agent.surroundings import trapped
from tests.ports import refusing_port

ray = pytest.importorskip("ray", reason="needs Ray (the extra `cluster`)")

ROOT = Path(__file__).resolve().parents[4]

pytestmark = [
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores"),
    # Ray leaves processes and sockets to the collector.
    pytest.mark.filterwarnings("ignore"),
]

NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}


@dataclass
class Nodes:
    """A running cluster."""

    cluster: Any
    second: Any
    """A node that may be killed."""

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def kill_second(self) -> None:
        """Kills the node, as a power cut would."""
        self.cluster.remove_node(self.second, allow_graceful=False)

    def start_second(self) -> None:
        """Starts another node in its place."""
        self.second = self.cluster.add_node(**NODE)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """One cluster for all tests, in a folder with a short name, as those of sockets have to be."""
    from ray.cluster_utils import Cluster

    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RAY_TMPDIR", "TMPDIR"):
            patch.setenv(name, folder)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
        cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
        try:
            yield Nodes(cluster, cluster.add_node(**NODE))
        finally:
            ray.shutdown()
            cluster.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def executor(nodes: Nodes) -> Iterator[RayExecutor]:
    """An executor on both nodes, without measuring their speed."""
    with RayExecutor(nodes.address, calibrate=None) as executor:
        yield executor


def test_results_are_those_of_the_seeds(executor: RayExecutor, tmp_path: Path) -> None:
    """Results do not depend on the node; the two nodes use different cores."""
    check_results(executor, tmp_path, 2)


@pytest.mark.ray
def test_lost_jobs_are_run_again_once(executor: RayExecutor, tmp_path: Path) -> None:
    """A killed worker, whose node remains, costs nothing; killed twice, its job is lost."""
    check_losses(executor, tmp_path)


def test_jobs_that_no_node_has_the_cpus_for(executor: RayExecutor, tmp_path: Path) -> None:
    """Jobs that need more CPUs than any node has are wrong input."""
    with pytest.raises(InputError, match="no machine of the cluster has 2 CPUs"):
        executor.check(2)


@pytest.mark.ray
def test_machines_are_compared(nodes: Nodes, tmp_path: Path) -> None:
    """Each machine is measured once, and differences are reported."""
    told: list[str] = []
    with RayExecutor(nodes.address, calibrate=slower_each_time) as executor:
        for _ in range(2):
            (tmp_path / "go").unlink(missing_ok=True)
            tasks = [Task(Dice(seed, wait_for="begun")) for seed in range(2)]
            started = 0
            for event in executor.run(dice(tmp_path), tasks, told.append):
                started += isinstance(event, Started)
                if started == 2:
                    (tmp_path / "go").touch()
    assert sum("of the fastest" in line for line in told) == 4
    assert sum("differ in speed" in line for line in told) == 2
    assert len((Path(os.environ["TMPDIR"]) / "measured").read_text()) == 2


@pytest.mark.ray
def test_table_of_a_tournament_is_that_of_local_processes(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command gives the same table for the same players, games and seed; nothing in its folder is imported."""
    fallen = trapped(tmp_path)
    monkeypatch.chdir(tmp_path)
    command = ["tournament", "tic_tac_toe", "--players", "random:1,legal", "--opening", "1"]
    local, spread = tmp_path / "local.json", tmp_path / "spread.json"
    with monkeypatch.context() as patch:
        patch.setattr(tournament, "executor", lambda *_: InlineExecutor())
        assert main([*command, "--json", str(local)]) == OK
    # No speed is measured, for which every node would load more kernels.
    monkeypatch.setattr(tournament, "executor", lambda options, *_: RayExecutor(options.cluster, calibrate=None))
    assert main([*command, "--cluster", nodes.address, "--json", str(spread)]) == OK
    assert json.loads(spread.read_text()) == json.loads(local.read_text())
    assert not fallen.exists()


@pytest.mark.ray
def test_node_that_is_killed_costs_nothing(nodes: Nodes, tmp_path: Path) -> None:
    """Jobs of a killed node are run again elsewhere; a node that joins meanwhile takes part."""
    told: list[str] = []
    results: dict[int, list[int]] = {}
    places: dict[str, int] = {}
    killed = ""
    tasks = [Task(Dice(seed, wait_for="begun" if seed < 2 else "")) for seed in range(40)]
    with RayExecutor(nodes.address, calibrate=None) as executor:
        for event in executor.run(dice(tmp_path), tasks, told.append):
            if isinstance(event, Started):
                places[event.place] = event.number
                if len(places) == 2 and not killed:
                    nodes.kill_second()
                    killed = "yes"
                    nodes.start_second()
                    (tmp_path / "go").touch()
            else:
                assert isinstance(event, JobDone)
                results.setdefault(event.number, []).append(event.result[1])
    assert results == {seed: thrown(seed) for seed in range(40)}
    assert sum("run again" in line for line in told) == 1


def test_cluster_that_is_not_there() -> None:
    """An unreachable cluster is reported at once, with its address."""
    with refusing_port() as port, pytest.raises(InputError, match=f"127.0.0.1:{port}: no head node .* answers there"):
        connect(f"127.0.0.1:{port}")


@pytest.mark.parametrize("address", ["ray://127.0.0.1:10001", "head"])
def test_address_of_no_cluster(address: str) -> None:
    """The message names the address, and what one looks like."""
    with pytest.raises(InputError, match=f"{address}: .*a cluster is `auto`, or HOST:PORT"):
        connect(address)


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error without Ray says how to install it."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'ggp-agent\[cluster\]'"):
        connect("auto")
