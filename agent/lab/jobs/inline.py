"""Jobs in this process, one after the other: for a few quick ones, or those with child processes of their own."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from agent.lab.jobs.executor import Event, Executor, Job, JobDone, JobSession, Result, Started, Task, Tell


class InlineExecutor(Executor):
    """Carries out jobs in this process; loses none."""

    def check(self, cores: int) -> None:
        """Accepts any number: there is one job at a time."""

    def run(
        self, session: JobSession[Job, Result], tasks: Sequence[Task[Job]], tell: Tell = lambda line: None
    ) -> Generator[Event[Result], None, None]:
        """See `Executor.run`."""
        carry_out = session.open()
        for number, task in enumerate(tasks):
            yield Started(number, "here")
            for result in carry_out(task.job):
                yield JobDone(number, "here", result)
