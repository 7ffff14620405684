"""A process of a match as the server sees it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Collection

from agent.playing.messages import MOST_STATES, MOST_TERMS, Alive, Command, Report, Warm, parts_of
from agent.serving.clock import Instant, now
from agent.serving.starting import Kind
from agent.serving.watchdog import Watchdog
from games.child_process import AsyncEnd, ChildProcess

MOST_UNREAD = 1000
"""Most commands that wait for a process to read them; their terms are the match's own. One with more is lost."""


class Process(AsyncEnd):
    """A process of one kind, in a match or waiting for one."""

    def __init__(self, kind: Kind, child: ChildProcess, without: Collection[str] = ()) -> None:
        """`child` does what `agent.playing.main` does."""
        super().__init__(child, f"{kind} process", MOST_STATES + MOST_TERMS, MOST_UNREAD)
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
        self._watchdog = Watchdog(child.pid, self._was_heard)
        self._signs = False
        """Whether there were reports since the watchdog asked."""

    @property
    def pid(self) -> int:
        """The process id, which is also the id of the process group with its children."""
        return self.child.pid

    @property
    def was_killed(self) -> bool:
        """Whether it was ended by SIGKILL: by somebody, or by the kernel for want of memory."""
        return self.child.status == -signal.SIGKILL

    def hangs(self, idle_seconds: float, busy_seconds: float) -> bool:
        """Returns whether the process hangs, see `Watchdog.hangs`."""
        return self._watchdog.hangs(idle_seconds, busy_seconds)

    def _was_heard(self) -> bool:
        signs, self._signs = self._signs, False
        return signs

    def send(self, command: Command) -> None:
        """Sends a command. Never blocks, even if the process hangs; does nothing if it is gone."""
        self.write(parts_of(command))

    def take(self, message: Report) -> None:
        self.heard, self._signs = now(), True
        if isinstance(message, Warm):
            self.warm.set()
            self.on_warm()
        elif not isinstance(message, Alive) and self.on_report is not None:
            self.on_report(message)

    def lose(self) -> None:
        self.lost.set()
        self.warm.set()
        self.on_warm()
        if self.on_lost is not None:
            self.on_lost()
