"""Sends an engine's opinions: only legal moves, and not too often."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import replace

from agent.playing.messages import Thought
from agent.search.engine import Opinion, StopFlag
from games.machine import GameError, Term

REPEAT_AFTER = 0.1
"""Seconds between two opinions with the same move."""


class Opinions:
    """Opinions on one situation after the other. One thread reports them, another may call `flush`."""

    def __init__(self, send: Callable[[Thought], None], stop: StopFlag) -> None:
        """After `stop[0]` nothing is sent."""
        self._send, self._stop = send, stop
        self._lock = threading.Lock()
        self.begin(0, b"", ())

    def begin(self, turn: int, digest: bytes, legal: Collection[Term]) -> None:
        """Begins a situation with these legal moves, and forgets the opinions on the last one."""
        with self._lock:
            self._turn, self._digest, self._legal = turn, digest, legal
            self.newest: Opinion | None = None
            """Last opinion sent on the situation."""
            self._sent: Thought | None = None
            self._sent_at = 0.0
            self._kept: Thought | None = None
            """Newer opinion, to be sent when `REPEAT_AFTER` is over."""

    def report(self, opinion: Opinion, engine: str, reason: str) -> None:
        """Sends an opinion, or keeps it for `flush`. Raises `GameError` for an illegal move, and errors of sending."""
        with self._lock:
            if self._stop[0]:
                return
            if opinion.move not in self._legal:
                raise GameError(f"the engine wants {opinion.move}, which is not legal")
            before = self.newest
            self._kept = Thought(self._turn, self._digest, opinion, engine, reason)
            if before is None or (opinion.move, opinion.final) != (before.move, before.final):
                self._send_kept()
            else:
                self._send_if_due()

    def flush(self) -> None:
        """Sends the opinion kept, if it is time: the engine may not report another."""
        with self._lock:
            if self._stop[0]:
                self._kept = None
            self._send_if_due()

    def finish(self) -> None:
        """Sends the last opinion once more, as the final one."""
        with self._lock:
            last = self._kept or self._sent
            if last is not None and not last.opinion.final and not self._stop[0]:
                self._kept = replace(last, opinion=replace(last.opinion, final=True))
                self._send_kept()

    def _send_if_due(self) -> None:
        if self._kept is not None and time.monotonic() >= self._sent_at + REPEAT_AFTER:
            self._send_kept()

    def _send_kept(self) -> None:
        assert self._kept is not None
        thought, self._kept = self._kept, None
        self._sent, self.newest, self._sent_at = thought, thought.opinion, time.monotonic()
        self._send(thought)
