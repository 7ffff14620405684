"""Jobs on the nodes of a Ray cluster.

Each worker is looked after by an actor, which is bound to a node and holds the CPUs of a job. Ray does not restart
actors: a restarted one would not know its job.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agent.errors import InputError
from agent.helpers.connection import connect, disconnect
from agent.lab.jobs.calibration import measure_speed, warning
from agent.lab.jobs.cores import NoFreeCoresError
from agent.lab.jobs.crew import carry_out
from agent.lab.jobs.executor import Event, Executor, Job, JobSession, LostWorkerError, Result, Task, Tell, place_text
from agent.lab.jobs.node_actor import NodeActor, NodeReport
from agent.lab.jobs.worker import Idle, JobFailed, Made, pickled
from agent.search.kernel_groups import CIRCUIT, PLAYOUTS
from games.kernel_cache import sources_digest

LOOK_SECONDS = 2.0
"""Seconds between two looks at the nodes of the cluster."""

PATIENCE = 120.0
"""Seconds without a worker after which a run gives up."""

MAX_FAILURES = 3
"""Workers that a node may lose before they begin; then it gets no more."""


class RayExecutor(Executor):
    """Carries out jobs on all nodes of a cluster with enough CPUs, also on those that join later."""

    def __init__(
        self, address: str, *, jobs: int | None = None, calibrate: Callable[[], float] | None = measure_speed
    ) -> None:
        """`address` is `HOST:PORT` or `auto`; at most `jobs` jobs run at a time (None: as many as there are CPUs for).

        `calibrate` measures the speed of a machine; can be pickled. Raises `InputError`, see `connection.connect`.
        """
        self._ray = connect(address)
        self._jobs = jobs
        self._calibrate = calibrate
        self._speeds: dict[str, float] = {}

    def check(self, cores: int) -> None:
        """Raises `InputError` where no node has that many CPUs."""
        nodes = self._ray.nodes()
        if not any(_cpus(node) >= cores for node in nodes if node["Alive"]):
            raise InputError(
                f"no machine of the cluster has {cores} CPUs for a job; there are "
                + ", ".join(f"{node['NodeManagerHostname']} with {_cpus(node)}" for node in nodes if node["Alive"])
            )

    def run(
        self, session: JobSession[Job, Result], tasks: Sequence[Task[Job]], tell: Tell = lambda line: None
    ) -> Generator[Event[Result], None, None]:
        """See `Executor.run`."""
        self.check(session.cores)
        crew = _RayCrew(self._ray, session, self._jobs, self._calibrate, self._speeds, tell)
        return carry_out(crew, tasks, tell)

    def close(self) -> None:
        """Leaves the cluster."""
        disconnect()


@dataclass(eq=False)
class _Node:
    """A machine of the cluster; Ray may have several nodes on one."""

    key: str
    """Ray's identifier."""
    name: str
    room: int
    """Number of workers that it has CPUs for."""
    ready: bool = False
    """Whether its first worker has begun, and others may be started."""
    failures: int = 0
    not_before: float = 0.0
    """Time from which on it may get a worker again; it may be about to leave the cluster."""
    workers: list[_RayWorker] = field(default_factory=list)


@dataclass(eq=False)
class _RayWorker:
    """A worker with its actor."""

    node: _Node
    actor: Any
    phase: Literal["examining", "opening", "idle", "busy"]
    pending: Any
    """Reference to the actor's next message."""
    place: str
    task: int | None = None


class _RayCrew:
    """The workers of a run (see `crew.Crew`)."""

    def __init__(
        self,
        ray: Any,
        session: JobSession[Any, Any],
        jobs: int | None,
        calibrate: Callable[[], float] | None,
        speeds: dict[str, float],
        tell: Tell,
    ) -> None:
        """`speeds` are those of known nodes, by key; new ones are added."""
        self._ray = ray
        self._cores = session.cores
        self._kernels = session.kernels
        if calibrate is not None and session.kernels:
            self._kernels += tuple(group for group in (CIRCUIT, PLAYOUTS) if group not in session.kernels)
        # In the object store, from which each node fetches it once.
        self._session = ray.put(pickled(session))
        self._jobs = jobs
        self._calibrate = calibrate
        self._speeds = speeds
        self._tell = tell
        self._actor = ray.remote(num_cpus=session.cores, max_restarts=0)(NodeActor)
        self._nodes: dict[str, _Node] = {}
        self._names: dict[str, int] = {}
        self._looked = -LOOK_SECONDS
        self._manned = time.monotonic()
        """Time at which there was last a worker."""
        self._warned = ""
        """The last warning about speeds."""

    # ------------------------------------------------------------------------------------------------------- the crew

    def grow(self, waiting: int) -> None:
        self._look()
        workers = self._workers()
        free = sum(worker.task is None for worker in workers)
        total = len(workers)
        # A worker on each node before a second one on any.
        for node in sorted(self._nodes.values(), key=lambda node: len(node.workers)):
            if node.not_before > time.monotonic():
                continue
            while (
                free < waiting
                and (self._jobs is None or total < self._jobs)
                and len(node.workers) < (node.room if node.ready else min(1, node.room))
            ):
                self._start(node)
                free, total = free + 1, total + 1
        if total:
            self._manned = time.monotonic()
        elif time.monotonic() - self._manned > PATIENCE or (
            self._nodes and all(node.room == 0 for node in self._nodes.values())
        ):
            raise LostWorkerError("no machine of the cluster is left that could go on")

    def idle(self) -> list[_RayWorker]:
        return [worker for worker in self._workers() if worker.phase == "idle"]

    def begin(self, worker: _RayWorker, job: Any) -> None:
        worker.phase = "busy"
        worker.pending = worker.actor.begin.remote(job)

    def messages(self) -> list[tuple[_RayWorker, Idle | Made | JobFailed]]:
        pending = {worker.pending: worker for worker in self._workers() if worker.phase != "idle"}
        if not pending:
            time.sleep(LOOK_SECONDS / 10)
            return []
        ready, _ = self._ray.wait(list(pending), num_returns=1, timeout=LOOK_SECONDS, fetch_local=True)
        if ready:
            ready, _ = self._ray.wait(list(pending), num_returns=len(pending), timeout=0, fetch_local=True)
        found = []
        for reference in ready:
            worker = pending[reference]
            message = self._get(worker)
            if worker.phase == "busy":
                self._go_on(worker, message)
                found.append((worker, message))
            elif worker.phase == "examining":
                self._examined(worker, message)
            else:
                self._opened(worker, message)
        return found

    def dismiss_idle(self) -> None:
        for worker in self.idle():
            self._end(worker)

    def end(self) -> None:
        for worker in self._workers():
            self._end(worker)

    # --------------------------------------------------------------------------------------------- nodes and workers

    def _workers(self) -> list[_RayWorker]:
        return [worker for node in self._nodes.values() for worker in node.workers]

    def _look(self) -> None:
        """Notes nodes that have joined or are gone."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        alive = {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"]}
        for key, known in list(self._nodes.items()):
            # Workers report their own loss.
            if key not in alive and not known.workers:
                self._tell(f"{known.name} has left the cluster")
                del self._nodes[key]
        for key, found in alive.items():
            room = _cpus(found) // self._cores
            if key not in self._nodes and room:
                host = found["NodeManagerHostname"]
                self._names[host] = number = self._names.get(host, 0) + 1
                name = host if number == 1 else f"{host}#{number}"
                self._nodes[key] = _Node(key, name, room)

    def _start(self, node: _Node) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        where = NodeAffinitySchedulingStrategy(node.key, soft=False)
        actor = self._actor.options(scheduling_strategy=where).remote()
        if node.ready or node.key in self._speeds:
            worker = _RayWorker(node, actor, "opening", actor.open.remote(self._session, self._cores, None), node.name)
        else:
            worker = _RayWorker(node, actor, "examining", actor.examine.remote(self._kernels), node.name)
        node.workers.append(worker)

    def _get(self, worker: _RayWorker) -> Any:
        """Returns an actor's message; `JobFailed` where it is gone. Raises the error of a job."""
        try:
            message = self._ray.get(worker.pending)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause or error from None
        except self._ray.exceptions.RayError as error:
            self._end(worker)
            worker.node.not_before = time.monotonic() + LOOK_SECONDS
            self._looked = time.monotonic() - LOOK_SECONDS / 2
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            return JobFailed(f"the worker there is lost ({type(error).__name__})", _Gone(lines[-1] if lines else ""))
        return message

    def _go_on(self, worker: _RayWorker, message: Idle | Made | JobFailed) -> None:
        """Acts on a message of a busy worker. Raises the error of its job."""
        if isinstance(message, Made):
            worker.pending = worker.actor.receive.remote()
        elif isinstance(message, Idle):
            worker.phase = "idle"
        elif message.error is None:
            # The process is lost, its actor is not: it starts another one.
            worker.phase = "opening"
            worker.pending = worker.actor.open.remote(self._session, self._cores, None)
        elif not isinstance(message.error, _Gone):
            raise message.error

    def _examined(self, worker: _RayWorker, report: NodeReport | JobFailed) -> None:
        node = worker.node
        if isinstance(report, JobFailed):
            self._failed(worker, report)
        elif report.sources != sources_digest():
            self._refuse(node, "has another version of ggp-agent installed")
        else:
            if report.compile_seconds >= 1:
                self._tell(f"{node.name} has compiled its kernels in {report.compile_seconds:.0f} s")
            worker.phase = "opening"
            worker.pending = worker.actor.open.remote(self._session, self._cores, self._calibrate)

    def _opened(self, worker: _RayWorker, message: Idle | Made | JobFailed) -> None:
        node = worker.node
        if isinstance(message, Idle):
            worker.phase = "idle"
            worker.place = place_text(node.name, message.cores)
            if not node.ready:
                node.ready, node.failures = True, 0
                self._count_in(node, message.speed)
        elif isinstance(message, JobFailed):
            self._failed(worker, message)

    def _count_in(self, node: _Node, speed: float | None) -> None:
        if speed is not None:
            self._speeds[node.key] = speed
        known = {key: self._speeds[key] for key in self._nodes if key in self._speeds}
        share = f", at {100 * known[node.key] / max(known.values()):.0f} % of the fastest" if node.key in known else ""
        self._tell(f"{node.name} plays: {node.room} at a time{share}")
        text = warning((self._nodes[key].name, value) for key, value in known.items())
        if text is not None and text != self._warned:
            self._warned = text
            self._tell(text)

    def _failed(self, worker: _RayWorker, message: JobFailed) -> None:
        """Acts on a worker that could not begin. Raises the error of opening the session."""
        node = worker.node
        self._end(worker)
        if isinstance(message.error, NoFreeCoresError):
            node.room = len(node.workers)
            self._tell(
                f"{node.name}: {message.error}, although the cluster counts more; {node.room} are used at a time"
            )
        elif message.error is not None and not isinstance(message.error, _Gone):
            raise message.error
        else:
            node.failures += 1
            detail = f": {message.error}" if message.error is not None else ""
            self._tell(f"{node.name}: {message.reason} before it could begin{detail}")
            if node.failures >= MAX_FAILURES:
                self._refuse(node, f"has lost {node.failures} workers before they could begin")

    def _refuse(self, node: _Node, reason: str) -> None:
        self._tell(f"{node.name} is left out: it {reason}")
        node.room = 0
        for worker in list(node.workers):
            if worker.task is None:
                self._end(worker)

    def _end(self, worker: _RayWorker) -> None:
        if worker in worker.node.workers:
            worker.node.workers.remove(worker)
            self._ray.kill(worker.actor, no_restart=True)


class _Gone(Exception):
    """An actor is gone, and its process with it."""


def _cpus(node: dict[str, Any]) -> int:
    return int(node["Resources"].get("CPU", 0))
