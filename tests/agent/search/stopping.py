"""Stop flags that are raised by what a search has done: how fast or how busy the machine is plays no part."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

import numpy as np

from tests.processes import PATIENCE


class StopWhen:
    """Raises `flag` (uint8[1]) in another thread as soon as a condition holds: in the middle of a kernel, mostly.

    >>> with StopWhen(lambda: engine.visits >= 1000, count=lambda: engine.visits) as stop:     # doctest: +SKIP
    ...     engine.think(stop.flag, report, UNLIMITED)
    >>> engine.visits - stop.counted                     # how many were made after the flag was raised
    """

    def __init__(self, condition: Callable[[], bool], count: Callable[[], int] = lambda: 0) -> None:
        self.flag = np.zeros(1, np.uint8)
        self.counted: int | None = None
        """What `count` said just after the flag was raised; None if the condition was never met."""
        self._condition = condition
        self._count = count
        self._over = threading.Event()
        self._hangs = False
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> StopWhen:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        assert error is not None or not self._hangs, f"nothing came of it in {PATIENCE:g} s"

    def _watch(self) -> None:
        end = time.monotonic() + PATIENCE
        while not (met := self._condition()) and not self._over.wait(0.001):
            if time.monotonic() > end:
                self._hangs = True
                break
        # Raised before it is counted: whatever is done between the two counts as done before.
        self.flag[0] = 1
        if met:
            self.counted = self._count()


def never() -> bool:
    """The condition of a search that is to end by itself."""
    return False
