"""The worker's end never waits for its broker; answers to other questions do not count."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent.errors import InputError
from agent.helpers import link
from agent.helpers.connection import NoClusterError, check_reachable
from agent.helpers.link import ClusterTeam
from tests.agent.helpers import fake_broker
from tests.agent.helpers.counting import Counting
from tests.ports import refusing_port
from tests.processes import until

MACHINE: Any = "a machine"

Start = Callable[[str], ClusterTeam]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a team with a fake broker."""
    monkeypatch.setattr(link, "FIRST_DELAY", 0.01)
    teams: list[ClusterTeam] = []

    def start(mode: str) -> ClusterTeam:
        team = ClusterTeam("auto", 0, partial(fake_broker.serve, mode, tmp_path / "starts"))
        teams.append(team)
        team.play(MACHINE, 0)
        return team

    yield start
    for team in teams:
        team.close()


def test_answers_are_heard(start: Start) -> None:
    """The engine gets each answer, and its notes are passed on."""
    team = start("answers")
    heard: list[object] = []

    def hear(answer: object) -> object:
        heard.append(answer)
        return "a note" if len(heard) == 1 else None

    team.ask(Counting(1), b"first", hear)
    until(lambda: len(heard) == 2)
    assert team.size == 1
    assert heard == [(b"first", True, True), "a note"]


def test_answers_to_other_questions_are_dropped(start: Start) -> None:
    """Late and unreadable answers are dropped."""
    team = start("answers")
    setting = Counting(1)
    first: list[object] = []
    second: list[object] = []
    team.ask(setting, b"first", first.append)
    until(lambda: first == [(b"first", True, True)])
    team.ask(setting, b"second", second.append)
    until(lambda: second == [(b"second", True, True)])
    assert len(first) == 1


def test_nothing_is_heard_while_a_team_rests(start: Start) -> None:
    """An engine is not called while it does not think; the same question asked again is answered again."""
    team = start("answers")
    before: list[object] = []
    after: list[object] = []
    setting = Counting(1)
    team.ask(setting, b"first", before.append)
    until(lambda: len(before) == 1)
    team.rest(setting)
    team.ask(setting, b"first", after.append)
    until(lambda: (b"first", True, True) in after)
    assert before == [(b"first", True, True)]


def test_only_who_has_asked_sends_a_team_to_rest(start: Start) -> None:
    """The end of an earlier search does not stop the next one."""
    team = start("answers")
    first, second = Counting(1), Counting(2)
    heard: list[object] = []
    team.ask(first, b"first", heard.append)
    team.ask(second, b"second", heard.append)
    team.rest(first)
    until(lambda: (b"second", True, True) in heard)


def test_a_broker_that_dies_is_followed_by_another(start: Start, tmp_path: Path) -> None:
    """The new broker gets game, setting and question."""
    team = start("dies")
    heard: list[object] = []
    team.ask(Counting(1), b"first", heard.append)
    until(lambda: heard == [(b"first", True, True)])
    assert (tmp_path / "starts").read_text() == "xx"


def test_without_ray_there_is_a_warning(start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Without Ray, a warning is logged, and the team never answers."""
    team = start("lacks")
    heard: list[object] = []
    until(lambda: "there is no Ray" in caplog.text)
    team.ask(Counting(1), b"first", heard.append)
    assert not team.wait(1, 0.01)
    assert heard == []
    assert (tmp_path / "starts").read_text() == "x"


def test_a_broker_that_hangs_keeps_nobody_waiting(start: Start) -> None:
    """No amount of unread messages makes the engine wait."""
    team = start("hangs")
    settings = [Counting(n) for n in range(2000)]
    heard: list[object] = []
    for setting in settings:
        team.ask(setting, b"state " * 1000, heard.append)
    team.rest(settings[-1])
    assert heard == []


def test_a_program_that_is_missing_is_a_warning(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that cannot be started is a warning."""
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with closing(ClusterTeam("auto")) as team:
        until(lambda: "cannot be started" in caplog.text)
        assert team.size == 0


def test_the_game_comes_first(tmp_path: Path) -> None:
    """The game is sent before the first question."""
    broker = partial(fake_broker.serve, "answers", tmp_path / "starts")
    with closing(ClusterTeam("auto", 0, broker)) as team, pytest.raises(ValueError, match="game"):
        team.ask(Counting(1), b"first", print)


@pytest.mark.parametrize("address", ["", "here", "ray://127.0.0.1:10001", "127.0.0.1"])
def test_bad_addresses_are_refused_at_once(address: str) -> None:
    """An address that is none raises at once; Ray would try for minutes."""
    with pytest.raises(InputError, match="HOST:PORT"):
        check_reachable(address)


def test_cluster_that_does_not_answer_may_do_so_later() -> None:
    """A cluster that does not answer is no wrong address: the error says so."""
    with refusing_port() as port, pytest.raises(NoClusterError, match="refused"):
        check_reachable(f"127.0.0.1:{port}")
