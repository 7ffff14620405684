"""The contract between a match's worker and whatever searches for it, and the opinion that passes between them."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from games.machine import State, Term

StopFlag: TypeAlias = npt.NDArray[np.uint8]
"""One byte, `uint8[1]`, shared with running kernels: 0 = think on, anything else = return within 5 ms."""


@dataclass(frozen=True)
class Candidate:
    """A move that an engine has looked at, for whoever watches it."""

    move: Term
    """Legal for the engine's role at the root."""
    value: float | None = None
    """The goal that the engine expects after it, 0..100; None where it has no idea."""
    visits: int | None = None
    """How often it was tried; None for engines that do not count."""
    proven: bool = False
    """Whether the value is proven."""


MOST_CANDIDATES = 5
"""Candidates that an opinion names."""

LONGEST_LINE = 12
"""Plies of the principal variation that an opinion names."""


WATCHED_SECONDS = 0.1
"""After so many seconds of an alpha-beta search the principal variation is looked up. Set by hand; not tuned."""

START_SECONDS = 10.0
"""What the start clock is taken to be where nobody says."""


class Contenders:
    """The moves that an alpha-beta search has held to be best, each with what it was worth then.

    Of all others it only knows that they are no better.
    """

    def __init__(self) -> None:
        self._found: dict[Term, Candidate] = {}

    def add(self, move: Term, value: float | None, *, proven: bool = False) -> tuple[Candidate, ...]:
        """Notes the best move; returns the last such ones, this one first."""
        self._found.pop(move, None)
        self._found[move] = Candidate(move, value, None, proven)
        return tuple(reversed(self._found.values()))[:MOST_CANDIDATES]


@dataclass(frozen=True)
class Opinion:
    """What an engine holds to be best right now. Crosses from the worker to the server process: plain data only."""

    move: Term
    """A legal move of the engine's role at the root, spelled as the rulesheet spells it."""
    value: float | None = None
    """The goal that the engine expects for its role, 0..100; None where it has no idea."""
    proven: bool = False
    """Whether no further thinking can find a better move: the turn is answered without waiting for its deadline."""
    info: Mapping[str, object] = field(default_factory=dict)
    """Whatever the engine counts (nodes, depth, playouts): for logs and pages, never for play."""
    candidates: tuple[Candidate, ...] = ()
    """The best moves that were looked at, best first, at most `MOST_CANDIDATES`: for pages."""
    line: tuple[Term, ...] = ()
    """The principal variation: the moves of whoever has a choice, ply by ply, beginning with this one; at most
    `LONGEST_LINE`. For pages."""

    def unproven(self) -> Opinion:
        """The same, with nothing held to be proven."""
        candidates = tuple(replace(one, proven=False) for one in self.candidates)
        return replace(self, proven=False, candidates=candidates)


class limited:
    """A stop flag that is set when another one is, or after some seconds."""

    def __init__(self, stop: StopFlag, seconds: float) -> None:
        self._stop, self._seconds = stop, seconds
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

    Lives in the match's worker process. `begin` and `advance` are never called while `think` runs; `think` runs in a
    thread of its own, so whatever takes long in it must release the GIL (nogil kernels) or return to Python often.
    """

    name: str
    """What logs and pages call it."""
    reason: str = ""
    """Why this engine and no other plays the game, in a sentence for whoever watches."""
    uses_start_clock: bool = False
    """Whether the match should begin as late as the start clock allows, unless a proof makes thinking pointless: true
    where nobody waits for us, and what is found before the first move may decide the match."""

    @abstractmethod
    def begin(self, state: State) -> None:
        """Make `state` (of the reference machine) the root and forget everything that was searched."""

    @abstractmethod
    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        """Follow a joint move that was really played; `state` is the reference machine's state after it.

        What was searched below that joint move is worth keeping. Raises `EngineMismatchError` where the engine's own
        view of the game differs from `state`; the engine is then dropped and the match goes on with another one.
        """

    @abstractmethod
    def think(self, stop: StopFlag, report: Report, seconds: float | None) -> None:
        """Search from the root and report better and better opinions: one at once, then one at every change.

        Returns within 5 ms of `stop[0]` becoming non-zero, and earlier where nothing is gained by thinking on (the
        result is proven). `seconds` is how long the turn lasts, for engines that plan their time; None while
        pondering. A later call goes on where this one stopped.
        """

    def prepare(self, stop: StopFlag, report: Report, seconds: float | None) -> None:
        """As `think`, while the start clock runs: `seconds` is what is left of it, None where nobody knows."""
        self.think(stop, report, seconds)


def consider(engine: Engine, legal: Sequence[Term], seconds: float, stop: StopFlag | None = None) -> Opinion:
    """The engine's opinion after so many seconds; earlier if it is proven, or when `stop` is set. The first of the
    legal moves where it has none."""
    last = Opinion(legal[0])
    with limited(np.zeros(1, np.uint8) if stop is None else stop, seconds) as halt:

        def listen(opinion: Opinion) -> None:
            nonlocal last
            if not last.proven:
                last = opinion
                halt[0] |= opinion.proven

        engine.think(halt, listen, seconds)
    return last


class EngineError(Exception):
    """Anything an engine can fail with.

    EngineError
    └── EngineMismatchError     the engine's view of the game is not the reference machine's
    """


class EngineMismatchError(EngineError):
    """The engine's view of the game is not the reference machine's."""
