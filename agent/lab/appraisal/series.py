"""Has the matches of an appraisal played, in workers, until there are enough or it is stopped."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from functools import partial

from agent.errors import InputError
from agent.lab.appraisal.playing import AppraisalSettings, open_appraising
from agent.lab.appraisal.report import Report
from agent.lab.jobs.executor import Executor, JobDone, JobSession, Lost, Task, Tell
from agent.search.kernel_groups import playing
from agent.sheet import Sheet

ENDLESS_MATCHES = 3
"""Matches without an end after which no more are played, if none has had one."""


def appraise(
    sheet: Sheet,
    settings: AppraisalSettings,
    matches: int,
    executor: Executor,
    told: Callable[[Report], None] = lambda report: None,
    tell: Tell = lambda line: None,
) -> tuple[Report, bool]:
    """Plays matches; returns the report, and whether it was interrupted.

    `told` gets the report at the beginning and after each match, `tell` lines about workers. `KeyboardInterrupt` ends
    the matches under way. Raises `LostWorkerError`, `InputError` where no role is a player's, and `GameError` where the
    rules cannot be evaluated.
    """
    begin = time.monotonic()
    report = Report(sheet, matches)
    if not report.roles:
        raise InputError(f"{sheet.name}: no role is a player's")
    told(report)
    session = JobSession(partial(open_appraising, settings, sheet), kernels=playing())
    interrupted = False
    try:
        tasks = [Task(number) for number in range(1, matches + 1)]
        with contextlib.closing(executor.run(session, tasks, tell)) as events:
            for event in events:
                if isinstance(event, JobDone):
                    report.add(event.result)
                elif isinstance(event, Lost):
                    report.lost += 1
                else:
                    continue
                report.seconds = time.monotonic() - begin
                told(report)
                endless = [match.outcome == "endless" for match in report.matches]
                if len(endless) >= ENDLESS_MATCHES and all(endless):
                    break
    except KeyboardInterrupt:
        interrupted = True
    report.seconds = time.monotonic() - begin
    report.done = True
    return report, interrupted
