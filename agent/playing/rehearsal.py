"""Random matches of a circuit, compared with the interpreter before the match begins.

The interpreter is Python code, which would hold the search's threads up. So it runs in a child process, forked before
the search has threads.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from multiprocessing.connection import Connection

from games.child_process import Bounds, ChildLostError, ChildProcess
from games.gdl.crosscheck import CrossCheck, Difference
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules
from games.machine import LimitError, StateMachine
from games.memory import memory_part

log = logging.getLogger(__name__)

SHARE, MOST_SECONDS = 0.05, 1.0
"""Share of the start clock, and most seconds, for comparing."""

PATIENCE = 2.0
"""Most further seconds until the child has told the result: a state may take long."""

MEMORY_BYTES, MEMORY_SHARE = 4 << 30, 1 / 4
"""Most memory of the child, in bytes, and as a share of the search's own."""

NICENESS = 5
"""Niceness of the child: the search goes first."""


class Rehearsal:
    """The child process, as the control thread sees it. Nothing blocks."""

    def __init__(self, checked: CheckedRules, start_clock: float) -> None:
        """Forks the child; to be called before the process has threads. `start_clock` is in seconds."""
        self._seconds = min(SHARE * start_clock, MOST_SECONDS)
        bounds = Bounds(memory_bytes=memory_part(MEMORY_BYTES, MEMORY_SHARE), niceness=NICENESS)
        self._child: ChildProcess | None = ChildProcess(_rehearse, checked, self._seconds, bounds=bounds)
        self._ends: float | None = None
        """Time after which no result is waited for; None before the beginning."""

    @property
    def running(self) -> bool:
        """Whether a circuit is being compared."""
        return self._child is not None and self._ends is not None

    def begin(self, machine: StateMachine) -> None:
        """Begins to compare a circuit."""
        if self._child is not None:
            self._ends = time.monotonic() + self._seconds + PATIENCE
            with contextlib.suppress(ChildLostError, LimitError):
                # `poll` tells why.
                self._child.send(machine)

    def poll(self) -> Difference | None:
        """Returns the first difference, once."""
        if self._child is None or self._ends is None:
            return None
        if not self._child.pipe.poll() and time.monotonic() < self._ends:
            return None
        difference: Difference | None = None
        try:
            states, difference = self._child.receive(0.0)
            log.info("circuit and interpreter agree in %d states of random matches", states)
        except Exception as error:
            log.warning("circuit and interpreter are not compared: %s", error)
        self.end()
        return difference

    def end(self) -> None:
        """Ends the child."""
        if self._child is not None:
            self._child.end()
            self._child = None


def _rehearse(pipe: Connection, checked: CheckedRules, seconds: float) -> tuple[int, Difference | None]:
    """Waits for a circuit, then compares it; returns the number of equal states, and the first difference."""
    machine: StateMachine = pipe.recv()
    interpreter = Interpreter(checked)
    matches = CrossCheck(machine, interpreter, seed=int.from_bytes(os.urandom(4)))
    end = time.monotonic() + seconds
    difference = None
    with interpreter.interruptible(lambda: time.monotonic() > end):
        while difference is None and time.monotonic() < end:
            try:
                difference = matches.step()
            except LimitError:
                matches.abandon()
    return matches.states, difference
