"""The executor of this machine, by the contract of all executors."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from agent.errors import InputError
from agent.lab.jobs.cores import NoFreeCoresError, claim_cores, claim_or_share_cores
from agent.lab.jobs.executor import JobSession, LostWorkerError, Task
from agent.lab.jobs.local import LocalExecutor
from tests.agent.lab.jobs.contract import check_losses, check_results
from tests.agent.lab.jobs.jobs import Dice, dice, die, refuse

JOBS = min(2, len(os.sched_getaffinity(0)))


def test_results_are_those_of_the_seeds(tmp_path: Path) -> None:
    """Results do not depend on the process; jobs at the same time use different cores."""
    check_results(LocalExecutor(JOBS), tmp_path, JOBS)


def test_lost_jobs_are_run_again_once(tmp_path: Path) -> None:
    """A killed worker costs nothing; a job that kills its worker twice is lost, and others go on."""
    check_losses(LocalExecutor(JOBS), tmp_path)


def test_worker_that_cannot_begin_is_an_error(tmp_path: Path) -> None:
    """Errors of opening a session are raised; a process that dies while opening is not restarted."""
    with pytest.raises(ValueError, match="no dice"):
        list(LocalExecutor(1).run(JobSession(refuse), [Task(Dice(1))]))
    with pytest.raises(LostWorkerError, match="before it could begin"):
        list(LocalExecutor(1).run(JobSession(die), [Task(Dice(1))]))


def test_more_cores_than_there_are(tmp_path: Path) -> None:
    """More cores than there are is wrong input, before anything starts."""
    with pytest.raises(InputError, match="cores are wanted"):
        LocalExecutor(1).run(JobSession(dice(tmp_path).open, cores=10_000), [Task(Dice(1))])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of claims, not made yet, of a user without a runtime folder."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / f"ggp-agent-cores-{os.getuid()}"


def test_cores_are_not_claimed_where_nothing_can_be_written(folder: Path) -> None:
    """Claims are files: without a folder for them, all cores are taken to be free."""
    folder.touch()
    with closing(claim_cores(1)) as one, closing(claim_cores(1)) as other:
        assert one.cores == other.cores


def test_claims_are_in_a_folder_of_the_users_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runtime folder is preferred. A folder that others can enter, or a link that they laid, is left alone."""
    elsewhere = folder.with_name("elsewhere")
    elsewhere.mkdir(mode=0o755)
    folder.symlink_to(elsewhere)
    claim_cores(1).close()
    folder.unlink()
    elsewhere.rename(folder)
    claim_cores(1).close()
    assert list(folder.iterdir()) == []
    runtime = folder.with_name("runtime")
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    with closing(claim_cores(1)) as claim:
        assert [str(core) for core in claim.cores] == [path.name for path in (runtime / folder.name).iterdir()]


@pytest.mark.usefixtures("folder")
def test_cores_are_claimed_by_one_worker_at_a_time() -> None:
    """A claimed core is nobody else's until it is given back."""
    available = len(os.sched_getaffinity(0))
    claim = claim_cores(available)
    assert set(claim.cores) == os.sched_getaffinity(0)
    with pytest.raises(NoFreeCoresError, match=f"1 of {available} cores are wanted, and 0 are free"):
        claim_cores(1, patience=0.0)
    claim.close()
    with closing(claim_cores(1, patience=0.0)) as one:
        assert len(one.cores) == 1


@pytest.mark.skipif(JOBS < 2, reason="needs two cores")
@pytest.mark.usefixtures("folder")
def test_runs_at_the_same_time_use_different_cores(tmp_path: Path) -> None:
    """Two runs of one job each do not meet on the first core; a run that finds no core free shares one."""
    available = sorted(os.sched_getaffinity(0))
    with ExitStack() as stack:
        runs = [stack.enter_context(closing(LocalExecutor(1).run(dice(tmp_path), [Task(Dice(0))]))) for _ in available]
        places = [next(run).place for run in runs]
        assert sorted(places) == [f"core {core}" for core in available]
        with closing(claim_or_share_cores(1)) as claim:
            assert claim.cores[0] in available
            assert claim.files == ()
    with closing(claim_or_share_cores(len(available))) as claim:
        assert claim.cores == tuple(available)
        assert len(claim.files) == len(available)
