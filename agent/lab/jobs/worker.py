"""The process that carries out jobs, one after the other, on cores of its own."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

from agent.lab.jobs.cores import claim_cores
from agent.lab.jobs.executor import JobSession
from games.child_process import ChildProcess

Cores: TypeAlias = tuple[int, ...] | int
"""The cores to use, or a number of cores to claim (see `claim_cores`)."""


@dataclass(frozen=True)
class Idle:
    """Message of a worker that waits for a job."""

    cores: tuple[int, ...]
    """Cores that it has to itself."""
    speed: float | None = None
    """Speed of this machine, measured on request before the first job (see `calibration`)."""


@dataclass(frozen=True)
class Made:
    """Message with a result of a job."""

    result: Any


@dataclass(frozen=True)
class JobFailed:
    """The end of a worker, or (with `error`) of its job."""

    reason: str
    error: Exception | None = None


def start_worker(session: bytes, cores: Cores, calibrate: Callable[[], float] | None = None) -> ChildProcess:
    """Starts a worker; it sends `Idle`, takes a job for each `Idle`, and sends `Made` for each of its results.

    `session` is a pickled `JobSession`. An error of opening it or of a job is the process's last message, and so is
    `NoFreeCoresError`. To be called in the main thread.
    """
    # Not forked: the caller may have threads that hold locks.
    return ChildProcess(_work, session, cores, calibrate, method="spawn")


def pickled(session: JobSession[Any, Any]) -> bytes:
    """Returns a session as workers get it."""
    return pickle.dumps(session, protocol=5)


def _work(pipe: Connection, session: bytes, cores: Cores, calibrate: Callable[[], float] | None) -> None:
    """Runs in the worker, until it is ended."""
    # Cores are claimed for as long as this object lives.
    claim = claim_cores(cores) if isinstance(cores, int) else None
    mine = claim.cores if claim is not None else cores
    assert isinstance(mine, tuple)
    os.sched_setaffinity(0, mine)
    opened: JobSession[Any, Any] = pickle.loads(session)
    carry_out = opened.open()
    speed = calibrate() if calibrate is not None else None
    while True:
        pipe.send(Idle(mine, speed))
        for result in carry_out(pipe.recv()):
            pipe.send(Made(result))
