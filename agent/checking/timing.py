"""CPU time of a piece of work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from games.child_process import cpu_seconds

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """The result of some work, and its CPU seconds including child processes."""
    before = cpu_seconds()
    result = work()
    return result, cpu_seconds() - before
