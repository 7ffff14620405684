"""A worker's channel for tests that speak to a session in their own process."""

from __future__ import annotations

import queue

from agent.worker.messages import Begin, Channel, Command, Report


class Line(Channel):
    """A channel without descriptors."""

    def __init__(self) -> None:
        self.commands: queue.Queue[Command | None] = queue.Queue()
        self.reports: queue.Queue[Report] = queue.Queue()

    def send(self, report: Report) -> None:
        """To the test."""
        self.reports.put(report)

    def receive(self, timeout: float | None = None) -> Command | None:
        """From the test; `Begin` is the end."""
        try:
            command = self.commands.get(timeout=timeout)
        except queue.Empty:
            return None
        if isinstance(command, Begin):
            raise EOFError
        return command

    def wake(self) -> None:
        """Nothing is as good as any command."""
        self.commands.put(None)
