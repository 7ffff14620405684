"""The two processes of a match in the test's own: their channel, their threads, and a machine that can be sent."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from agent.playing.messages import Begin, Channel, Checkpoint, Command, Report, Situation, Thought
from agent.playing.search import CompilationLike
from games.gdl.compile import Limits
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules
from games.machine import StateMachine
from protocol.kif import read_rulesheet
from protocol.messages import Start
from tests.matches import rules_of
from tests.processes import PATIENCE

Kind = TypeVar("Kind")

INITIAL = Checkpoint()


class Portable(Interpreter):
    """A machine that can be sent to another process, as circuits can."""

    def __init__(self, checked: CheckedRules) -> None:
        super().__init__(checked)
        self._checked = checked

    def __reduce__(self) -> tuple[type[Portable], tuple[CheckedRules]]:
        return Portable, (self._checked,)


class Compiled:
    """A compilation that is done, or will be when the test says so."""

    failed: str | None = None

    def __init__(self, machine: StateMachine, ready: threading.Event | None = None) -> None:
        self._machine, self._ready = machine, ready
        self.cancelled = False

    def poll(self) -> StateMachine | None:
        """Returns the machine."""
        return self._machine if self._ready is None or self._ready.is_set() else None

    def cancel(self) -> None:
        """Notes that it is not wanted."""
        self.cancelled = True


def compile_as(source: str, ready: threading.Event | None = None) -> Callable[[CheckedRules, Limits], CompilationLike]:
    """Returns a compilation that gives the machine of other rules than the match's."""
    wrong = rules_of(source)
    return lambda checked, limits: Compiled(Portable(wrong), ready)


def begin_of(
    source: str,
    role: str = "x",
    *,
    checkpoint: Checkpoint = INITIAL,
    seconds: float | None = None,
    ponder: bool = True,
    compile: bool = False,
    distrust: int = 0,
    start_clock: int = 10,
) -> Begin:
    """Returns the command that begins a match."""
    start = Start("m", role, read_rulesheet(source), start_clock, 10, source=source)
    return Begin(start, checkpoint, seconds, ponder, compile=compile, distrust=distrust)


class Line(Channel):
    """A channel without descriptors."""

    def __init__(self) -> None:
        self.commands: queue.Queue[Command | None] = queue.Queue()
        self.reports: queue.Queue[Report] = queue.Queue()
        self.ended: bool | None = None
        """Result of the process."""

    def send(self, report: Report) -> None:
        """Sends a report to the test."""
        self.reports.put(report)

    def receive(self, timeout: float | None = None) -> Command | None:
        """Returns the test's next command; `Begin` is the end."""
        try:
            command = self.commands.get(timeout=timeout)
        except queue.Empty:
            return None
        if isinstance(command, Begin):
            raise EOFError
        return command

    def wake(self) -> None:
        """Ends a wait, as any command does."""
        self.commands.put(None)

    # --- the test's end

    def say(self, command: Command) -> None:
        """Sends a command."""
        self.commands.put(command)

    def next(self, kind: type[Kind], fits: Callable[[Kind], bool] = lambda report: True) -> Kind:
        """Returns the next report of a kind that fits, and drops those before it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            report = self.reports.get(timeout=PATIENCE)
            if isinstance(report, kind) and fits(report):
                return report
        raise AssertionError("what is waited for does not come")

    def situation(self, turn: int) -> Situation:
        """Returns the next situation of a turn."""
        return self.next(Situation, lambda report: report.turn == turn)

    def thought(self, turn: int) -> Thought:
        """Returns the next opinion on a turn."""
        return self.next(Thought, lambda report: report.turn == turn)


class Process(Protocol):
    """A search, or a reference."""

    def run(self) -> bool:
        """Plays."""


@contextlib.contextmanager
def running(process: Process, line: Line) -> Iterator[Line]:
    """Runs a process's control thread while the context lasts."""

    def run() -> None:
        with contextlib.suppress(EOFError):
            line.ended = process.run()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield line
    finally:
        line.commands.put(begin_of("(role x)"))
        thread.join(PATIENCE)
