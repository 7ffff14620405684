"""The watchdog of processes, in a time of its own."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from agent.serving import watchdog
from agent.serving.watchdog import Watchdog, state_of
from tests.processes import until

IDLE, BUSY = 15.0, 60.0
"""Bounds of these tests."""


class Watched(Watchdog):
    """A watchdog of a process of which a test tells everything."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.cpu = 0.0
        self.state = "S"
        self.beats = False
        monkeypatch.setattr(watchdog, "time", self)
        monkeypatch.setattr(watchdog, "cpu_seconds_of", lambda pid: self.cpu)
        monkeypatch.setattr(watchdog, "state_of", lambda pid: self.state)
        super().__init__(1, lambda: self.beats)

    def monotonic(self) -> float:
        """Returns the time."""
        return self.now

    def looks(self, number: int, *, state: str = "S", beats: bool = False, cpu: float = 0.0, pause: float = 1.0) -> int:
        """Looks so many times; returns after how many of them the process was taken to hang, 0 for never."""
        self.state, self.beats = state, beats
        for look in range(1, number + 1):
            self.now, self.cpu = self.now + pause, self.cpu + cpu
            if self.hangs(IDLE, BUSY):
                return look
        return 0


def test_process_that_could_not_run_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that waits for a core or for a disk gives no sign of life, and neither does any while the machine sleeps."""
    watched = Watched(monkeypatch)
    assert watched.looks(100, beats=True) == 0
    for starved in ({"state": "R"}, {"state": "D"}, {"cpu": 0.001}, {"pause": 60.0}):
        assert watched.looks(1000, **starved) == 0  # type: ignore[arg-type]
    assert watched.looks(14, state="T") == 0
    assert watched.looks(1, beats=True) == 0
    assert watched.looks(100, state="T") == 15
    assert watched.looks(1, beats=True) == 0
    assert watched.looks(100, pause=0.5) == 30


def test_endless_loop_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has had its time on a core."""
    watched = Watched(monkeypatch)
    assert watched.looks(1000, beats=True, cpu=1.0) == 0
    assert watched.looks(1000, state="R", cpu=0.5) == 120


def test_state_of_a_process_is_told() -> None:
    """Also of one that a name tries to hide."""
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; open('/proc/self/comm', 'w').write('x) R'); input()"], stdin=subprocess.PIPE
    )
    until(lambda: state_of(child.pid) == "S")
    child.send_signal(signal.SIGSTOP)
    until(lambda: state_of(child.pid) == "T")
    child.kill()
    child.communicate()
    assert state_of(child.pid) == "R"
