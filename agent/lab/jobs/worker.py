"""The process that carries out jobs one after the other, on cores of its own; the same on one machine and on many."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

from agent.lab.jobs.cores import claim_cores
from agent.lab.jobs.executor import Session
from games.child_process import ChildProcess

Cores: TypeAlias = tuple[int, ...] | int
"""The cores to use, or how many to look for: see `claim_cores`."""


@dataclass(frozen=True)
class Idle:
    """What a worker sends when it waits for a job."""

    cores: tuple[int, ...]
    """That it has to itself."""
    speed: float | None = None
    """Of this machine, measured on request before the first job (see `calibration`)."""


@dataclass(frozen=True)
class Made:
    """What a worker sends for each result of a job."""

    result: Any


@dataclass(frozen=True)
class Failed:
    """What is said of a worker that has ended, or (with `error`) whose work has raised something."""

    reason: str
    error: Exception | None = None


def start_worker(session: bytes, cores: Cores, calibrate: Callable[[], float] | None = None) -> ChildProcess:
    """Starts a worker; it sends `Idle`, takes a job for each `Idle`, and sends `Made` for each of its results.

    `session` is a pickled `Session`. Whatever opening it, or a job, raises is the process's last message, and so is
    `NoFreeCoresError`. To be called in the main thread.
    """
    # Not forked: the caller may have threads that hold locks. It has children because it compiles.
    return ChildProcess(_work, session, cores, calibrate, method="spawn", may_have_children=True)


def pickled(session: Session[Any, Any]) -> bytes:
    """A session as workers get it."""
    return pickle.dumps(session, protocol=5)


def _work(pipe: Connection, session: bytes, cores: Cores, calibrate: Callable[[], float] | None) -> None:
    """A worker's life, until it is ended."""
    # What is claimed is held for as long as this lives.
    claim = claim_cores(cores) if isinstance(cores, int) else None
    mine = claim.cores if claim is not None else cores
    assert isinstance(mine, tuple)
    os.sched_setaffinity(0, mine)
    opened: Session[Any, Any] = pickle.loads(session)
    carry_out = opened.open()
    speed = calibrate() if calibrate is not None else None
    while True:
        pipe.send(Idle(mine, speed))
        for result in carry_out(pipe.recv()):
            pipe.send(Made(result))
