"""When Python collects cyclic garbage: never while a reply is about to leave.

A full collection looks at every object that may be part of a cycle, and nothing else runs meanwhile. What is there when
the server begins is taken out of that for good (`gc.freeze`), and full collections are made only between turns.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable

from agent.serving.clock import Instant, now
from agent.serving.statistics import Histogram

YOUNG, MIDDLE, OLD = 2000, 10, 1 << 30
"""Allocations until the youngest objects are looked at, which takes well below a millisecond; such collections until
the middle generation is; collections of that one until all objects are: never. Set by hand; not tuned."""

COLLECT_SECONDS = 5.0
"""Seconds between two full collections. Set by hand; not tuned."""

CLEAR_SECONDS = 0.25
"""A full collection begins only where no reply is due within so many seconds. Set by hand; not tuned."""

PATIENCE_SECONDS = 60.0
"""After so many seconds without such a moment, one is made all the same. Set by hand; not tuned."""

POLL_SECONDS = 0.05


class GarbageCollection:
    """Takes the collection of garbage over from Python, and measures how long it takes."""

    def __init__(self, pauses: Histogram, next_due: Callable[[], Instant | None]) -> None:
        """`pauses` gets the seconds of each collection; `next_due` says when the next reply is due, if any is."""
        self._pauses = pauses
        self._next_due = next_due
        self._begun = 0.0

    async def run(self) -> None:
        """Collects between turns until it is cancelled; then Python does it again."""
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
