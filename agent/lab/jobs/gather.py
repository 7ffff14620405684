"""For those who want the results of all jobs, each of one result, and cannot do without any."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from agent.lab.jobs.executor import Done, Executor, Job, Lost, LostWorkerError, Result, Session, Task, Tell


def gather(
    executor: Executor, session: Session[Job, Result], jobs: Sequence[Job], tell: Tell = lambda line: None
) -> Iterator[Done[Result]]:
    """Carries out jobs; yields their results as they come, with their place among `jobs`.

    Raises `LostWorkerError` where some were lost, after all others; and what `Executor.run` raises.
    """
    lost: list[Lost] = []
    with contextlib.closing(executor.run(session, [Task(job) for job in jobs], tell)) as events:
        for event in events:
            if isinstance(event, Done):
                yield event
            elif isinstance(event, Lost):
                lost.append(event)
    if lost:
        raise LostWorkerError(
            f"{len(lost)} of {len(jobs)} jobs have ended their workers twice ({lost[0].reason}); "
            "what was done is kept, and the same command goes on from there"
        )
