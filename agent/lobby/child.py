"""Processes of the lobby, which end with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Callable
from typing import Any

from games.child_process import AsyncEnd, Bounds, ChildProcess

END_SECONDS = 8.0
"""Seconds for a process to end by itself, with its own children."""

TAIL = 2000
"""Bytes of a failed process's last output that are shown."""

UNBOUNDED = Bounds()

MOST_MESSAGE = 1 << 20
"""Longest message, in bytes."""


class Child(AsyncEnd):
    """A process whose errors are kept until it has ended."""

    def __init__(
        self,
        work: str,
        *arguments: str,
        told: Callable[[Any], None] = lambda message: None,
        bounds: Bounds = UNBOUNDED,
        most_unread: int = 1,
    ) -> None:
        """Starts `work`, a `module:function`; `told` takes its messages; for `most_unread` see `AsyncEnd`. Raises
        `OSError`."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        errors = self._errors.fileno()
        child = ChildProcess(work, *arguments, method="spawn", bounds=bounds, ended_by=signal.SIGTERM, errors=errors)
        super().__init__(child, work, MOST_MESSAGE, most_unread)
        self._ended = asyncio.Event()
        self._told = told
        self._stopped = False

    def take(self, message: Any) -> None:
        self._told(message)

    def lose(self) -> None:
        self._ended.set()

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return not self._ended.is_set()

    async def wait(self) -> str | None:
        """Waits for its end, once; returns its last words if it has failed by itself."""
        await self._ended.wait()
        await self.end()
        with self._errors as errors:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - TAIL))
            words = errors.read().decode(errors="replace").strip()
        status = self.child.status
        # Python says a lot where Ctrl-C reaches it before it has begun.
        if not status or self._stopped:
            return None
        return words or str(self.error or f"the process ended with status {status}")

    async def stop(self) -> None:
        """Ends it as Ctrl-C does, or else kills it."""
        self._stopped = True
        self.child.kill(signal.SIGINT)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), END_SECONDS)
        await self.end()
