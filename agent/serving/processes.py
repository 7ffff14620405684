"""A process of a match as the server sees it: written to without blocking, read within bounds."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import signal
import subprocess
from collections.abc import Callable, Collection

from agent.playing.messages import HEADER, MOST_REPORT, Alive, Command, Report, Warm, frame, parts_of
from agent.serving.clock import Instant, now
from agent.serving.starting import Kind

log = logging.getLogger(__name__)

MOST_UNREAD = 1000
"""Most commands that wait for a process to read them; their terms are the match's own. One with more is lost."""


class Process:
    """A process of one kind, in a match or waiting for one."""

    def __init__(self, kind: Kind, child: subprocess.Popen[bytes], without: Collection[str] = ()) -> None:
        """`child` is a running `agent.playing.main`."""
        self.kind = kind
        self.without = frozenset(without)
        """Groups of kernels that it lacks: they were not compiled when it was started."""
        self.on_report: Callable[[Report], None] | None = None
        """Takes reports, but for signs of life."""
        self.on_lost: Callable[[], None] | None = None
        """Called when the process has ended."""
        self.on_warm: Callable[[], None] = lambda: None
        """Called when it is ready for a match, or lost."""
        self.warm = asyncio.Event()
        """Set then."""
        self.lost = asyncio.Event()
        """Set when it has ended."""
        self.heard: Instant = now()
        """Time of the last report, at first of the start."""
        self._child = child
        self._outbox: asyncio.Queue[Command] = asyncio.Queue(MOST_UNREAD)
        self._running = asyncio.create_task(self._run())

    @property
    def pid(self) -> int:
        """The process id, which is also the id of the process group with its children."""
        return self._child.pid

    @property
    def was_killed(self) -> bool:
        """Whether it was ended by SIGKILL: by somebody, or by the kernel for want of memory."""
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return ended is not None and ended.si_code == os.CLD_KILLED and ended.si_status == signal.SIGKILL

    def send(self, command: Command) -> None:
        """Sends a command. Never blocks, even if the process hangs; does nothing if it is gone."""
        try:
            self._outbox.put_nowait(command)
        except asyncio.QueueFull:
            if not self.lost.is_set():
                log.error("%s process %d does not read what it is told: it is lost", self.kind, self.pid)
                self._running.cancel()

    async def end(self) -> None:
        """Ends the process and its children, and waits for its end."""
        # Only `wait` reaps it: until then, nobody else has its number.
        if self._child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            await asyncio.to_thread(self._child.wait)
        await asyncio.wait([self._running])

    async def _run(self) -> None:
        """Writes commands and reads reports until the process ends, or breaks a bound."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        writing: asyncio.Task[None] | None = None
        try:
            await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), self._child.stdout)
            transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, self._child.stdin)
            writing = asyncio.create_task(self._write(asyncio.StreamWriter(transport, protocol, None, loop)))
            await self._read(reader)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except Exception:
            log.exception("%s process %d: a report cannot be taken in: it is lost", self.kind, self.pid)
        finally:
            self.lost.set()
            self.warm.set()
            self.on_warm()
            if writing is not None:
                writing.cancel()
            if self.on_lost is not None:
                self.on_lost()

    async def _write(self, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                for part in parts_of(await self._outbox.get()):
                    with contextlib.suppress(ConnectionError):
                        writer.write(frame(part))
                        await writer.drain()
                    await asyncio.sleep(0)
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while True:
            (length,) = HEADER.unpack(await reader.readexactly(HEADER.size))
            if length > MOST_REPORT:
                log.error("%s process %d reports %d bytes at once: it is lost", self.kind, self.pid, length)
                return
            report: Report = pickle.loads(await reader.readexactly(length))
            self.heard = now()
            if isinstance(report, Warm):
                self.warm.set()
                self.on_warm()
            elif not isinstance(report, Alive) and self.on_report is not None:
                self.on_report(report)
