"""Sends an engine's opinions: only legal moves, not too often, and no final opinion too early."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from agent.search.engine import Opinion, StopFlag
from agent.worker.messages import Situation
from games.machine import GameError

REPEAT_AFTER = 0.1
"""Seconds between two opinions with the same move."""


class Opinions:
    """Opinions on one situation after the other. Several threads may call the methods."""

    def __init__(self, send: Callable[[int, Opinion], None], is_settled: Callable[[], bool], stop: StopFlag) -> None:
        """`send` takes the number of the turn, and an opinion. `is_settled` waits a moment until the state may be acted
        on, and returns whether it may. After `stop[0]` nothing new is sent."""
        self.situation: Situation | None = None
        """Subject of the opinions."""
        self._send, self._is_settled, self._stop = send, is_settled, stop
        self._lock = threading.Lock()
        self._sent: tuple[Opinion | None, float] = (None, 0.0)
        """Last opinion sent, and its time."""
        self._kept: Opinion | None = None
        """Newer opinion, to be sent when `REPEAT_AFTER` is over."""

    @property
    def newest(self) -> Opinion | None:
        """Last opinion sent on the present situation."""
        return self._sent[0]

    def begin(self, situation: Situation) -> None:
        """Begins a situation, and forgets the opinions on the last one."""
        with self._lock:
            # In this order: `repeat` must not take an opinion for one on a later turn.
            self._sent, self._kept = (None, 0.0), None
            self.situation = situation

    def amend(self, situation: Situation) -> None:
        """Replaces the situation by a better known one of the same turn."""
        with self._lock:
            self.situation, self._kept = situation, None

    def repeat(self) -> None:
        """Sends the newest opinion again."""
        situation, newest = self.situation, self.newest
        if situation is not None and newest is not None:
            self._send(situation.turn, newest)

    def report(self, opinion: Opinion) -> None:
        """Sends an opinion, at once or soon. Raises `GameError` for an illegal move, and any error of `send`."""
        with self._lock:
            situation = self.situation
            assert situation is not None
            if self._stop[0]:
                return
            if opinion.move not in situation.legal:
                raise GameError(f"the engine wants {opinion.move}, which is not legal")
            before, at = self._sent
            wait = at + REPEAT_AFTER - time.monotonic()
            if before is None or opinion.move != before.move or opinion.final != before.final or wait <= 0:
                self._send_now(situation, opinion)
                return
            if self._kept is None:
                timer = threading.Timer(wait, self._send_kept, [situation])
                timer.daemon = True
                timer.start()
            self._kept = opinion

    def _send_kept(self, situation: Situation) -> None:
        """Sends the opinion kept back, unless its turn is over: the engine may not report another."""
        with self._lock, suppress(BrokenPipeError, EOFError):
            if self.situation is not situation:
                return
            kept, self._kept = self._kept, None
            if kept is not None and not self._stop[0]:
                self._send_now(situation, kept)

    def _send_now(self, situation: Situation, opinion: Opinion) -> None:
        before, _ = self._sent
        self._kept = None
        if opinion.final and not (before is not None and before.final):
            pending = replace(opinion, final=False)
            self._sent = (pending, time.monotonic())
            self._send(situation.turn, pending)
            if not self._is_settled():
                return
        self._sent = (opinion, time.monotonic())
        self._send(situation.turn, opinion)
