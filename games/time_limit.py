"""Time limits of work whose results should not depend on how busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

MOST_WAIT = 3.0
"""Seconds on the clock for each second of CPU time, at most: somebody is waiting."""


def time_limit(seconds: float) -> Callable[[], bool]:
    """Returns a function that says whether `seconds` are over from now on, of the CPU time of the thread that calls it.

    They are over, too, after `MOST_WAIT` times as many on the clock.
    """
    cpu_end, end = time.thread_time() + seconds, time.monotonic() + MOST_WAIT * seconds
    return lambda: time.thread_time() > cpu_end or time.monotonic() > end
