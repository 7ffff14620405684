"""Work on an event loop, counted instead of timed: a busy machine changes no count."""

from __future__ import annotations

import asyncio
import json
import pickle
import pickletools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

LOOKED_AT = 1 << 12
"""Bytes of pickled data from which their parts are counted; fewer are nothing."""


class LoopWork:
    """The callback of an event loop that has executed the most instructions, of bytecode and of pickles, or has had the
    most bytes of JSON."""

    def __init__(self) -> None:
        self.most = 0
        self.where = ""
        """Function in which the most instructions of that callback were executed."""
        self._count = 0
        self._by_function: dict[str, int] = {}

    @contextmanager
    def counted(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Counts within the context, which runs on this thread's loop."""
        run, loop_thread = asyncio.Handle._run, threading.get_ident()

        def run_counted(handle: asyncio.Handle) -> None:
            self._count, self._by_function = 0, {}
            sys.settrace(self._trace)
            try:
                run(handle)
            finally:
                sys.settrace(None)
                if self._count > self.most:
                    self.most = self._count
                    self.where = max(self._by_function, key=self._by_function.__getitem__)

        def weighed(function: Callable[..., Any], weigh: Callable[[Any, Any], int]) -> Callable[..., Any]:
            def call(argument: Any, *arguments: Any, **named: Any) -> Any:
                result = function(argument, *arguments, **named)
                if threading.get_ident() == loop_thread:
                    trace = sys.gettrace()
                    sys.settrace(None)
                    self._add(function.__qualname__, weigh(argument, result))
                    sys.settrace(trace)
                return result

            return call

        with monkeypatch.context() as patch:
            patch.setattr(asyncio.Handle, "_run", run_counted)
            patch.setattr(pickle, "loads", weighed(pickle.loads, lambda data, _: _parts(data)))
            patch.setattr(pickle, "dumps", weighed(pickle.dumps, lambda _, data: _parts(data)))
            patch.setattr(json, "loads", weighed(json.loads, lambda text, _: len(text)))
            patch.setattr(json, "dumps", weighed(json.dumps, lambda _, text: len(text)))
            yield

    def _trace(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return self._step

    def _step(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        if event == "opcode":
            self._add(frame.f_code.co_qualname, 1)
        return self._step

    def _add(self, function: str, count: int) -> None:
        self._count += count
        self._by_function[function] = self._by_function.get(function, 0) + count


def _parts(data: bytes) -> int:
    return sum(1 for _ in pickletools.genops(data)) if len(data) > LOOKED_AT else 0
