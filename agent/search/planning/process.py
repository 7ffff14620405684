"""Planning in a process of its own with bounded memory: a solver cannot be interrupted at any moment."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import NamedTuple

from agent.search.planning.plan import NOTHING, Bound, Findings, Known, Plan
from agent.search.planning.planner import MOST_GATE_INPUTS, Planner
from agent.search.planning.rollouts import Rollouts
from games.child_process import Bounds, ChildLostError, ChildProcess
from games.gdl.running.machine import CircuitMachine
from games.machine import LimitError, State
from games.memory import memory_part

log = logging.getLogger(__name__)

MEMORY_BYTES, MEMORY_SHARE = 1 << 30, 3 / 4
"""Most memory of the planner beyond its parent's, in bytes, and as a share of what its parent may have."""

PLANNER_SHARE = 0.6
"""The planner's share of the time, while rollouts run as well."""

SLICE_SECONDS = 0.05
"""Time slice of each search."""


class _PlanTask(NamedTuple):
    """Plan from a state."""

    number: int
    state: State
    known: int
    """Goal of the best known match; -1 without one."""


class _Rest(NamedTuple):
    """Do nothing until the next message."""


class _GoOn(NamedTuple):
    """Go on after a rest."""


class _PlanFound(NamedTuple):
    task: int
    finding: Plan | Bound


class PlannerProcess:
    """Looks for plans from the last given state, except while it rests.

    After a failure, such as too little memory, it finds nothing more.
    """

    def __init__(
        self, machine: CircuitMachine, found: Callable[[Plan | Bound], None], memory_bytes: int | None = None
    ) -> None:
        """`found` takes, in a thread of its own, each better plan from the present state, and bounds.

        Once `begin` or `drop` has returned, it gets no findings of earlier states. `memory_bytes` bounds the process;
        None: see `MEMORY_BYTES`.
        """
        memory_bytes = memory_bytes or memory_part(MEMORY_BYTES, MEMORY_SHARE)
        child = ChildProcess(_work, machine, bounds=Bounds(memory_bytes=memory_bytes))
        self._child = child
        self._found = found
        self._changing = threading.Lock()
        self._task = 0
        self._resting = False
        self.lost = False
        """Whether the process has failed: no more plans will come."""
        self._end = weakref.finalize(self, child.end)
        threading.Thread(target=_listen, args=(child, weakref.ref(self)), daemon=True).start()

    def drop(self) -> None:
        """Ignores all findings until `begin`."""
        with self._changing:
            self._task += 1

    def begin(self, state: State, known: int = NOTHING) -> None:
        """Makes this the state to plan from, for more than the goal `known`; starts at `go_on`."""
        self.drop()
        self._resting = True
        self._send(_PlanTask(self._task, state, known))

    def rest(self) -> None:
        """Pauses until `go_on`."""
        if not self._resting:
            self._resting = True
            self._send(_Rest())

    def go_on(self) -> None:
        """Ends a rest."""
        if self._resting:
            self._resting = False
            self._send(_GoOn())

    def close(self) -> None:
        """Ends the process."""
        self.lost = True
        self._end()

    def _send(self, message: NamedTuple) -> None:
        if not self.lost:
            try:
                self._child.send(message)
            except (ChildLostError, LimitError, OSError) as error:
                self.lose(error)

    def receive(self, found: _PlanFound) -> None:
        """Passes a finding on if it is of the present task."""
        with self._changing:
            if found.task == self._task:
                self._found(found.finding)

    def lose(self, error: Exception) -> None:
        """Takes note of a failure of the process."""
        if not self.lost:
            log.warning("no more plans: %s", error)
            self.lost = True


def _listen(child: ChildProcess, owner: weakref.ref[PlannerProcess]) -> None:
    """Passes messages on while the child and the owner live."""
    while True:
        try:
            message = child.receive()
        except Exception as error:
            process = owner()
            if process is not None:
                process.lose(error)
            return
        process = owner()
        if process is None or not isinstance(message, _PlanFound):
            return
        process.receive(message)
        del process


# ------------------------------------------------------------------------------------------------------- in the child


def _work(pipe: Connection, machine: CircuitMachine) -> None:
    planner = Planner(machine) if machine.game.edges <= MOST_GATE_INPUTS else None
    rollouts = Rollouts(machine)
    inbox = _Inbox(pipe)
    while True:
        task = inbox.take()
        known = Known(task.known)
        searches = [_Share(rollouts.plans(task.state, known), 1 - PLANNER_SHARE)]
        if planner is not None:
            searches.append(_Share(planner.plans(task.state, known, pipe.poll), PLANNER_SHARE))
        while searches and inbox.proceed():
            search = min(searches, key=lambda search: search.used)
            for finding in search.run(pipe.poll):
                pipe.send(_PlanFound(task.number, finding))
            if search.over:
                searches.remove(search)


class _Share:
    """A search and its share of the time."""

    def __init__(self, findings: Findings, share: float) -> None:
        self.used = 0.0
        """CPU seconds, divided by the share."""
        self.over = False
        """Whether the search has ended."""
        self._findings = findings
        self._share = share

    def run(self, wanted: Callable[[], bool]) -> Iterator[Plan | Bound]:
        """Searches for one time slice."""
        begin = time.process_time()
        while not self.over and time.process_time() - begin < SLICE_SECONDS and not wanted():
            try:
                finding = next(self._findings)
            except StopIteration:
                self.over = True
            else:
                if finding is not None:
                    yield finding
        self.used += (time.process_time() - begin) / self._share


class _Inbox:
    """Messages to the planner."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._next: _PlanTask | None = None
        self._resting = True

    def take(self) -> _PlanTask:
        """Waits for a task and for the end of its rest."""
        while self._next is None or self._resting:
            self._read()
        task, self._next = self._next, None
        return task

    def proceed(self) -> bool:
        """Whether to go on with the present task; waits during a rest."""
        while self._resting or self._pipe.poll():
            self._read()
        return self._next is None

    def _read(self) -> None:
        message = self._pipe.recv()
        if isinstance(message, _PlanTask):
            self._next, self._resting = message, True
        else:
            self._resting = isinstance(message, _Rest)
