"""An executor that loses its first task."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from agent.lab.jobs.executor import Event, Job, JobSession, Lost, Result, Task, Tell
from agent.lab.jobs.inline import InlineExecutor


class Loser(InlineExecutor):
    """Carries out all tasks but the first."""

    def run(
        self, session: JobSession[Job, Result], tasks: Sequence[Task[Job]], tell: Tell = lambda line: None
    ) -> Generator[Event[Result], None, None]:
        yield Lost(0, "nowhere", "the machine is gone")
        for event in super().run(session, tasks[1:], tell):
            yield replace(event, number=event.number + 1)
