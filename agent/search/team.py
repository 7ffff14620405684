"""Helpers that search the same position elsewhere: what an engine asks of them, and what they are on their side.

An engine that is given a `Team` asks it whenever it begins to think, and looks at the answers that are there whenever
it forms an opinion. It never waits for any: without answers it plays as it would alone. How helpers search is up to the
engine, too: it sends a `Setting`, which makes the `Assistant` that searches on a helper's core.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from agent.search.engine import StopFlag
from games.gdl.running.machine import CircuitMachine
from games.machine import State

Hear: TypeAlias = Callable[[object], object]
"""Takes an answer to the present question as soon as it is there; what it returns, unless that is None, is passed on to
all helpers (`Assistant.take`). Called in a thread of the team, which it may not keep for more than some milliseconds.
What is wrong with an answer is for it to find out."""


class Team(ABC):
    """The helpers of one match. All methods return at once; they may be called in any thread."""

    @abstractmethod
    def play(self, machine: CircuitMachine, role: int) -> None:
        """From now on helpers play this game, in this role. They number facts and moves as the machine does."""

    @abstractmethod
    def ask(self, setting: Setting, state: State, hear: Hear | None = None) -> None:
        """From now on helpers search this state of the machine; answers to what was asked before are dropped.

        To ask once more what was asked last changes nothing but `hear`: helpers that rest go on.
        """

    @abstractmethod
    def rest(self, setting: Setting) -> None:
        """Helpers stop searching until the next question, if the present one is of this setting: who has asked it may
        come to its end when another one has asked the next. No `hear` of it is running any more when this returns."""

    @contextmanager
    def searching(self, setting: Setting, state: State, hear: Hear | None = None) -> Iterator[None]:
        """Has helpers search a state meanwhile."""
        self.ask(setting, state, hear)
        try:
            yield
        finally:
            self.rest(setting)

    @abstractmethod
    def answers(self) -> tuple[object, ...]:
        """The newest answer of each helper to the present question, those included that have vanished since."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many helpers are at work."""


class Setting(ABC):
    """How helpers are to search. Can be pickled; an engine keeps to the same object as long as nothing changes."""

    @abstractmethod
    def assistant(self, machine: CircuitMachine, role: int, rank: int) -> Assistant:
        """What searches on the helper that is number `rank`, from 0; helpers may leave gaps in the numbers."""


class Assistant(ABC):
    """Searches on one core of a helper.

    `begin` is never called while `think` runs; `take` and `answer` may be at any time, in another thread.
    """

    @abstractmethod
    def begin(self, state: State) -> None:
        """Makes a state of the machine the root. What was searched of it already is worth keeping."""

    @abstractmethod
    def think(self, stop: StopFlag) -> None:
        """Searches until `stop[0]`, or until nothing is left to find out. Called again, it goes on."""

    @abstractmethod
    def answer(self) -> object | None:
        """What is known of the root by now; None where that is nothing. Plain data."""

    def take(self, note: object) -> None:
        """Takes what the engine has passed on for all helpers."""
        return
