"""Sessions in the test's own process: their channel, their thread, and a machine that can be sent to others."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator

from agent.playing.session import Session

from agent.playing.messages import Begin, Channel, Command, Report
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules
from tests.processes import PATIENCE


class Portable(Interpreter):
    """A machine that can be sent to another process, as circuits can."""

    def __init__(self, checked: CheckedRules) -> None:
        super().__init__(checked)
        self._checked = checked

    def __reduce__(self) -> tuple[type[Portable], tuple[CheckedRules]]:
        return Portable, (self._checked,)


class Line(Channel):
    """A channel without descriptors."""

    def __init__(self) -> None:
        self.commands: queue.Queue[Command | None] = queue.Queue()
        self.reports: queue.Queue[Report] = queue.Queue()

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


@contextlib.contextmanager
def running(session: Session, line: Line) -> Iterator[None]:
    """Runs a session in a thread while the context lasts."""

    def run() -> None:
        with contextlib.suppress(EOFError):
            session.run()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        line.commands.put(session._begin)
        thread.join(PATIENCE)
        for gamer in (session._gamer, session._successor):
            if gamer is not None:
                gamer.retire()
