"""Processes of the lobby, which end with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from functools import partial
from typing import BinaryIO, Self

from agent.processes import end_with_parent, module_environment

END_SECONDS = 8.0
"""Seconds for a process to end by itself, with its own children."""

TAIL = 2000
"""Bytes of a failed process's last output that are shown."""

MOST_LINE = 1 << 20
"""Longest line of output, in bytes."""


class Child:
    """A process with pipes for its input and output; errors are kept until it has ended."""

    def __init__(self, process: asyncio.subprocess.Process, errors: BinaryIO) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.input = process.stdin
        self.output = process.stdout
        self._process = process
        self._errors = errors

    @classmethod
    async def start(cls, module: str, *arguments: str) -> Self:
        """Starts `python -m module arguments`. Raises `OSError`."""
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module, *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env=module_environment(),
            limit=MOST_LINE,
            # Ctrl-C is for the lobby alone, which then ends its children.
            start_new_session=True,
            preexec_fn=partial(end_with_parent, signal.SIGTERM),
        )
        return cls(process, errors)

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.returncode is None

    async def wait(self) -> str | None:
        """Waits for its end, once; returns its last words if it has failed."""
        status = await self._process.wait()
        with self._errors as errors:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - TAIL))
            words = errors.read().decode(errors="replace").strip()
        return (words or f"the process ended with status {status}") if status else None

    async def end(self) -> None:
        """Ends it as Ctrl-C does, or else kills it."""
        for number, seconds in ((signal.SIGINT, END_SECONDS), (signal.SIGKILL, None)):
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), seconds)
                return
