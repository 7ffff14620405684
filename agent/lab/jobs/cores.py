"""Cores that a process has to itself, among all processes of this user that ask for theirs here.

Ray counts CPUs but does not say which ones they are, several of its nodes may stand on one machine, and several runs
may share a cluster. So each worker locks a file per core, which the system frees however the worker ends.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

PATIENCE = 20.0
"""Seconds to wait for cores that are not free yet: processes of a worker that was killed end within a second or two.
Set by hand; not tuned."""


class NoFreeCoresError(Exception):
    """There are not so many cores that nobody else has claimed."""


@dataclass(frozen=True)
class CoreClaim:
    """Cores that were claimed, for as long as this lives."""

    cores: tuple[int, ...]
    files: tuple[IO[bytes], ...]


def claim_cores(count: int, patience: float = PATIENCE) -> CoreClaim:
    """So many of the cores that this process may run on; others that claim cores do not get them.

    Raises `NoFreeCoresError` after `patience` seconds.
    """
    available = sorted(os.sched_getaffinity(0))
    end = time.monotonic() + patience
    while True:
        files: dict[int, IO[bytes]] = {}
        for core in available:
            if len(files) < count and (file := _lock(core)) is not None:
                files[core] = file
        if len(files) == count:
            return CoreClaim(tuple(files), tuple(files.values()))
        for file in files.values():
            file.close()
        if time.monotonic() >= end:
            raise NoFreeCoresError(f"{count} of {len(available)} cores are wanted, and {len(files)} are free")
        time.sleep(0.1)


def _lock(core: int) -> IO[bytes] | None:
    folder = Path(tempfile.gettempdir()) / f"ggp-agent-cores-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = open(folder / str(core), "ab")  # noqa: SIM115 - held on purpose
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
