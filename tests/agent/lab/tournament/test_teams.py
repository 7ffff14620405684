"""A process that plays many matches keeps its teams of helpers."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

import pytest

from agent.errors import InputError
from agent.lab.tournament import teams


class FakeTeam:
    """A team with helpers at work, or none."""

    closed = 0
    """Number of closed teams."""

    def __init__(self, address: str, helpers: int) -> None:
        self.size = helpers if address == "ready" else 0

    def wait(self, helpers: int, seconds: float) -> bool:
        """Whether the helpers are there."""
        return self.size >= helpers

    def close(self) -> None:
        """Counts the closed team."""
        FakeTeam.closed += 1


class NoWaiting:
    """Replaces the module `time` where nothing may wait."""

    monotonic = staticmethod(time.monotonic)

    @staticmethod
    def sleep(seconds: float) -> None:
        """Fails the test."""
        raise AssertionError("there is nobody to wait for")


class FakeEngine:
    """An engine in a reference cycle, like real ones."""

    def __init__(self, team: Any) -> None:
        self.team = team
        self.itself = self


@pytest.fixture(autouse=True)
def empty_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts each test without teams."""
    monkeypatch.setattr(teams, "ClusterTeam", FakeTeam)
    monkeypatch.setattr(FakeTeam, "closed", 0)
    monkeypatch.setattr(teams, "_idle", {})
    monkeypatch.setattr(teams, "_teams", Counter())
    monkeypatch.setenv("RAY_ADDRESS", "ready")


def engine(helpers: int = 1) -> Any:
    """Returns an engine with that many helpers."""
    made: Any = teams.with_helpers(helpers, FakeEngine)  # type: ignore[arg-type]
    return made


def test_next_engine_has_the_team_of_the_last_one() -> None:
    """The next engine gets the team, even if a thread still holds the last engine for a moment."""
    first = engine()
    team = first.team
    ended = threading.Event()
    left_running = threading.Thread(target=lambda known: ended.wait(), args=(first,))
    left_running.start()
    del first
    ending = threading.Timer(0.2, ended.set)
    ending.start()
    assert engine().team is team
    left_running.join()


def test_engines_at_the_same_time_have_teams_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second engine waits a while, then gets a team of its own; one with other helpers gets it at once."""
    monkeypatch.setattr(teams, "FREE_SECONDS", 0.1)
    first, second = engine(), engine()
    assert first.team is not second.team
    with monkeypatch.context() as patch:
        patch.setattr(teams, "time", NoWaiting)
        assert engine(2).team.size == 2
    both = {id(first.team), id(second.team)}
    del first, second
    again = engine(), engine()
    assert {id(one.team) for one in again} == both


def test_team_without_helpers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A team without helpers is closed, and the next engine does not wait for it."""
    monkeypatch.setenv("RAY_ADDRESS", "nobody")
    with pytest.raises(InputError, match="1 helpers are wanted, and 0 are at work"):
        engine()
    assert FakeTeam.closed == 1
    monkeypatch.setenv("RAY_ADDRESS", "ready")
    monkeypatch.setattr(teams, "time", NoWaiting)
    assert engine().team.size == 1


def test_team_is_free_where_no_engine_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A team is free again if the engine does not play the game, or fails."""
    monkeypatch.setattr(teams, "time", NoWaiting)
    seen: list[Any] = []

    def not_for_this_game(team: Any) -> None:
        seen.append(team)

    def failing(team: Any) -> None:
        seen.append(team)
        raise MemoryError("no room for a tree")

    assert teams.with_helpers(1, not_for_this_game) is None
    with pytest.raises(MemoryError, match="no room"):
        teams.with_helpers(1, failing)
    assert engine().team is seen[0] is seen[1]
