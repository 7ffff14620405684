"""Light workers: processes without kernels, which have legal moves a moment after their start.

After a crash the matches of the journal wait for one. It is started before the server process imports anything else, so
this module imports little.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent.processes import module_environment
from agent.search.kernel_groups import playing

if TYPE_CHECKING:
    import asyncio

log = logging.getLogger(__name__)

LIGHT = frozenset({*playing(), "light"})
"""Kernels that a light worker lacks: more than any other worker, so any other is better."""

MIN_MEMORY = 2 << 30
"""Least bytes of address space for a worker: compiled kernels reserve much more than they use."""

JOURNAL_SUFFIX = ".match.jsonl"
"""File name suffix of the journal's files."""


def memory_share(workers: int) -> int:
    """Returns the bytes of address space for each of the workers and their spare."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(MIN_MEMORY, int(physical * 0.8) // (workers + 1))


def start_early(journal: Path | None, workers: int) -> list[subprocess.Popen[bytes]]:
    """Starts a light worker for each match of the journal, `workers` at most; fewer if one cannot be started."""
    if journal is None:
        return []
    count = min(workers, len(list(journal.glob(f"*{JOURNAL_SUFFIX}"))))
    arguments = ("-m", "agent.worker.main", f"--memory={memory_share(workers)}", f"--server={os.getpid()}", "--light")
    started: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            started.append(
                subprocess.Popen(
                    [sys.executable, *arguments],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=module_environment(),
                    start_new_session=True,
                )
            )
    except OSError as error:
        log.error("a worker cannot be started: %s", error)
    return started


class Adopted:
    """A process started before the event loop, with the interface of `asyncio.subprocess.Process`."""

    def __init__(
        self, process: subprocess.Popen[bytes], stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader
    ) -> None:
        self.pid = process.pid
        self.stdin = stdin
        self.stdout = stdout
        self._process = process

    async def wait(self) -> int:
        """Waits for the end of the process; returns its exit status."""
        import asyncio

        return await asyncio.to_thread(self._process.wait)


async def adopt(process: subprocess.Popen[bytes]) -> Adopted:
    """Connects a process's pipes to the running event loop."""
    import asyncio

    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), process.stdout)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, process.stdin)
    return Adopted(process, asyncio.StreamWriter(transport, protocol, None, loop), reader)
