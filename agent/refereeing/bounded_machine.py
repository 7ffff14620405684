"""The referee's reference machine, within bounds and with an end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from games.machine import Interrupted, LimitError, State, StateMachine, Term

T = TypeVar("T")

QUERY_SECONDS = 60.0
"""CPU seconds of one query."""


class BoundedMachine(StateMachine):
    """A machine whose queries end: at a bound, or when it is stopped. Threads may share it."""

    def __init__(self, machine: StateMachine, seconds: float = QUERY_SECONDS) -> None:
        """`seconds` are CPU seconds of a query. Where it needs more, or more memory than this process may have, it
        raises `LimitError`."""
        self._machine = machine
        self._seconds = seconds
        self._one = threading.Lock()
        self._stopped = False
        self.roles = machine.roles
        self.goal_scale = machine.goal_scale

    def stop(self) -> None:
        """Ends the queries under way, and all others."""
        self._stopped = True

    def initial(self) -> State:
        return self._ask(self._machine.initial)

    def legal(self, state: State, role: int) -> list[Term]:
        return self._ask(self._machine.legal, state, role)

    def next(self, state: State, joint_move: Sequence[Term]) -> State:
        return self._ask(self._machine.next, state, joint_move)

    def terminal(self, state: State) -> bool:
        return self._ask(self._machine.terminal, state)

    def goal_values(self, state: State, role: int) -> list[int]:
        return self._ask(self._machine.goal_values, state, role)

    def facts(self, state: State) -> frozenset[Term]:
        return self._ask(self._machine.facts, state)

    def state(self, facts: Iterable[Term]) -> State:
        return self._ask(self._machine.state, facts)

    def _ask(self, query: Callable[..., T], *arguments: object) -> T:
        with self._one:
            end = time.thread_time() + self._seconds
            try:
                with self._machine.interruptible(lambda: self._stopped or time.thread_time() > end):
                    return query(*arguments)
            except Interrupted:
                if self._stopped:
                    raise
                raise LimitError(f"a position takes more than {self._seconds:g} s to work out") from None
            except (MemoryError, SystemError):
                # Python may lose the first, which leads to the second.
                raise LimitError("a position takes more memory than there is for a match") from None
