"""The contract of all executors."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from agent.lab.jobs.executor import Executor, JobDone, Lost, Started, Task
from tests.agent.lab.jobs.jobs import Dice, dice, thrown


def check_results(executor: Executor, folder: Path, jobs: int) -> None:
    """Results are those of the seeds, each once, in the order of their job; cores are not shared.

    The first `jobs` jobs are under way at the same time.
    """
    (folder / "begun").touch()
    tasks = [Task(Dice(seed, wait_for="begun" if seed < jobs else "")) for seed in range(8)]
    places: dict[int, str] = {}
    results: dict[int, list[int]] = {}
    cores: dict[int, tuple[int, ...]] = {}
    for event in executor.run(dice(folder, factor=10), tasks):
        assert not isinstance(event, Lost)
        if isinstance(event, Started):
            assert event.number not in places
            places[event.number] = event.place
            if len(places) == jobs:
                # Nobody goes on before all of these have begun.
                (folder / "go").touch()
        else:
            seed, number, cores[event.number] = event.result
            assert seed == event.number
            assert event.place == places[event.number]
            assert event.place.endswith("core " + ",".join(map(str, cores[event.number])))
            results.setdefault(event.number, []).append(number)
    assert results == {seed: thrown(seed, factor=10) for seed in range(8)}
    assert len({places[seed] for seed in range(jobs)}) == jobs
    assert len({core for seed in range(jobs) for core in cores[seed]}) == jobs
    assert set(map(int, (folder / "begun").read_text().split())) == set(range(jobs))


def check_losses(executor: Executor, folder: Path) -> None:
    """A job whose worker is killed once makes all its results once; one killed twice is lost, and others go on."""
    jobs = [Dice(0), Dice(1, killed=1), Dice(2, killed=2), Dice(3)]
    told: list[str] = []
    results: dict[int, list[int]] = {}
    lost: list[Lost] = []
    begun: Counter[int] = Counter()
    for event in executor.run(dice(folder), [Task(job) for job in jobs], told.append):
        if isinstance(event, Started):
            begun[event.number] += 1
        elif isinstance(event, JobDone):
            results.setdefault(event.number, []).append(event.result[1])
        else:
            lost.append(event)
    assert {n: results[n] for n in (0, 1, 3)} == {n: thrown(n) for n in (0, 1, 3)}
    # The second time it is killed after its first throw again, which is not new.
    assert results[2] == thrown(2)[:1]
    assert [event.number for event in lost] == [2]
    assert "signal 9" in lost[0].reason
    assert begun == {0: 1, 1: 2, 2: 2, 3: 1}
    assert sum("run again" in line for line in told) == 2
