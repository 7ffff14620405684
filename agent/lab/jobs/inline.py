"""Jobs in this process, one after the other: for a few that are quick, or bring child processes of their own."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from agent.lab.jobs.executor import Done, Event, Executor, Job, Result, Session, Started, Task, Tell


class InlineExecutor(Executor):
    """Carries out jobs here. It loses none: where one ends the process, it ends all."""

    def check(self, cores: int) -> None:
        """Takes any number: there is one job at a time."""

    def run(
        self, session: Session[Job, Result], tasks: Sequence[Task[Job]], tell: Tell = lambda line: None
    ) -> Generator[Event[Result], None, None]:
        """See `Executor.run`."""
        carry_out = session.open()
        for number, task in enumerate(tasks):
            yield Started(number, "here")
            for result in carry_out(task.job):
                yield Done(number, "here", result)
