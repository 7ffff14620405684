"""A channel for tests with a session in their own process."""

from __future__ import annotations

import queue

from agent.worker.messages import Begin, Channel, Command, Report


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
