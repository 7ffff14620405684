"""Measurement of Numba's compilations in this process.

A *specialisation* is one compilation of a function for certain types of arguments. Its *IR lines* are the lines of LLVM
IR that Numba hands to LLVM, wrappers included, before any optimisation; they do not depend on the machine.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Specialisation:
    """One compilation."""

    kernel: str
    """Name of the function, with its module."""
    signature: str
    """Digest of the types of its arguments."""
    cpu_seconds: float
    """CPU time without callees."""
    cpu_seconds_with_callees: float
    """CPU time with callees; 0 within another specialisation of the same function, which counts it."""
    ir_lines: int


@dataclass
class _UnderWay:
    kernel: str
    begin: float
    """CPU time of the process."""
    callees: float = 0.0
    """CPU seconds of the compilations inside this one."""
    ir_lines: int = 0


@contextmanager
def metering(compiled: Callable[[Specialisation], None]) -> Iterator[None]:
    """Calls `compiled` with each specialisation that this process compiles; loading from the cache does not count."""
    from numba.core import cgutils, event

    under_way: list[_UnderWay] = []

    class Listener(event.Listener):
        """Gets Numba's events, which come for cache misses only."""

        def on_start(self, event: Any) -> None:
            function = event.data["dispatcher"].py_func
            name = f"{function.__module__}.{function.__qualname__}"
            under_way.append(_UnderWay(name, time.process_time()))

        def on_end(self, event: Any) -> None:
            this = under_way.pop()
            seconds = time.process_time() - this.begin
            if under_way:
                under_way[-1].callees += seconds
            inner = any(outer.kernel == this.kernel for outer in under_way)
            own = seconds - this.callees
            # The types of function arguments contain addresses.
            types = re.sub(r" at 0x[0-9a-f]+", "", str(event.data["args"]))
            signature = hashlib.sha256(types.encode()).hexdigest()[:16]
            compiled(Specialisation(this.kernel, signature, own, 0.0 if inner else seconds, this.ir_lines))

    normalise: Any = cgutils.normalize_ir_text

    def count_lines(text: str) -> Any:
        if under_way:
            under_way[-1].ir_lines += text.count("\n")
        return normalise(text)

    # All IR passes this function on its way to LLVM; Numba's events do not tell its size.
    setattr(cgutils, "normalize_ir_text", count_lines)  # noqa: B010
    listener: Any = Listener()
    try:
        with event.install_listener("numba:compile", listener):
            yield
    finally:
        setattr(cgutils, "normalize_ir_text", normalise)  # noqa: B010
