"""Opinions sent, and their times."""

from __future__ import annotations

import numpy as np
import pytest

from agent.playing import opinions as module
from agent.playing.messages import Thought
from agent.playing.opinions import REPEAT_AFTER, Opinions
from agent.search.engine import Opinion, Score
from games.machine import GameError


class Sent:
    """Opinions, those that were sent, and a clock that stands still."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.values: list[tuple[int, float, bool]] = []
        self.stop = np.zeros(1, np.uint8)
        self.opinions = Opinions(self._send, self.stop)
        self.opinions.begin(3, b"3", {"left", "right"})

    def monotonic(self) -> float:
        """Returns the time."""
        return self.now

    def _send(self, thought: Thought) -> None:
        assert thought.digest == str(thought.turn).encode()
        assert (thought.engine, thought.reason) == ("engine", "reason")
        assert thought.opinion.score is not None
        self.values.append((thought.turn, thought.opinion.score.goal, thought.opinion.final))

    def report(self, value: float, move: str = "left", *, final: bool = False) -> None:
        """Reports an opinion."""
        self.opinions.report(Opinion(move, Score(value), final=final), "engine", "reason")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Returns opinions in turn 3."""
    sent = Sent()
    monkeypatch.setattr(module, "time", sent)
    return sent


def test_same_move_is_not_told_again_at_once(sent: Sent) -> None:
    """Of opinions in quick succession, the last is sent a little later; another move is sent at once."""
    for value in (10.0, 20.0, 30.0):
        sent.report(value)
    assert sent.values == [(3, 10.0, False)]
    sent.report(40.0, "right")
    assert sent.values[1:] == [(3, 40.0, False)]
    sent.report(50.0, "right")
    sent.opinions.flush()
    assert sent.values[2:] == []
    sent.now += REPEAT_AFTER
    sent.opinions.flush()
    sent.opinions.flush()
    assert sent.values[2:] == [(3, 50.0, False)]
    assert sent.opinions.newest == Opinion("right", Score(50.0))


def test_opinion_that_is_late_is_told_at_once(sent: Sent) -> None:
    """Nothing is kept back once the time is over."""
    sent.report(10.0)
    sent.now += REPEAT_AFTER
    sent.report(20.0)
    assert sent.values == [(3, 10.0, False), (3, 20.0, False)]


def test_proof_is_told_at_once(sent: Sent) -> None:
    """The match need not wait for it."""
    sent.report(10.0)
    sent.report(100.0, final=True)
    assert sent.values == [(3, 10.0, False), (3, 100.0, True)]


def test_nothing_of_an_earlier_turn_is_told(sent: Sent) -> None:
    """An opinion kept back is dropped with its turn."""
    sent.report(10.0)
    sent.report(20.0)
    sent.opinions.begin(4, b"4", {"left"})
    assert sent.opinions.newest is None
    sent.now += REPEAT_AFTER
    sent.opinions.flush()
    sent.report(30.0)
    assert sent.values == [(3, 10.0, False), (4, 30.0, False)]
    with pytest.raises(GameError, match="right"):
        sent.report(50.0, "right")


def test_what_was_kept_back_when_thinking_stopped_is_dropped(sent: Sent) -> None:
    """An opinion kept back during a rest is dropped, and delays no later one."""
    sent.report(10.0)
    sent.report(20.0)
    sent.stop[0] = 1
    sent.report(30.0)
    sent.now += REPEAT_AFTER
    sent.opinions.flush()
    sent.stop[0] = 0
    sent.opinions.flush()
    assert sent.values == [(3, 10.0, False)]
    sent.report(40.0)
    assert sent.values[1:] == [(3, 40.0, False)]
