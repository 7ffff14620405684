"""Compares the circuit that plays a match with the interpreter, during the match.

All states of the match are compared, and states of random matches between them.

The interpreter is Python code: in a thread of the worker it would hold the GIL, which the gamer needs between kernels
and the control thread for every command. So it runs in a child process, forked before the worker has threads. A thread
here gives it one task at a time with a limit of CPU time, and keeps the balance. It only waits, which neither turn nor
search notices.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection

from games.child_process import Bounds, ChildProcess
from games.gdl.crosscheck import CrossCheck, Difference, Observation, compare
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules
from games.machine import Interrupted, LimitError, StateMachine
from games.memory import memory_part

log = logging.getLogger(__name__)

SHARE = 0.05
"""CPU time of comparing, as a share of the time spent thinking."""

RANDOM_SHARE = SHARE / 2
"""Largest share for states of random matches; the rest is saved for the match's own."""

ADVANCE = 0.05
"""Seconds of CPU time by which the match's own states may exceed `SHARE`."""

OWN_CPU_SECONDS = 0.05
"""CPU time for one state of the match, at the first attempt; doubled for each further attempt."""

RANDOM_CPU_SECONDS = 0.02
"""CPU time for one task of random matches; doubled if that was not enough for one state."""

MAX_CPU_SECONDS = 2.0
"""CPU time after which a state is given up: on some rulesheets the interpreter needs minutes for one query."""

POLL = 0.004
"""Seconds between two checks whether to stop waiting: searches have to return within 5 ms of being stopped."""

MEMORY_BYTES, MEMORY_SHARE = 4 << 30, 1 / 4
"""Most memory of the child, in bytes, and as a share of the worker's own. A compilation or planner has the rest of what
the worker's children may take, which is as much as the worker itself."""

NICENESS = 5
"""Niceness of the child: the search goes first. `SHARE` bounds the cost."""


@dataclass(frozen=True, slots=True)
class _Task:
    """A task of the child: to take a machine, to compare a state, or to play on at random."""

    cpu_seconds: float
    machine: StateMachine | None = None
    """Machine of the random matches from now on."""
    seen: Observation | None = None
    """State of the match to compare."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The result of a task."""

    states: int
    """States found equal."""
    unfinished: bool
    """Whether the time was not enough for one state."""
    difference: Difference | None
    cpu_seconds: float
    """CPU time used by the child so far, in total."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference that was found."""

    difference: Difference
    own: bool
    """Whether it is in a state of the match itself: then the match's known state is wrong."""


class CrossChecker:
    """The child process and the thread that drives it. Any thread may call any method; only `settle` blocks."""

    def __init__(self, checked: CheckedRules, notify: Callable[[], None]) -> None:
        """Forks the child; to be called before the process has threads. The thread calls `notify` when there is
        something to `poll`."""
        self._child = ChildProcess(
            _compare, checked, bounds=Bounds(memory_bytes=memory_part(MEMORY_BYTES, MEMORY_SHARE))
        )
        self._notify = notify
        self._changed = threading.Condition()
        self._machine: StateMachine | None = None
        self._machine_sent = False
        self._seen: deque[Observation] = deque()
        self._own_cpu_seconds = OWN_CPU_SECONDS
        self._random_cpu_seconds = RANDOM_CPU_SECONDS
        self._finding: Finding | None = None
        self._wrong: StateMachine | None = None
        """The last machine found wrong in a state of the match itself."""
        self._ended = False
        self._thinking_since: float | None = time.monotonic()
        self._thought = 0.0
        self._spent = self._spent_on_random = 0.0
        self._states = self._own_states = self._given_up = 0
        self._thread = threading.Thread(target=self._run, name="cross-check", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def watch(self, machine: StateMachine | None) -> None:
        """Compares another machine from now on, or none."""
        with self._changed:
            self._machine = machine
            self._machine_sent = False
            self._seen.clear()
            self._finding = None
            self._own_cpu_seconds, self._random_cpu_seconds = OWN_CPU_SECONDS, RANDOM_CPU_SECONDS
            self._changed.notify_all()

    def observed(self, machine: StateMachine, seen: Observation) -> None:
        """Takes a state of the match, or drops it if its machine is no longer watched."""
        with self._changed:
            if machine is self._machine:
                self._seen.append(seen)
                self._changed.notify_all()

    def settle(self, machine: StateMachine, seconds: float, stopped: Callable[[], bool]) -> bool:
        """Waits until the observed states of the match are compared, for at most `seconds`, or until `stopped`.

        Returns False if one of them differs. The only method that blocks.
        """
        end = time.monotonic() + seconds
        with self._changed:
            while machine is self._machine and self._seen and not self._ended:
                left = end - time.monotonic()
                if left <= 0 or stopped():
                    break
                self._changed.wait(min(left, POLL))
            return machine is not self._wrong

    def rest(self, resting: bool) -> None:
        """Takes note that thinking rests, or goes on: comparing may use a share of the thinking time only."""
        with self._changed:
            self._thought = self._thinking_seconds()
            self._thinking_since = None if resting else time.monotonic()
            self._changed.notify_all()

    def poll(self) -> Finding | None:
        """Returns the difference found since the last call. Its machine is no longer watched."""
        with self._changed:
            finding, self._finding = self._finding, None
            return finding

    def summary(self) -> str:
        """Returns the number of states compared and the cost, for the log."""
        with self._changed:
            thought = self._thinking_seconds()
            left = f", {len(self._seen)} of its states not yet compared" if self._seen else ""
            given_up = f", {self._given_up} given up" if self._given_up else ""
            share = self._spent / max(thought, 1e-9)
            return (
                f"circuit and interpreter agree in {self._states} states, {self._own_states} of them the match's own"
                f"{left}{given_up}; comparing took {self._spent:.2f} s CPU, {share:.1%} of {thought:.1f} s of thinking"
            )

    def end(self) -> None:
        """Ends the child."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._child.end()

    # --- the thread

    def _run(self) -> None:
        try:
            while True:
                task, machine = self._next_task()
                if task is None:
                    return
                self._child.send(task)
                if self._take(task, machine, self._child.receive()):
                    self._notify()
        except Exception as error:
            if not self._ended:
                log.warning("circuit and interpreter are no longer compared: %s: %s", type(error).__name__, error)

    def _next_task(self) -> tuple[_Task | None, StateMachine | None]:
        """Waits until a task may be done; returns it with its machine. None at the end."""
        with self._changed:
            while not self._ended:
                if self._machine is None:
                    self._changed.wait()
                    continue
                if not self._machine_sent:
                    self._machine_sent = True
                    return _Task(0.0, machine=self._machine), self._machine
                if self._seen:
                    task = _Task(self._own_cpu_seconds, seen=self._seen[0])
                    delay = self._delay(task.cpu_seconds - ADVANCE, SHARE, self._spent)
                else:
                    task = _Task(self._random_cpu_seconds)
                    delay = max(
                        self._delay(task.cpu_seconds, SHARE, self._spent),
                        self._delay(task.cpu_seconds, RANDOM_SHARE, self._spent_on_random),
                    )
                if delay <= 0:
                    return task, self._machine
                self._changed.wait(None if self._thinking_since is None else delay)
            return None, None

    def _take(self, task: _Task, machine: StateMachine | None, outcome: _Outcome) -> bool:
        """Books a task's outcome; returns whether there is something to poll."""
        with self._changed:
            # This thread's own time goes into pickling.
            before, self._spent = self._spent, outcome.cpu_seconds + time.thread_time()
            self._states += outcome.states
            if task.seen is not None:
                self._own_states += outcome.states
            elif task.machine is None:
                self._spent_on_random += self._spent - before
            if machine is not self._machine:
                return False
            if outcome.unfinished and task.cpu_seconds < MAX_CPU_SECONDS:
                if task.seen is not None:
                    self._own_cpu_seconds *= 2
                else:
                    self._random_cpu_seconds *= 2
                return False
            self._given_up += outcome.unfinished
            if task.seen is not None:
                self._seen.popleft()
                self._own_cpu_seconds = max(OWN_CPU_SECONDS, self._own_cpu_seconds / 2)
            if outcome.difference is None:
                return False
            self._finding = Finding(outcome.difference, task.seen is not None)
            self._wrong = machine if self._finding.own else None
            self._machine = None
            self._seen.clear()
            return True

    def _thinking_seconds(self) -> float:
        return self._thought + (0.0 if self._thinking_since is None else time.monotonic() - self._thinking_since)

    def _delay(self, cpu_seconds: float, share: float, spent: float) -> float:
        """Returns the seconds of thinking until so much more CPU time may be spent; not positive if it may at once."""
        return (spent + cpu_seconds) / share - self._thinking_seconds()


# ------------------------------------------------------------------------------------------------------- in the child


def _compare(pipe: Connection, checked: CheckedRules) -> None:
    """Does one task after the other, until the pipe is closed."""
    os.setpriority(os.PRIO_PROCESS, 0, max(NICENESS, os.getpriority(os.PRIO_PROCESS, 0)))
    interpreter: Interpreter | None = None
    matches: CrossCheck | None = None
    while True:
        task: _Task = pipe.recv()
        states, unfinished, difference = 0, False, None
        if interpreter is None:
            interpreter = Interpreter(checked)
        if task.machine is not None:
            matches = CrossCheck(task.machine, interpreter, seed=int.from_bytes(os.urandom(4)))
        elif task.seen is not None:
            states, unfinished, difference = _compare_own(task.seen, interpreter, task.cpu_seconds)
        elif matches is not None:
            states, unfinished, difference = _play_on(matches, interpreter, task.cpu_seconds)
        pipe.send(_Outcome(states, unfinished, difference, time.process_time()))


def _compare_own(
    seen: Observation, interpreter: Interpreter, cpu_seconds: float
) -> tuple[int, bool, Difference | None]:
    """Compares one state; returns the first three fields of an `_Outcome`."""
    end = time.process_time() + cpu_seconds
    try:
        with interpreter.interruptible(lambda: time.process_time() > end):
            difference = compare(seen, interpreter)
    except Interrupted:
        return 0, True, None
    except LimitError:
        # The interpreter has no answer, however long it takes.
        return 0, False, None
    return int(difference is None), False, difference


def _play_on(matches: CrossCheck, interpreter: Interpreter, cpu_seconds: float) -> tuple[int, bool, Difference | None]:
    """Plays random matches for half of the time, so that the last state can usually be finished."""
    before = matches.states
    begin = time.process_time()
    difference = None
    try:
        with interpreter.interruptible(lambda: time.process_time() > begin + cpu_seconds):
            while difference is None and time.process_time() < begin + cpu_seconds / 2:
                difference = matches.step()
    except Interrupted:
        if cpu_seconds >= MAX_CPU_SECONDS:
            matches.abandon()
    except LimitError:
        matches.abandon()
    states = matches.states - before
    return states, states == 0 and difference is None, difference
