"""Cores that a process has to itself, among all processes of this user that claim theirs here.

Ray counts CPUs but does not name them, several of its nodes may be on one machine, and several runs may share a
cluster. So each worker locks a file per core, which the system unlocks however the worker ends.
"""

from __future__ import annotations

import fcntl
import os
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from games.kernel_cache import is_private

PATIENCE = 20.0
"""Seconds to wait for free cores: processes of a killed worker end within a second or two."""


class NoFreeCoresError(Exception):
    """Too few cores are unclaimed."""


@dataclass(frozen=True)
class CoreClaim:
    """Cores that are claimed as long as this object lives."""

    cores: tuple[int, ...]
    files: tuple[IO[bytes], ...]

    def close(self) -> None:
        """Gives them back."""
        for file in self.files:
            file.close()


def claim_cores(count: int, patience: float = PATIENCE) -> CoreClaim:
    """Claims cores of those that this process may run on.

    Raises `NoFreeCoresError` after `patience` seconds.
    """
    available = sorted(os.sched_getaffinity(0))
    end = time.monotonic() + patience
    while True:
        claim = _claim_free(available, count)
        if len(claim.cores) == count:
            return claim
        claim.close()
        if time.monotonic() >= end:
            raise NoFreeCoresError(f"{count} of {len(available)} cores are wanted, and {len(claim.cores)} are free")
        time.sleep(0.1)


def claim_or_share_cores(count: int) -> CoreClaim:
    """Claims free cores of those that this process may run on; where there are too few, shares others."""
    available = sorted(os.sched_getaffinity(0))
    claim = _claim_free(available, count)
    claimed = [core for core in available if core not in claim.cores]
    # At random, as others that find none free share as well.
    shared = random.sample(claimed, count - len(claim.cores))
    return CoreClaim((*claim.cores, *shared), claim.files)


def _claim_free(available: Sequence[int], count: int) -> CoreClaim:
    """Claims up to `count` cores."""
    files: dict[int, IO[bytes]] = {}
    for core in available:
        if len(files) < count and (file := _lock(core)) is not None:
            files[core] = file
    return CoreClaim(tuple(files), tuple(files.values()))


def _lock(core: int) -> IO[bytes] | None:
    try:
        places = (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir())
        folders = (Path(place) / f"ggp-agent-cores-{os.getuid()}" for place in places if os.path.isabs(place))
        folder = next(filter(is_private, folders))
        file = open(folder / str(core), "ab")  # noqa: SIM115 - kept open as long as the core is claimed
    except (OSError, StopIteration):
        # Where nothing can be written without others meddling, their claims are not known.
        return open(os.devnull, "ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
