"""The actor that looks after one worker on a node of a Ray cluster."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent.lab.jobs.worker import Idle, JobFailed, Made, start_worker
from games.child_process import ChildLostError, ChildProcess
from games.kernel_cache import sources_digest


@dataclass(frozen=True)
class NodeReport:
    """Properties of a node, asked for before it gets workers."""

    host: str
    sources: str
    """Digest of the agent's sources: results are the same only where these are."""
    python: str
    compile_seconds: float
    """Seconds of compiling kernels; about 0 where they were in the cache."""


class NodeActor:
    """Has at most one worker. Methods return when there is news; none raises."""

    def __init__(self) -> None:
        self._worker: ChildProcess | None = None

    def examine(self, kernels: tuple[str, ...]) -> NodeReport:
        """Compiles missing groups of kernels, once for all workers of the node."""
        begin = time.monotonic()
        _compile(kernels)
        python = ".".join(map(str, sys.version_info[:3]))
        return NodeReport(socket.gethostname(), sources_digest(), python, time.monotonic() - begin)

    def open(self, session: bytes, cores: int, calibrate: Callable[[], float] | None) -> Idle | Made | JobFailed:
        """Starts a worker, after ending the one before; returns when it waits for a job."""
        self.close()
        self._worker = start_worker(session, cores, calibrate)
        return self.receive()

    def begin(self, job: Any) -> Idle | Made | JobFailed:
        """Gives the worker a job; returns its first message."""
        assert self._worker is not None
        try:
            self._worker.send(job)
        except ChildLostError as error:
            return JobFailed(f"a worker {error}")
        return self.receive()

    def receive(self) -> Idle | Made | JobFailed:
        """Returns the worker's next message."""
        assert self._worker is not None
        try:
            message: Idle | Made = self._worker.receive()
        except ChildLostError as error:
            return JobFailed(f"a worker {error}")
        except Exception as error:
            return JobFailed(str(error), error)
        return message

    def close(self) -> None:
        """Ends the worker."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None


def _compile(kernels: tuple[str, ...]) -> None:
    if kernels:
        # Imported here: most tests of executors compile nothing.
        from agent.kernels.progress import prepare

        prepare(kernels).close()
