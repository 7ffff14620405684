"""Lines that strangers cause."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from protocol import sparing_log
from protocol.sparing_log import FIRST_PAUSE, LONGEST_PAUSE, SparingLog


class Told:
    """A sparing log, whose clock the test sets."""

    def __init__(self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
        self._caplog = caplog
        self._log = SparingLog(logging.getLogger("test"))
        self.now = 100.0
        monkeypatch.setattr(sparing_log, "time", SimpleNamespace(monotonic=lambda: self.now))

    def lines(self, peer: str, seconds: float = 0.0, rate: int = 16, text: str = "%s is wrong") -> list[str]:
        """Returns the lines of a peer that causes `rate` a second, for a while; or of one line."""
        self._caplog.clear()
        for number in range(max(1, int(seconds * rate))):
            self._log.tell(peer, logging.WARNING, text, number)
            self.now += 1 / rate if seconds else 0.0
        return self._caplog.messages


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Told:
    """A sparing log."""
    return Told(caplog, monkeypatch)


def test_flood_is_told_ever_more_rarely(told: Told) -> None:
    """Sixteen malformed messages a second are a line, then one after a second, after two, and once an hour in the end;
    each says how many were left out."""
    assert told.lines("a", 7) == [
        "0 is wrong",
        "16 is wrong (and 15 more such lines)",
        "48 is wrong (and 31 more such lines)",
    ]
    told.lines("a", 2 * LONGEST_PAUSE)
    assert len(told.lines("a", 10 * LONGEST_PAUSE, rate=1)) == 10


def test_seldom_lines_are_all_told(told: Told) -> None:
    """Somebody who tries out a manager reads of each mistake, also after a flood that is over."""
    told.lines("a", 60)
    told.now += 200.0
    assert told.lines("a")
    for _ in range(5):
        told.now += 2 * FIRST_PAUSE
        assert told.lines("a") == ["0 is wrong"]


def test_floods_hide_neither_other_peers_nor_other_lines(told: Told) -> None:
    """Lines are counted by peer and text."""
    told.lines("a", 60)
    assert told.lines("b") == ["0 is wrong"]
    assert told.lines("a", text="%s is new") == ["0 is new"]


def test_peers_without_number_take_no_memory(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond some kinds, all other peers count as one, until the first ones are quiet."""
    monkeypatch.setattr(sparing_log, "MOST_KINDS", 10)
    assert sum(len(told.lines(str(peer))) for peer in range(100)) == 11
    assert len(told._log._kinds) == 11
    told.now += 3 * FIRST_PAUSE
    assert told.lines("b") == ["0 is wrong"]
    assert len(told._log._kinds) == 1
