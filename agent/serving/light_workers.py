"""Light workers: processes without kernels, which have legal moves a moment after their start.

After a crash the matches of the journal wait for one. It is started before the server process imports anything else, so
this module imports little.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from agent.processes import module_environment
from agent.search.kernel_groups import playing
from games.memory import machine_memory

if TYPE_CHECKING:
    import asyncio

log = logging.getLogger(__name__)

LIGHT = frozenset({*playing(), "light"})
"""Kernels that a light worker lacks: more than any other worker, so any other is better."""

SPARES = 2
"""Worker processes beside those of the matches: a warm one and a light one."""

WORKERS_SHARE = 0.8
"""The workers' share of the memory; the rest is for the server, the page, and kernels being compiled."""

MIN_MEMORY = 2 << 30
"""Least bytes for a worker with its children: tables and groundings of large games fit."""

JOURNAL_SUFFIX = ".match.jsonl"
"""File name suffix of the journal's files."""


def memory_share(workers: int) -> int:
    """Returns the bytes for each worker process with its children; there are at most `workers + SPARES`."""
    return max(MIN_MEMORY, int(machine_memory() * WORKERS_SHARE) // (workers + SPARES))


def too_little_memory(workers: int) -> str:
    """Returns a line for the user where the least shares exceed the memory; else the empty text."""
    wanted, found = MIN_MEMORY * (workers + SPARES) / WORKERS_SHARE, machine_memory()
    if found >= wanted:
        return ""
    return (
        f"{workers} matches at a time may need {wanted / 1e9:.0f} GB of memory, and {found / 1e9:.1f} GB are there: "
        "where it runs out, the kernel ends processes of matches, not the server"
    )


def start_early(journal: Path | None, workers: int) -> list[subprocess.Popen[bytes]]:
    """Starts a light worker for each match of the journal, `workers` at most; fewer if one cannot be started."""
    if journal is None:
        return []
    count = min(workers, len(list(journal.glob(f"*{JOURNAL_SUFFIX}"))))
    started: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            started.append(start_process(memory_share(workers), LIGHT))
    except OSError as error:
        log.error("a worker cannot be started: %s", error)
    return started


def start_process(memory: int, without: Collection[str]) -> subprocess.Popen[bytes]:
    """Starts a worker process of `memory` bytes, with its children, that lacks some groups of kernels.

    Without all of `LIGHT`, it is warm as soon as it runs. It leads a session of its own, so that keyboard interrupts do
    not reach it, and its process group has just its children. Raises `OSError`.
    """
    arguments = [f"--memory={memory}", f"--server={os.getpid()}", f"--without={','.join(without)}"]
    if frozenset(without) >= LIGHT:
        arguments.append("--light")
    return subprocess.Popen(
        [sys.executable, "-m", "agent.worker.main", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=module_environment(),
        start_new_session=True,
    )


class Adopted:
    """A worker process and its pipes in the running event loop."""

    def __init__(
        self, process: subprocess.Popen[bytes], stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader
    ) -> None:
        self.pid = process.pid
        self.stdin = stdin
        self.stdout = stdout
        self._process = process

    async def end(self) -> None:
        """Ends the process and its children, and waits for its end."""
        import asyncio

        # Only `wait` reaps it: until then, nobody else has its number.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            await asyncio.to_thread(self._process.wait)


async def adopt(process: subprocess.Popen[bytes]) -> Adopted:
    """Connects a process's pipes to the running event loop; ends it if that fails."""
    import asyncio

    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    try:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), process.stdout)
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, process.stdin)
    except BaseException:
        process.kill()
        process.wait()
        raise
    return Adopted(process, asyncio.StreamWriter(transport, protocol, None, loop), reader)
