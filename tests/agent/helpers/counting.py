"""An assistant that counts."""

from __future__ import annotations

import time
from typing import Any

from agent.search.engine import StopFlag
from agent.search.team import Assistant, Setting
from games.machine import State


class Counting(Setting):
    """A search that counts from a number on."""

    def __init__(self, first: int) -> None:
        self.first = first

    def assistant(self, machine: Any, role: int, rank: int) -> Assistant:
        return Counter((machine, role, rank), self.first)


class Counter(Assistant):
    """Answers with its identity, its question, the last note, and its count."""

    def __init__(self, who: tuple[object, ...], first: int) -> None:
        self.who, self.first = who, first
        self.state: State = b""
        self.note: object = None
        self.count = first

    def begin(self, state: State) -> None:
        self.state, self.count = state, self.first

    def think(self, stop: StopFlag) -> None:
        if self.state == b"broken":
            raise ValueError("no search of this state")
        while not stop[0]:
            self.count += 1
            time.sleep(0.001)

    def answer(self) -> object | None:
        return (*self.who, self.state, self.note, self.count)

    def take(self, note: object) -> None:
        self.note = note
