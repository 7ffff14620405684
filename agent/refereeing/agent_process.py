"""This agent as a player of a match that this process referees."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp

from agent.errors import PlayerStartError
from agent.search.kernel_groups import GENERAL
from games.child_process import ChildProcess

HOST = "127.0.0.1"

AVAILABLE_SECONDS = 600.0
"""Seconds until a new agent process must be available. The first start compiles kernels, which may take minutes."""

ANNOUNCE_AFTER = 3.0
"""Seconds of waiting after which the user is told."""

ANSWER_SECONDS = 1.0
"""Seconds to wait for an answer of the process before it is asked again."""

END_SECONDS = 5.0
"""Seconds from SIGTERM to SIGKILL."""

LONG_SECONDS = 30 * 86_400
"""Seconds for which a patient agent keeps a silent match."""

TAIL = 4096
"""Bytes of a failed process's last output that are shown."""


class AgentProcess:
    """`ggp-agent serve` on a free port; ends with its context, or with this process."""

    def __init__(self, memory: Path | None = None, *, patient: bool = False, level: str | None = None) -> None:
        """Starts the process. `memory` is the folder of its learning memory, None for none; `patient` is for matches
        with a player without a clock; for `level` see `ggp-agent serve --help`. Raises `OSError`."""
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port = probe.getsockname()[1]
        self.url = f"http://{HOST}:{port}"
        # In memory, as nothing may be writable.
        self._output = open(os.memfd_create("output"), "w+b")  # noqa: SIM115 - closed with the process
        remembering = ("--no-memory",) if memory is None else ("--memory", str(memory))
        waiting = ("--silence", str(LONG_SECONDS)) if patient else ()
        playing = () if level is None else ("--level", level)
        arguments = ("serve", "--host", HOST, "--port", str(port), "--workers", "1", *waiting, *remembering, *playing)
        # An interrupt at the keyboard is for the referee alone, which then sends ABORT.
        self._process = ChildProcess(
            *("agent.cli:run", *arguments),
            method="spawn",
            ended_by=signal.SIGTERM,
            errors=self._output.fileno(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process."""
        self._process.end(signal.SIGTERM, END_SECONDS)
        self._output.close()

    async def wait_until_available(self, announce: Callable[[str], None], kernels: Collection[str] = GENERAL) -> None:
        """Waits until the agent can begin a match with these groups of kernels; calls `announce` if that takes long.

        Raises `PlayerStartError`.
        """
        started = time.monotonic()
        announced = False
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(ANSWER_SECONDS)) as session:
            while True:
                if self._process.status is not None:
                    raise PlayerStartError(f"the agent's process ended at once:\n{self._tail()}")
                with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                    async with session.get(f"{self.url}/healthz") as answer:
                        if set(kernels) <= set((await answer.json())["kernels"]):
                            return
                waited = time.monotonic() - started
                if waited > AVAILABLE_SECONDS:
                    raise PlayerStartError(f"the agent was not available after {waited:.0f} s:\n{self._tail()}")
                if waited > ANNOUNCE_AFTER and not announced:
                    announce("waiting for the agent to become available ...")
                    announced = True
                await asyncio.sleep(0.05)

    def _tail(self) -> str:
        self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, self._output.tell() - TAIL))
        return self._output.read().decode(errors="replace")
