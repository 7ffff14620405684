"""Learning a game before it is played: the course of a run, runs that follow one another, the command."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agent.cli import main
from agent.commands.options import INTERRUPTED, WRONG_INPUT
from agent.errors import InputError
from agent.lab.commands import learn as command
from agent.lab.learn import Course, Version, learn
from agent.search.learning.memory import MemoryEntry, SheetMemory, Store
from agent.sheet import load

FOREVER = 1e6


def taught(
    folder: Path, versions: int, game: str = "tic_tac_toe", cluster: str | None = None
) -> tuple[Course, list[Version]]:
    """Learns until there are so many versions."""
    stop = np.zeros(1, np.uint8)
    told: list[Version] = []

    def tell(version: Version) -> None:
        told.append(version)
        stop[0] = len(told) >= versions

    return learn(load(game), folder, FOREVER, 1, cluster, stop, tell), told


def memory_of(folder: Path, game: str = "tic_tac_toe") -> MemoryEntry:
    """What a match of the game would begin with."""
    sheet = load(game)
    entry = SheetMemory(Store(folder), sheet.rulesheet, sheet.roles).read()
    assert entry is not None
    return entry


def test_a_run_leaves_an_evaluation_to_matches_and_another_goes_on(tmp_path: Path) -> None:
    """Versions and matches are counted on; each has figures; what is learnt foresees results."""
    course, told = taught(tmp_path, 3)
    assert [version.generation for version in told] == [1, 2, 3]
    assert course.generations == memory_of(tmp_path).generations == 3
    assert course.matches == memory_of(tmp_path).matches >= told[-1].matches > 3 * 200
    figures = [version.figures for version in told]
    assert all(0 < one.loss < np.log(2) and 0 < one.held_out < 1 for one in figures)
    assert all(one.played == 32 for one in figures)
    assert all(one.better == (one.points > (32 - one.points) * one.nodes) for one in figures)
    assert told[0].seconds < told[2].seconds
    again, more = taught(tmp_path, 2)
    assert [version.generation for version in more] == [4, 5]
    assert again.generations == memory_of(tmp_path).generations == 5
    assert memory_of(tmp_path).matches == course.matches + again.matches


def test_trial_matches_of_a_worse_evaluation_are_forgotten(tmp_path: Path) -> None:
    """Those before it learnt more say nothing about the choice of the search."""
    taught(tmp_path, 1)
    sheet = load("tic_tac_toe")
    store = Store(tmp_path)
    memory = SheetMemory(store, sheet.rulesheet, sheet.roles)
    entry = memory_of(tmp_path)
    (path,) = tmp_path.glob("*.learnt")
    store.write(path.stem, replace(entry, counts=np.array([1, 2, 8, 0]), points=np.array(0.0)))
    assert (memory_of(tmp_path).trials[1], memory.read() is not None) == (8, True)
    course, _ = taught(tmp_path, 1)
    assert course.trial_matches == 0
    assert memory_of(tmp_path).trials == (0.0, 0)


@pytest.mark.parametrize(
    ("game", "reason"),
    [
        ("reversi_tally", "evaluation of its own"),
        ("eight_puzzle", "two players"),
        ("rock_paper_scissors", "take turns"),
    ],
)
def test_games_that_are_not_learnt_say_why(tmp_path: Path, game: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        taught(tmp_path, 1, game)
    assert not list(tmp_path.iterdir())


def test_the_command_ends_on_a_signal_with_all_that_it_learnt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """SIGTERM: exit status, a line of the log for each version, and the memory."""
    line = command._line

    def interrupted(version: Version) -> str:
        if version.generation == 2:
            signal.raise_signal(signal.SIGTERM)
        return line(version)

    monkeypatch.setattr(command, "_line", interrupted)
    before = signal.getsignal(signal.SIGTERM)
    log = tmp_path / "log.jsonl"
    arguments = ["learn", "tic_tac_toe", "--minutes", "1000", "--memory", str(tmp_path / "memory"), "--log", str(log)]
    assert main(arguments) == INTERRUPTED
    assert signal.getsignal(signal.SIGTERM) is before
    lines = [json.loads(text) for text in log.read_text().splitlines()]
    assert [one["generation"] for one in lines] == [1, 2]
    assert all(0 < one["loss"] < np.log(2) and one["played"] == 32 for one in lines)
    assert memory_of(tmp_path / "memory").generations == 2
    assert "2 versions in all" in capsys.readouterr().out


def test_a_log_that_cannot_be_written_is_said_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["learn", "tic_tac_toe", "--memory", str(tmp_path), "--log", str(tmp_path / "none" / "log")]
    assert main(arguments) == WRONG_INPUT
    assert "No such file" in capsys.readouterr().err
    assert main(["learn", "tic_tac_toe", "--memory", "/proc/none"]) == WRONG_INPUT
    assert "/proc/none" in capsys.readouterr().err
