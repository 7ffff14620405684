"""The executor of this machine, and what all executors promise: `contract` is run against the other one as well."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.errors import InputError
from agent.lab.jobs.cores import NoFreeCoresError, claim_cores
from agent.lab.jobs.executor import JobSession, LostWorkerError, Task
from agent.lab.jobs.local import LocalExecutor
from tests.agent.lab.jobs.contract import check_losses, check_results
from tests.agent.lab.jobs.jobs import Dice, dice, die, refuse

JOBS = min(2, len(os.sched_getaffinity(0)))


def test_results_are_those_of_the_seeds(tmp_path: Path) -> None:
    """Whoever carries them out; at the same time they use different cores."""
    check_results(LocalExecutor(JOBS), tmp_path, JOBS)


def test_lost_jobs_are_run_again_once(tmp_path: Path) -> None:
    """A worker that is killed costs nothing; a job that kills its worker twice is reported, and the others go on."""
    check_losses(LocalExecutor(JOBS), tmp_path)


def test_worker_that_cannot_begin_is_an_error(tmp_path: Path) -> None:
    """What opening a session raises is raised; a process that ends before it has begun is not started again."""
    with pytest.raises(ValueError, match="no dice"):
        list(LocalExecutor(1).run(JobSession(refuse), [Task(Dice(1))]))
    with pytest.raises(LostWorkerError, match="before it could begin"):
        list(LocalExecutor(1).run(JobSession(die), [Task(Dice(1))]))


def test_more_cores_than_there_are(tmp_path: Path) -> None:
    """Is wrong input, before anything is started."""
    with pytest.raises(InputError, match="cores are wanted"):
        LocalExecutor(1).run(JobSession(dice(tmp_path).open, cores=10_000), [Task(Dice(1))])


def test_cores_are_claimed_by_one_worker_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one has, another does not get, until it is given back."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    available = len(os.sched_getaffinity(0))
    claim = claim_cores(available)
    assert set(claim.cores) == os.sched_getaffinity(0)
    with pytest.raises(NoFreeCoresError, match=f"1 of {available} cores are wanted, and 0 are free"):
        claim_cores(1, patience=0.0)
    for file in claim.files:
        file.close()
    one = claim_cores(1, patience=0.0)
    assert len(one.cores) == 1
    for file in one.files:
        file.close()
