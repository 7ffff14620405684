"""Opinions sent, and their times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from agent.playing import opinions as module
from agent.playing.messages import Checkpoint, Situation
from agent.playing.opinions import Opinions
from agent.search.engine import Opinion, Score
from games.machine import GameError


class FakeTimer:
    """A timer that the test fires."""

    def __init__(self, seconds: float, run: Callable[..., None], arguments: list[object]) -> None:
        self.daemon = False
        self._run, self._arguments = run, arguments
        timers.append(self)

    def start(self) -> None:
        """Does nothing: the test fires it."""

    def fire(self) -> None:
        """Runs the function."""
        self._run(*self._arguments)


timers: list[FakeTimer] = []


class Sent:
    """Opinions, and those that were sent."""

    def __init__(self) -> None:
        self.values: list[tuple[int, float | None, bool]] = []
        self.settled = True
        self.stop = np.zeros(1, np.uint8)
        self.opinions = Opinions(self._send, lambda: self.settled, self.stop)
        self.opinions.begin(situation(3))

    def _send(self, turn: int, opinion: Opinion) -> None:
        self.values.append((turn, opinion.score.goal, opinion.final))

    def report(self, value: float, move: str = "left", *, final: bool = False) -> None:
        """Reports an opinion."""
        self.opinions.report(Opinion(move, Score(value), final=final))


def situation(turn: int, *legal: str) -> Situation:
    """Returns a situation, with two legal moves unless told otherwise."""
    return Situation(turn, 0, legal or ("left", "right"), False, None, Checkpoint(), False)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Returns opinions in turn 3, with a clock that stands still."""
    timers.clear()
    monkeypatch.setattr(module.threading, "Timer", FakeTimer)
    monkeypatch.setattr(module.time, "monotonic", lambda: 1000.0)
    return Sent()


def test_same_move_is_not_told_again_at_once(sent: Sent) -> None:
    """Of opinions in quick succession, the last is sent a little later; another move is sent at once."""
    for value in (10.0, 20.0, 30.0):
        sent.report(value)
    assert sent.values == [(3, 10.0, False)]
    sent.report(40.0, "right")
    assert sent.values[1:] == [(3, 40.0, False)]
    sent.report(50.0, "right")
    for timer in timers:
        timer.fire()
    assert sent.values[2:] == [(3, 50.0, False)]
    assert sent.opinions.newest == Opinion("right", Score(50.0))


def test_opinion_that_is_late_is_told_at_once(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept back once the time is over."""
    sent.report(10.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: 1000.0 + module.REPEAT_AFTER)
    sent.report(20.0)
    assert sent.values == [(3, 10.0, False), (3, 20.0, False)]
    assert not timers


def test_nothing_of_an_earlier_turn_is_told(sent: Sent) -> None:
    """An opinion kept back is dropped with its turn, or when other moves turn out to be legal."""
    sent.report(10.0)
    sent.report(20.0)
    sent.opinions.begin(situation(4))
    assert sent.opinions.newest is None
    sent.opinions.repeat()
    sent.report(30.0)
    sent.report(40.0)
    timers[0].fire()
    assert sent.values[1:] == [(4, 30.0, False)]
    sent.opinions.amend(situation(4, "left"))
    for timer in timers:
        timer.fire()
    assert sent.values == [(3, 10.0, False), (4, 30.0, False)]
    sent.opinions.repeat()
    assert sent.values[2:] == [(4, 30.0, False)]
    with pytest.raises(GameError, match="right"):
        sent.report(50.0, "right")


def test_what_was_kept_back_when_thinking_stopped_is_dropped(sent: Sent) -> None:
    """An opinion kept back during a rest is dropped, and delays no later one."""
    sent.report(10.0)
    sent.report(20.0)
    sent.stop[0] = 1
    sent.report(30.0)
    timers[0].fire()
    assert sent.values == [(3, 10.0, False)]
    sent.stop[0] = 0
    sent.report(40.0)
    timers[1].fire()
    assert sent.values[1:] == [(3, 40.0, False)]


@pytest.mark.parametrize("settled", [True, False])
def test_proof_counts_once_its_state_was_compared(sent: Sent, settled: bool) -> None:
    """Until its state was compared, a final opinion counts as any other."""
    sent.settled = settled
    sent.report(100.0, final=True)
    assert sent.values == [(3, 100.0, False), (3, 100.0, True)][: 1 + settled]
    assert sent.opinions.newest == Opinion("left", Score(100.0), final=settled)
