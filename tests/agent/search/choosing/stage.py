"""A stage for `GeneralSearch`: real games and a virtual clock, on which learning, searches and trial matches take exact
times, and turn out as a test says."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agent.search import engine as engines
from agent.search.choosing import general, trials
from agent.search.choosing import preparation as preparing
from agent.search.choosing.general import GeneralSearch
from agent.search.engine import START_SECONDS, UNLIMITED, Engine, Limit, Opinion, Report
from agent.search.evaluation.features import Features
from agent.search.evaluation.network import NetworkEvaluation
from agent.search.learning.learner import Experience
from agent.search.learning.memory import SheetMemory, Store
from agent.search.pvs.engine import CannotSearchError
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term
from protocol import kif
from tests.circuits import machine_of

STEP = 0.25
"""Longest step of the clock, in seconds."""


class Flag:
    """A stop flag that is raised at a time of the stage, or with another one."""

    def __init__(self, stage: Stage, other: Any, end: float) -> None:
        self._stage, self._other, self._end = stage, other, end

    def __getitem__(self, index: int) -> int:
        return int(self._stage.now >= self._end or bool(self._other[0]))

    def __setitem__(self, index: int, value: int) -> None:
        if value:
            self._end = -math.inf

    @property
    def left(self) -> float:
        """Seconds until it is raised."""
        return min(self._end - self._stage.now, getattr(self._other, "left", math.inf))


class Stage:
    """The clock, what takes time on it, and how that turns out."""

    def __init__(self, patch: pytest.MonkeyPatch, rules: str) -> None:
        self.machine, self._rules = machine_of(rules), rules
        self.now = 0.0
        self._looks = 0
        self.log: list[tuple[str, float, float]] = []
        """What was done, and from when until when."""
        self.points: Callable[[int], float | None] = lambda role: 0.5
        """Alpha-beta's share of the points of a trial match in a role; None where no match ends."""
        self.plies = 10.0
        """Length of matches."""
        self.speed = 1e6
        """Playouts of tree search per second."""
        self.generation = 1.0
        """Seconds of learning for an evaluation."""
        self.gain: float | None = 0.0
        """The gain of move averages in playouts."""
        self.fails = ""
        """What raises an error."""
        self.refuses = False
        """Whether alpha-beta cannot search the game's states."""
        self.seconds: list[float] = []
        """Time for a move in each trial match of alpha-beta."""
        self.playing: FakeTree
        """The tree search of the engine that was made last."""
        self._set_up(patch)

    def _set_up(self, patch: pytest.MonkeyPatch) -> None:
        clock = SimpleNamespace(monotonic=lambda: self.now)
        for module in (preparing, trials):
            patch.setattr(module, "time", clock)
        patch.setattr(general, "time", SimpleNamespace(monotonic=self._look))
        for module in (engines, general, preparing, trials):
            patch.setattr(module, "limited", self._limited)
        patch.setattr(general, "TreeSearch", self._make_playing)
        patch.setattr(preparing, "TreeSearch", self._maker(FakeTree))
        patch.setattr(preparing, "AlphaBetaSearch", self._maker(FakeAlphaBeta))
        patch.setattr(preparing, "Learner", self._maker(FakeLearner))
        patch.setattr(preparing, "imitate_random_play", self._imitate)
        patch.setattr(preparing, "gain_by_averages", self._measure_gain)
        patch.setattr(trials, "TrialMatch", self._maker(FakeMatch))
        for name in ("survey", "find_features"):
            real = getattr(preparing, name)
            patch.setattr(preparing, name, lambda *given, name=name, real=real: self._unless_failing(name, real, given))

    def engine(self, role: int = 0, memory: Path | None = None) -> GeneralSearch:
        """An engine at the start of the match, perhaps with a folder to remember it."""
        known = SheetMemory(Store(memory), kif.read_rulesheet(self._rules), self.machine.roles) if memory else None
        engine = GeneralSearch(self.machine, role, threads=1, seed=1, memory=known)
        engine.begin(self.machine.initial())
        return engine

    def prepare(self, engine: Engine, seconds: float | None, until: float = math.inf) -> None:
        """Has an engine use its start clock, up to a time."""
        end = min(until, self.now + (seconds or START_SECONDS))
        engine.prepare(self.flag(end), lambda opinion: None, Limit(seconds))

    def think(self, engine: Engine, limit: Limit, until: float) -> None:
        """Has an engine think until a time."""
        engine.think(self.flag(until), lambda opinion: None, limit)

    def flag(self, end: float) -> Any:
        """A stop flag that is raised at a time."""
        return Flag(self, [0], end)

    def player(self, seconds: float | None = 20.0, *, role: int = 0, memory: Path | None = None) -> str:
        """The search that plays after a start clock of so many seconds."""
        engine = self.engine(role, memory)
        self.prepare(engine, seconds)
        self.think(engine, UNLIMITED, self.now + 0.1)
        return engine.name

    def spent(self, what: str) -> float:
        """Seconds spent on something."""
        return sum(end - begin for name, begin, end in self.log if name == what)

    def first(self, *what: str) -> float:
        """When one of these was begun first."""
        return next((begin for name, begin, _ in self.log if name in what), math.inf)

    def spend(self, what: str, stop: Any, seconds: float = math.inf) -> float:
        """Spends time, unless stopped; returns how much."""
        if self.fails == what:
            raise MemoryError("too large")
        begin, spent = self.now, 0.0
        while spent < seconds and not stop[0]:
            step = min(seconds - spent, STEP, max(1e-9, getattr(stop, "left", STEP)))
            looks = self._looks
            self.now += step
            spent += step
            # Who waits for this thread notices the time.
            while threading.current_thread() is not threading.main_thread() and self._looks == looks and not stop[0]:
                time.sleep(1e-4)
        self.log.append((what, begin, begin + spent))
        return spent

    def _look(self) -> float:
        """The time, for the thread that waits for a preparation."""
        self._looks += 1
        return self.now

    @contextmanager
    def _limited(self, stop: Any, seconds: float | None) -> Iterator[Flag]:
        yield Flag(self, stop, self.now + (math.inf if seconds is None else seconds))

    def _maker(self, fake: Callable[..., object]) -> Callable[..., object]:
        return lambda *arguments, **options: fake(self, *arguments, **options)

    def _make_playing(self, *arguments: Any, **options: Any) -> FakeTree:
        self.playing = FakeTree(self, *arguments, **options)
        return self.playing

    def _imitate(self, machine: object, learner: object, random: object, end: float, stop: Any) -> bool:
        self.spend("fit", stop, max(0.0, end - self.now))
        return True

    def _measure_gain(self, make: object, state: object, seconds: float, stop: Any, random: object) -> float | None:
        self.spend("gain", stop, seconds)
        return self.gain

    def _unless_failing(self, name: str, real: Callable[..., object], given: tuple[object, ...]) -> object:
        if self.fails == name:
            raise MemoryError("too large")
        return real(*given)


class Searching(Engine):
    """A search that finds the first legal move, and no proof."""

    def __init__(self, stage: Stage, machine: CircuitMachine, role: int, *rest: object, **options: object) -> None:
        self._stage, self._machine, self._role = stage, machine, role
        self.begin(machine.initial())

    def begin(self, state: State) -> None:
        self._state = state

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._state = state

    def think(self, stop: Any, report: Report, limit: Limit) -> None:
        report(Opinion(self._machine.legal(self._state, self._role)[0]))
        self._search(stop, limit)

    def _search(self, stop: Any, limit: Limit) -> float:
        return self._stage.spend(self.name, stop, math.inf if limit.seconds is None else limit.seconds)


class FakeTree(Searching):
    """Tree search, with playouts as fast as the stage says."""

    name, reason = "tree search", "a tree"
    playouts, draws = 0.0, 1

    def draw(self, draws: int) -> None:
        """Has playouts choose by move averages, or not."""
        self.draws = draws

    def _search(self, stop: Any, limit: Limit) -> float:
        spent = super()._search(stop, limit)
        self.playouts += self._stage.speed * spent
        return spent


class FakeAlphaBeta(Searching):
    """Alpha-beta."""

    name, reason = "alpha-beta", "turns"

    def use(self, evaluation: NetworkEvaluation) -> None:
        """Takes an evaluation."""
        self.evaluation = evaluation

    def _search(self, stop: Any, limit: Limit) -> float:
        if self._stage.refuses:
            raise CannotSearchError
        return super()._search(stop, limit)


class FakeLearner:
    """Learns nothing, but in the time that the stage says."""

    lacking, generations, accepted, matches = 0, 0, 0, 0

    def __init__(
        self, stage: Stage, machine: CircuitMachine, features: Features, start: NetworkEvaluation, **options: object
    ) -> None:
        self._stage, self.features, self.evaluation, self.plies = stage, features, start, stage.plies
        facts = np.zeros((1, len(machine.game.fluents)), np.bool_)
        self.experience = Experience(facts, np.zeros(1, np.int8), np.zeros(1), 1)

    def run(self, root: object, stop: Any) -> None:
        """Learns until it is stopped."""
        while not stop[0]:
            learnt = self._stage.spend("learning", stop, self._stage.generation) >= self._stage.generation
            self.generations += learnt
            self.matches += 64 * learnt

    def resume(self, experience: Experience) -> None:
        """Goes on from another match."""
        self.experience = experience


class FakeMatch:
    """A trial match that takes a time for each move."""

    void = False

    def __init__(
        self, stage: Stage, machine: object, root: object, engines: Sequence[Any], seconds: float, random: object
    ) -> None:
        self._stage, self._engines = stage, engines
        self._left = seconds * stage.plies
        stage.seconds.append(seconds)

    def play(self, stop: Any) -> float | None:
        """The first engine's share of the points."""
        stage = self._stage
        if stage.refuses:
            raise CannotSearchError
        self._left -= stage.spend("trial", stop, self._left)
        if self._left > 1e-6:
            return None
        role = int(self._engines[1].name == "alpha-beta")
        share = stage.points(role)
        return share if share is None or role == 0 else 1.0 - share
