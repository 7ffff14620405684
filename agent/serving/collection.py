"""Timing of garbage collection: never while a reply is about to leave.

Nothing else runs during a full collection, which visits every object that may be part of a cycle. The objects that
exist when the server begins are excluded for good (`gc.freeze`); full collections happen only between turns.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable

from agent.serving.clock import Instant, now
from agent.serving.statistics import Histogram

YOUNG, MIDDLE, OLD = 2000, 10, 1 << 30
"""Thresholds of `gc.set_threshold`. Young collections take well below a millisecond; full ones never come by
themselves."""

COLLECT_SECONDS = 5.0
"""Seconds between two full collections."""

CLEAR_SECONDS = 0.25
"""Seconds after the begin of a full collection in which no reply may be due."""

PATIENCE_SECONDS = 60.0
"""Seconds to wait for such a moment; then a collection is made all the same."""

POLL_SECONDS = 0.05


class GarbageCollection:
    """Takes garbage collection over from Python, and measures its pauses."""

    def __init__(self, pauses: Histogram, next_due: Callable[[], Instant | None]) -> None:
        """`pauses` counts the seconds of each collection; `next_due` gives the time of the next reply due."""
        self._pauses = pauses
        self._next_due = next_due
        self._begun = 0.0

    async def run(self) -> None:
        """Collects between turns until it is cancelled, and hands back to Python then."""
        thresholds = gc.get_threshold()
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG, MIDDLE, OLD)
        gc.callbacks.append(self._measure)
        try:
            while True:
                await asyncio.sleep(COLLECT_SECONDS)
                await self._wait_for_a_clear_moment()
                gc.collect()
        finally:
            gc.callbacks.remove(self._measure)
            gc.set_threshold(*thresholds)
            gc.unfreeze()

    async def _wait_for_a_clear_moment(self) -> None:
        end = now() + PATIENCE_SECONDS
        while now() < end:
            due = self._next_due()
            if due is None or due - now() > CLEAR_SECONDS:
                return
            await asyncio.sleep(POLL_SECONDS)

    def _measure(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._begun = time.perf_counter()
        else:
            self._pauses.add(time.perf_counter() - self._begun)
