"""Helpers: cores elsewhere that search the same position.

An engine with a `Team` asks it when it begins to think, and hears the answers as they come. It never waits: without
answers it plays as it would alone. The engine's `Setting` says how helpers search; it
makes the `Assistant` that searches on a helper's core.
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
"""Takes an answer to the present question. A result other than None is passed on to all helpers (`Assistant.take`).
Called in a thread of the team, for a few milliseconds at most. Checks the answer itself."""


class Team(ABC):
    """The helpers of one match. All methods return at once; they may be called in any thread."""

    @abstractmethod
    def play(self, machine: CircuitMachine, role: int) -> None:
        """Has helpers play this game in this role. They number facts and moves as the machine does."""

    @abstractmethod
    def ask(self, setting: Setting, state: State, hear: Hear) -> None:
        """Has helpers search this state; drops answers to earlier questions.

        The same question once more changes `hear` only, and has resting helpers go on.
        """

    @abstractmethod
    def rest(self, setting: Setting) -> None:
        """Stops helpers until the next question, if the present one is of this setting.

        No `hear` of it is running any more when this returns.
        """

    @contextmanager
    def searching(self, setting: Setting, state: State, hear: Hear) -> Iterator[None]:
        """Has helpers search a state during the context."""
        self.ask(setting, state, hear)
        try:
            yield
        finally:
            self.rest(setting)

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of helpers at work."""


class Setting(ABC):
    """Tells helpers how to search. Can be pickled; an engine keeps the same object as long as nothing changes."""

    @abstractmethod
    def assistant(self, machine: CircuitMachine, role: int, rank: int) -> Assistant:
        """The search of helper number `rank`, from 0; there may be gaps in the numbers."""


class Assistant(ABC):
    """Searches on one core of a helper.

    `begin` is never called while `think` runs; `take` and `answer` come at any time, in another thread.
    """

    @abstractmethod
    def begin(self, state: State) -> None:
        """Makes a state of the machine the root, and keeps what was searched of it already."""

    @abstractmethod
    def think(self, stop: StopFlag) -> None:
        """Searches until `stop[0]`, or until nothing is left to find out. A later call goes on."""

    @abstractmethod
    def answer(self) -> object | None:
        """Findings on the root so far, as plain data; None without any."""

    @abstractmethod
    def take(self, note: object) -> None:
        """Takes a note of the engine for all helpers."""
