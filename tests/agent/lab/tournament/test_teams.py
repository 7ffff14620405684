"""Who plays one match after the other keeps its helpers, also where the last engine is not gone at once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

import pytest

from agent.errors import InputError
from agent.lab.tournament import teams


class FakeTeam:
    """Helpers that are at work, or none."""

    closed = 0
    """How many teams were."""

    def __init__(self, address: str, helpers: int) -> None:
        self.size = helpers if address == "ready" else 0

    def wait(self, helpers: int, seconds: float) -> bool:
        """Whether they are there."""
        return self.size >= helpers

    def close(self) -> None:
        """Counts it."""
        FakeTeam.closed += 1


class NoWaiting:
    """Stands in for the module `time` where nothing is to be waited for."""

    monotonic = staticmethod(time.monotonic)

    @staticmethod
    def sleep(seconds: float) -> None:
        """Is not to happen."""
        raise AssertionError("there is nobody to wait for")


class FakeEngine:
    """Part of a cycle, as engines are."""

    def __init__(self, team: Any) -> None:
        self.team = team
        self.itself = self


@pytest.fixture(autouse=True)
def empty_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without teams of others."""
    monkeypatch.setattr(teams, "ClusterTeam", FakeTeam)
    monkeypatch.setattr(FakeTeam, "closed", 0)
    monkeypatch.setattr(teams, "_idle", {})
    monkeypatch.setattr(teams, "_teams", Counter())
    monkeypatch.setenv("RAY_ADDRESS", "ready")


def engine(helpers: int = 1) -> Any:
    """One with so many helpers."""
    made: Any = teams.with_helpers(helpers, FakeEngine)  # type: ignore[arg-type]
    return made


def test_next_engine_has_the_team_of_the_last_one() -> None:
    """Also where something that engine has left running still knows it."""
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
    """The second one after a while, in which the first one might have gone; other numbers of helpers at once."""
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
    """And is not waited for the next time."""
    monkeypatch.setenv("RAY_ADDRESS", "nobody")
    with pytest.raises(InputError, match="1 helpers are wanted, and 0 are at work"):
        engine()
    assert FakeTeam.closed == 1
    monkeypatch.setenv("RAY_ADDRESS", "ready")
    monkeypatch.setattr(teams, "time", NoWaiting)
    assert engine().team.size == 1


def test_team_is_free_where_no_engine_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it does not play the game, or fails."""
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
