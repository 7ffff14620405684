"""A series of games: spread over processes, resumed from its log, summed up, interrupted."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from agent.cli import main
from agent.commands.options import INTERRUPTED, OK, WRONG_INPUT
from agent.errors import InputError
from agent.lab.jobs.executor import LostWorkerError
from agent.lab.jobs.local import LocalExecutor
from agent.lab.measuring.strength.game import GameRecord, Series
from agent.lab.measuring.strength.series import Summary, read_log, run_series
from tests.agent.commands import start_command
from tests.agent.lab.jobs.losing import Loser
from tests.agent.terminal import shown_on_a_terminal

SERIES = Series("tic_tac_toe", ("montecarlo", "montecarlo"), seconds=0.002, opening_plies=2)


def record(number: int, result: int, *, first: int, proven: tuple[int | None, int | None], length: int) -> GameRecord:
    """A game of that length that the first contender won, drew or lost."""
    goals = [50 + 50 * result, 50 - 50 * result]
    moves = [["a", "b"]] * (length - 2)
    seats = [number % 2, 1 - number % 2]
    turns = {"slowest": [0.1, 0.2], "thought": [1.0, 2.0], "cpu": [0.75, 2.0]}
    return GameRecord(number, seats, [["a", "b"]] * 2, moves, goals, first, list(proven), [0, 1], **turns)


def wait_until_gone(processes: set[int]) -> None:
    """Until none of them runs any more."""
    end = time.monotonic() + 120.0
    while any(_runs(process) for process in processes):
        assert time.monotonic() < end, processes
        time.sleep(0.02)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def _children(process: int) -> set[int]:
    return {int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()}


def test_summary() -> None:
    """Scores by who moved first, and medians of proofs in which a game without one counts as proven at its end."""
    games = [
        record(0, 1, first=0, proven=(11, 14), length=20),
        record(1, 1, first=1, proven=(None, 12), length=20),
        record(2, -1, first=1, proven=(9, None), length=30),
    ]
    summary = Summary(SERIES, games)
    assert (summary.score().wins, summary.score().losses) == (2, 1)
    assert summary.score(chose_first=0).wins == 1
    assert summary.score(chose_first=1).share == 0.5
    first, second, either = (summary.proofs(contenders) for contenders in ([0], [1], [0, 1]))
    # From plies 11, 21 (never) and 9 on, of 20, 20 and 30.
    assert (first.first_ply, first.before_end, first.never) == (11, 10, 1)
    assert (second.first_ply, second.before_end, second.never) == (14, 7, 1)
    assert (either.first_ply, either.before_end, either.never) == (11, 10, 0)
    assert any(
        "66.7 % of 3 games" in line and "moving first 100.0 % of 1, second 50.0 % of 2" in line
        for line in summary.lines()
    )
    assert summary.as_json()["proofs_missed"] == [0, 3]
    assert summary.busy(0) == 0.75


def test_results_do_not_depend_on_the_number_of_jobs(tmp_path: Path) -> None:
    """Every game is played once and is the same game of the series, whichever process plays it."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores")
    openings = []
    for jobs in (1, 2):
        log, lines = tmp_path / f"{jobs}.log", list[str]()
        summary = run_series(SERIES, games=7, executor=LocalExecutor(jobs), log=log, tell=lines.append)
        assert summary.score().games == 7
        assert len(lines) == 4
        # Running scores are of whole pairs only; the last pair has one game here.
        last = [line.startswith("pair 4:") for line in lines].index(True)
        counts = [int(line.partition(" games (")[0].rpartition(" ")[2]) for line in lines]
        assert counts == [2 * done - (done > last) for done in range(1, 5)]
        assert "of 7 games" in lines[-1]
        games = read_log(log, SERIES)
        openings.append([games[number].opening for number in range(7)])
    assert openings[0] == openings[1]


def test_log_is_resumed(tmp_path: Path) -> None:
    """What a log holds is counted and not played; half a line at its end is forgotten; half a pair is completed."""
    log = tmp_path / "games.log"
    run_series(SERIES, games=4, executor=LocalExecutor(1), log=log)
    kept = log.read_text().splitlines(keepends=True)
    log.write_text("".join(kept[:3]) + kept[3][:50])
    lines: list[str] = []
    assert run_series(SERIES, games=4, executor=LocalExecutor(1), log=log, tell=lines.append).score().games == 4
    again = log.read_text().splitlines(keepends=True)
    assert again[:3] == kept[:3]
    assert [json.loads(line)["number"] for line in again] == [0, 1, 2, 3]
    assert lines[0].startswith("3 games are in")
    assert [line.partition(":")[0] for line in lines[1:]] == ["pair 2"]
    assert run_series(SERIES, games=2, executor=LocalExecutor(1), log=log).score().games == 2
    assert log.read_text().splitlines(keepends=True) == again


def test_log_of_something_else_is_refused(tmp_path: Path) -> None:
    """A log of a series with other settings, or a file that is no log, is neither counted nor touched."""
    log = tmp_path / "games.log"
    game = record(0, 1, first=0, proven=(None, None), length=9)
    log.write_text(json.dumps({**asdict(SERIES), **asdict(game), "seconds": 5.0}) + "\n")
    before = log.read_text()
    with pytest.raises(InputError, match=r"seconds is 5\.0 instead of 0\.002"):
        read_log(log, SERIES)
    assert log.read_text() == before
    for notes in ("notes", "notes\n", "[]\n", "{}\n"):
        log.write_text(notes)
        with pytest.raises(InputError, match="not a log"):
            read_log(log, SERIES)
        assert log.read_text() == notes


def test_more_cores_than_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Games that would share cores are refused: their times would not be equal. So are unknown contenders."""
    command = ["strength", "tic_tac_toe", "general", "general"]
    assert main([*command, "--jobs", "100000"]) == WRONG_INPUT
    assert "cores are wanted" in capsys.readouterr().err
    assert main([*command[:3], "nobody"]) == WRONG_INPUT
    assert "nobody: no engine" in capsys.readouterr().err


def test_error_in_a_worker_is_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """A contender that does not play the game is found out by the worker, and reported like any wrong input."""
    assert main(["strength", "tic_tac_toe", "native", "general"]) == WRONG_INPUT
    assert "the native engine does not play this game" in capsys.readouterr().err


def test_command_prints_and_writes_its_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line per pair, then score and proofs, also as JSON; proofs end turns, so that the clock plays no part."""
    result = tmp_path / "result.json"
    command = f"strength tic_tac_toe general general --games 2 --seconds 600 --opening 3 --json {result}"
    assert main(command.split()) == OK
    shown = capsys.readouterr().out
    assert "pair 1: " in shown
    assert "first (general): result proven from ply " in shown
    data = json.loads(result.read_text())
    assert data["score"]["wins"] + data["score"]["draws"] + data["score"]["losses"] == 2
    assert data["proofs"][0]["never"] == 0
    assert data["opening_plies"] == 3


def test_bar_on_a_terminal() -> None:
    """How many games are done, and how long it still takes; lines for people above it."""
    arguments = ["tic_tac_toe", "montecarlo", "montecarlo", "--games", "4", "--seconds", "0.002", "--opening", "2"]
    shown = shown_on_a_terminal("-m", "agent.cli", "strength", *arguments)
    assert "left:" in shown
    assert "4/4" in shown
    assert "pair 2: " in shown


def test_lost_worker_costs_nothing(tmp_path: Path) -> None:
    """A worker that is killed, for its memory perhaps, in the middle of a pair: its other game is played, once."""
    log, told = tmp_path / "games.log", list[str]()

    def kill_workers(missing: int) -> None:
        if missing == 3:
            for worker in multiprocessing.active_children():
                worker.kill()

    summary = run_series(SERIES, games=4, executor=LocalExecutor(1), log=log, tell=told.append, progress=kill_workers)
    assert summary.score().games == 4
    assert [json.loads(line)["number"] for line in log.read_text().splitlines()] == [0, 1, 2, 3]
    assert sum("run again" in line for line in told) == 1


def test_pair_that_is_lost_twice_is_an_error() -> None:
    """It is said so after all others were played."""
    told: list[str] = []
    with pytest.raises(LostWorkerError, match="2 of 4 games are missing"):
        run_series(SERIES, games=4, executor=Loser(), tell=told.append)
    assert [line.partition(":")[0] for line in told] == ["pair 1", "pair 2"]


@pytest.mark.parametrize(("ending", "status"), [(signal.SIGINT, INTERRUPTED), (signal.SIGKILL, -signal.SIGKILL)])
def test_workers_end_with_the_command(tmp_path: Path, ending: signal.Signals, status: int) -> None:
    """Ctrl-C, which a terminal sends to all processes, ends everything without a traceback; so does a kill."""
    log = tmp_path / "games.log"
    arguments = f"strength tic_tac_toe general general --games 1000 --seconds 0.02 --opening 0 --log {log}".split()
    process = start_command(*arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    with process.stderr:
        end = time.monotonic() + 300.0
        while not log.exists():
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.02)
        workers = _children(process.pid)
        assert workers
        (os.killpg if ending == signal.SIGINT else os.kill)(process.pid, ending)
        assert process.wait(120) == status
        assert process.stderr.read() == ("interrupted\n" if ending == signal.SIGINT else "")
    wait_until_gone(workers)
