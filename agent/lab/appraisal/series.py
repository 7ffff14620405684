"""Has the matches of an appraisal played, in workers, until there are enough or it is stopped."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from agent.errors import InputError
from agent.lab.appraisal.match import as_row, from_row
from agent.lab.appraisal.playing import AppraisalSettings, open_appraising
from agent.lab.appraisal.report import Report
from agent.lab.jobs.executor import Executor, JobDone, JobSession, Lost, Task, Tell
from agent.lab.progress import Pace
from agent.lab.tournament.log import MatchLog
from agent.lab.tournament.results import digest
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
    log: Path | None = None,
) -> tuple[Report, bool]:
    """Plays the matches that the log does not hold; returns the report, and whether it was interrupted.

    `told` gets the report at the beginning and after each match, `tell` lines about workers. `KeyboardInterrupt` ends
    the matches under way. Raises `LostWorkerError`, `InputError` where no role is a player's or the log is that of
    another series, and `GameError` where the rules cannot be evaluated.
    """
    begin = time.monotonic()
    report = Report(sheet, matches)
    if not report.roles:
        raise InputError(f"{sheet.name}: no role is a player's")
    file = None if log is None else MatchLog(log, {"rules": digest(sheet), **asdict(settings)}, from_row)
    for played in file.read() if file is not None else ():
        if played.match.number <= matches:
            report.add(played)
    known = {match.number for match in report.matches}
    report.pace = Pace(matches, len(known))
    told(report)
    session = JobSession(partial(open_appraising, settings, sheet), kernels=playing())
    interrupted = False
    try:
        tasks = [Task(number) for number in range(1, matches + 1) if number not in known]
        with contextlib.closing(executor.run(session, tasks, tell)) as events:
            for event in events:
                if isinstance(event, JobDone):
                    report.add(event.result)
                    if file is not None:
                        file.append(as_row(event.result))
                elif isinstance(event, Lost):
                    report.lost += 1
                else:
                    continue
                report.seconds = time.monotonic() - begin
                report.pace.reaches(len(report.matches))
                told(report)
                endless = [match.outcome == "endless" for match in report.matches]
                if len(endless) >= ENDLESS_MATCHES and all(endless):
                    break
    except KeyboardInterrupt:
        interrupted = True
    report.seconds = time.monotonic() - begin
    report.done = True
    return report, interrupted
