"""All results of jobs that make one result each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from agent.lab.jobs.executor import Executor, Job, JobDone, JobSession, Lost, LostWorkerError, Result, Task, Tell


def gather(
    executor: Executor, session: JobSession[Job, Result], jobs: Sequence[Job], tell: Tell = lambda line: None
) -> Iterator[JobDone[Result]]:
    """Carries out jobs; yields their results as they come, with their number among `jobs`.

    Raises `LostWorkerError` after all others where some were lost, and the errors of `Executor.run`.
    """
    lost: list[Lost] = []
    with contextlib.closing(executor.run(session, [Task(job) for job in jobs], tell)) as events:
        for event in events:
            if isinstance(event, JobDone):
                yield event
            elif isinstance(event, Lost):
                lost.append(event)
    if lost:
        raise LostWorkerError(
            f"{len(lost)} of {len(jobs)} jobs have ended their workers twice ({lost[0].reason}); "
            "what was done is kept, and the same command goes on from there"
        )
