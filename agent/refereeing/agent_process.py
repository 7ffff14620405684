"""This agent as a player of a match that this process referees."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp

from agent.errors import PlayerStartError
from agent.search.kernel_groups import GENERAL
from agent.web.access import new_token
from games.child_process import Bounds, ChildProcess
from games.memory import machine_memory
from protocol.client import PlayerClient
from protocol.compose import Style

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


MOST_AGENTS, AGENT_MEMORY = 8, 1 << 30
"""Most agents at once on any machine, and bytes of memory for each: six processes, with a match, the next one's and the
server's own."""


def too_many(agents: int, beside: int = 0) -> str:
    """Returns why a match's agents cannot play, where there are others `beside` them; empty where they can."""
    most = max(2, min(MOST_AGENTS, machine_memory() // AGENT_MEMORY))
    if not agents or agents + beside <= most:
        return ""
    others = f", and {beside} play in other matches" if beside else ""
    return (
        f"{agents} agents are too many: this machine runs {most} at once{others}. Choose other players for some roles"
    )


@dataclass(frozen=True)
class Share:
    """A part of this machine for one of several agents: of its memory, and of the cores that this process may use."""

    number: int = 0
    """The part's number, from 0."""
    of: int = 1
    """Number of parts."""

    @property
    def memory(self) -> int:
        """Bytes."""
        return machine_memory() // self.of

    @property
    def cores(self) -> list[int]:
        """One at least, which others may have as well."""
        all_cores = sorted(os.sched_getaffinity(0))
        first, end = (len(all_cores) * number // self.of for number in (self.number, self.number + 1))
        return all_cores[first : max(end, first + 1)]


WHOLE = Share()


class AgentProcess:
    """`ggp-agent serve` on a free port; ends with its context, or with this process."""

    def __init__(
        self,
        memory: Path | None = None,
        *,
        patient: bool = False,
        level: str | None = None,
        share: Share = WHOLE,
    ) -> None:
        """Starts the process. `memory` is the folder of its learning memory, None for none; `patient` is for matches
        with a player without a clock; for `level` see `ggp-agent serve --help`. Raises `OSError`."""
        listener = socket.create_server((HOST, 0))
        self.url = f"http://{HOST}:{listener.getsockname()[1]}"
        self.token = new_token()
        """Token of its page, which nobody else may see: it shows what the others may not know yet."""
        # In memory, as nothing may be writable.
        self._output = open(os.memfd_create("output"), "w+b")  # noqa: SIM115 - closed with the process
        remembering = ("--no-memory",) if memory is None else ("--memory", str(memory))
        waiting = ("--silence", str(LONG_SECONDS)) if patient else ()
        playing = () if level is None else ("--level", level)
        # An interrupt at the keyboard is for the referee alone, which then sends ABORT.
        with listener:
            self._process = ChildProcess(
                "agent.cli:run_listening",
                self.token,
                *("serve", "--workers", "1", *waiting, *remembering, *playing),
                method="spawn",
                bounds=Bounds(memory_bytes=share.memory),
                ended_by=signal.SIGTERM,
                errors=self._output.fileno(),
                third=listener.fileno(),
            )
        # It may have ended at once.
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(self._process.pid, share.cores)

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


class AgentClient(PlayerClient):
    """The connection to an agent in a process of its own, which may still be starting."""

    def __init__(
        self, agent: AgentProcess, announce: Callable[[str], None], kernels: Collection[str], style: Style, name: str
    ) -> None:
        """For `announce` and `kernels` see `AgentProcess.wait_until_available`."""
        super().__init__(agent.url, style=style, name=name)
        self._agent = agent
        self._announce = announce
        self._kernels = kernels

    async def wait_until_available(self) -> None:
        """Waits until the agent can begin a match. Raises `PlayerStartError`."""
        await self._agent.wait_until_available(self._announce, self._kernels)
