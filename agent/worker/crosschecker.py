"""Comparing the circuit that plays a match with the interpreter, beside the match.

Every state of the match itself is compared, and states of random matches while there is nothing of that kind to do.

The interpreter is Python code: in a thread of the worker it would hold the GIL, which the gamer needs between kernels,
and the control thread for every command. So it runs in a child process, forked before the worker has threads. A thread
here hands it one task at a time, each with the CPU time that it may take, and keeps the balance; it does nothing but
wait, so neither turn nor search notices it.
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

from games.child_process import ChildProcess
from games.gdl.crosscheck import CrossCheck, Difference, Observation, compare
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules
from games.machine import Interrupted, LimitError, StateMachine

log = logging.getLogger(__name__)

SHARE = 0.05
"""CPU time of comparing, as a part of the time spent thinking."""

RANDOM_SHARE = SHARE / 2
"""Of that, what states of random matches get at most: the rest is saved for the match's own, which may come quickly one
after the other. Set by hand; not tuned."""

ADVANCE = 0.05
"""Seconds of CPU time by which comparing the match's own states may be ahead of that share: so that the first of them
does not have to wait. Set by hand; not tuned."""

OWN_CPU_SECONDS = 0.05
"""CPU time for comparing one state of the match, at the first attempt; every further attempt gets twice as much."""

RANDOM_CPU_SECONDS = 0.02
"""CPU time for one task of comparing states of random matches; twice as much where that was not enough for one state.
Both are set by hand; not tuned."""

MAX_CPU_SECONDS = 2.0
"""CPU time after which a state is given up: on some rulesheets the interpreter needs minutes for one query. Set by
hand; not tuned."""

POLL = 0.004
"""Seconds between two looks at whether to stop waiting: searches have to return within 5 ms of being stopped."""

NICENESS = 5
"""Lets the search have its turn first, yet is little enough that states are compared in time on a busy core. What
bounds the cost is `SHARE`. Set by hand; not tuned."""


@dataclass(frozen=True, slots=True)
class _Task:
    """What the child is to do next: nothing but take the machine, compare a state, or play on at random."""

    cpu_seconds: float
    machine: StateMachine | None = None
    """The one that plays random matches from now on."""
    seen: Observation | None = None
    """A state of the match."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of a task."""

    states: int
    """Compared and found equal."""
    unfinished: bool
    """Whether there was not enough time for even one state."""
    difference: Difference | None
    cpu_seconds: float
    """That the child has used so far, altogether."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference that was found."""

    difference: Difference
    own: bool
    """Whether in a state of the match itself: what is known of the match is wrong."""


class CrossChecker:
    """The child process and the thread that drives it. Any thread may call any method; only `settle` blocks."""

    def __init__(self, checked: CheckedRules, notify: Callable[[], None]) -> None:
        """Forks the child; to be called before the process has threads. `notify` is called, in the thread, when there
        is something to `poll`."""
        self._child = ChildProcess(_compare, checked)
        self._notify = notify
        self._changed = threading.Condition()
        self._machine: StateMachine | None = None
        self._machine_sent = False
        self._seen: deque[Observation] = deque()
        self._own_cpu_seconds = OWN_CPU_SECONDS
        self._random_cpu_seconds = RANDOM_CPU_SECONDS
        self._finding: Finding | None = None
        self._wrong: StateMachine | None = None
        """The machine that was found wrong in a state of the match itself, last."""
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
        """From now on compares this machine, or none."""
        with self._changed:
            self._machine = machine
            self._machine_sent = False
            self._seen.clear()
            self._finding = None
            self._own_cpu_seconds, self._random_cpu_seconds = OWN_CPU_SECONDS, RANDOM_CPU_SECONDS
            self._changed.notify_all()

    def observed(self, machine: StateMachine, seen: Observation) -> None:
        """Takes a state of the match; one of a machine that is no longer watched is dropped."""
        with self._changed:
            if machine is self._machine:
                self._seen.append(seen)
                self._changed.notify_all()

    def settle(self, machine: StateMachine, seconds: float, stopped: Callable[[], bool]) -> bool:
        """Waits until the states of the match that were observed are compared: at most so long, and until `stopped`.

        False if one of them differs. Unlike all else here this blocks.
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
        """Says whether thinking rests: time spent so pays for no comparing."""
        with self._changed:
            self._thought = self._thinking_seconds()
            self._thinking_since = None if resting else time.monotonic()
            self._changed.notify_all()

    def poll(self) -> Finding | None:
        """The difference found since the last call. The machine in which it was found is no longer watched."""
        with self._changed:
            finding, self._finding = self._finding, None
            return finding

    def summary(self) -> str:
        """What was compared and what it cost, for the log."""
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
        """What to do next as soon as it may be done, and the machine it is about; None when all is over."""
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
        """Books a task's outcome; whether there is something to poll."""
        with self._changed:
            # This thread's own work is writing and reading what passes.
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
        """Seconds of thinking until so much CPU time may be spent in addition; not positive where it may at once."""
        return (spent + cpu_seconds) / share - self._thinking_seconds()


# ------------------------------------------------------------------------------------------------------- in the child


def _compare(pipe: Connection, checked: CheckedRules) -> None:
    """Does task after task, until the pipe is closed."""
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
    """Compares one state; see `_Outcome` for what is returned."""
    end = time.process_time() + cpu_seconds
    try:
        with interpreter.interruptible(lambda: time.process_time() > end):
            difference = compare(seen, interpreter)
    except Interrupted:
        return 0, True, None
    except LimitError:
        # The interpreter cannot tell, however long it is asked.
        return 0, False, None
    return int(difference is None), False, difference


def _play_on(matches: CrossCheck, interpreter: Interpreter, cpu_seconds: float) -> tuple[int, bool, Difference | None]:
    """Plays random matches for half of the time, so that a state that is begun then can mostly be finished."""
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
