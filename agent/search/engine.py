"""The contract of engines, and the values it speaks in: opinions, scores, limits."""

from __future__ import annotations

import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from games.machine import State, Term

StopFlag: TypeAlias = npt.NDArray[np.uint8]
"""One byte, `uint8[1]`, shared with running kernels: 0 = go on, anything else = return within 5 ms."""


@dataclass(frozen=True, slots=True)
class Score:
    """The worth of a position or a move to one role: an estimate, or what is proven."""

    goal: float
    """Goal to expect, as the rules count; where `proven`, the goal that best play brings."""
    proven: bool = False
    plies: int | None = None
    """Where `proven`: plies until the end of the match, at most; None if they were not counted."""

    @property
    def estimate(self) -> Score:
        """The same goal, claimed by nobody to be proven."""
        return Score(self.goal)


@dataclass(frozen=True, slots=True)
class Limit:
    """The bound of a search. Without any it goes on until it is stopped: pondering, while others are to move."""

    seconds: float | None = None
    """Length of the turn. Engines plan by it, and may go on after it: whoever waits for the answer stops them."""
    nodes: int | None = None
    """Playouts or nodes, as the engine counts them, after which it ends; some more, as it looks now and then."""
    plies: int | None = None
    """Depth after which an engine that deepens iteratively ends."""

    @property
    def exact(self) -> bool:
        """Whether the search ends by itself, however fast the machine is."""
        return self.nodes is not None or self.plies is not None


UNLIMITED = Limit()


@dataclass(frozen=True)
class Candidate:
    """A move that an engine has looked at, for pages."""

    move: Term
    """Legal for the engine's role at the root."""
    score: Score | None = None
    """None where the engine has no idea."""
    visits: int | None = None
    """Number of visits; None for engines that do not count them."""


MOST_CANDIDATES = 5
"""Candidates of an opinion."""

LONGEST_LINE = 12
"""Plies of an opinion's principal variation."""

WATCHED_SECONDS = 0.1
"""Seconds of an alpha-beta search before its principal variation is looked up."""

START_SECONDS = 10.0
"""Start clock assumed where it is not known."""


class Contenders:
    """The moves that an alpha-beta search has held to be best, each with its score then.

    Of the others it only knows that they are no better.
    """

    def __init__(self) -> None:
        self._found: dict[Term, Candidate] = {}

    def add(self, move: Term, score: Score) -> tuple[Candidate, ...]:
        """Notes a new best move; returns the latest ones, this one first."""
        self._found.pop(move, None)
        self._found[move] = Candidate(move, score)
        return tuple(reversed(self._found.values()))[:MOST_CANDIDATES]


@dataclass(frozen=True)
class Opinion:
    """An engine's choice right now. Crosses from the worker to the server process: plain data only."""

    move: Term
    """A legal move of the engine's role at the root, spelled as the rulesheet spells it."""
    score: Score | None = None
    """Worth of the move to the role; None where the engine has no idea."""
    final: bool = False
    """Whether no further thinking can find a better move: the turn is answered before its deadline."""
    info: Mapping[str, object] = field(default_factory=dict)
    """Figures of the engine (nodes, depth, playouts), for logs and pages, never for play."""
    candidates: tuple[Candidate, ...] = ()
    """The best moves that were looked at, best first, at most `MOST_CANDIDATES`. For pages."""
    line: tuple[Term, ...] = ()
    """The principal variation: the moves of whoever has a choice, ply by ply, from this move on; at most
    `LONGEST_LINE`. For pages."""


class limited:
    """A stop flag that is set when another one is, or after some seconds (None: never)."""

    def __init__(self, stop: StopFlag, seconds: float | None) -> None:
        self._stop, self._seconds = stop, math.inf if seconds is None else seconds
        self._flag = np.zeros(1, np.uint8)
        self._over = threading.Event()

    def __enter__(self) -> StopFlag:
        end = time.monotonic() + self._seconds
        self._flag[0] = self._seconds <= 0

        def watch() -> None:
            while not self._over.wait(0.002):
                if self._stop[0] or time.monotonic() >= end:
                    self._flag[0] = 1
                    return

        self._watcher = threading.Thread(target=watch, daemon=True)
        self._watcher.start()
        return self._flag

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._watcher.join()


Report: TypeAlias = Callable[[Opinion], None]
"""Takes an engine's newest opinion. Cheap and thread-safe; may be called as often as the opinion changes."""


class Engine(ABC):
    """Searches for one role of one match.

    Lives in the match's worker process. `begin` and `advance` are never called while `think` runs. `think` has a thread
    of its own: long work in it releases the GIL (nogil kernels) or returns to Python often.
    """

    name: str
    """Name in logs and on pages."""
    reason: str = ""
    """Why this engine plays the game, in a sentence for pages."""
    uses_start_clock: bool = False
    """Whether the match should begin as late as the start clock allows, unless an opinion is final. For engines that
    learn before the first move."""

    @abstractmethod
    def begin(self, state: State) -> None:
        """Make `state` (of the reference machine) the root and forget everything that was searched."""

    @abstractmethod
    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        """Follow a joint move that was really played; `state` is the reference machine's state after it.

        Keeps what was searched below that joint move. Raises `EngineMismatchError` where the engine's own view of the
        game differs from `state`; the match then goes on with another engine.
        """

    @abstractmethod
    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        """Search from the root and report better and better opinions: one at once, then one at every change.

        Returns within 5 ms of `stop[0]` becoming non-zero, when the nodes or plies of `limit` are used up, and where
        nothing is gained by thinking on. A later call goes on where this one stopped.
        """

    def prepare(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        """As `think`, while the start clock runs: the seconds of `limit` are what is left of it."""
        self.think(stop, report, limit)


def consider(engine: Engine, legal: Sequence[Term], limit: Limit, stop: StopFlag | None = None) -> Opinion:
    """The engine's opinion when it is final, the limit is reached, or `stop` is set; the first legal move if there is
    none."""
    last = Opinion(legal[0])
    with limited(np.zeros(1, np.uint8) if stop is None else stop, limit.seconds) as halt:

        def listen(opinion: Opinion) -> None:
            nonlocal last
            if not last.final:
                last = opinion
                halt[0] |= opinion.final

        engine.think(halt, listen, limit)
    return last


class EngineError(Exception):
    """Base of the errors of engines.

    EngineError
    └── EngineMismatchError     the engine's view of the game is not the reference machine's
    """


class EngineMismatchError(EngineError):
    """The engine's view of the game is not the reference machine's."""
