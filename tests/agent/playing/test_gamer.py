"""The gamer, with scripted engines."""

from __future__ import annotations

import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from agent.playing.gamer import Gamer, Hooks

from agent.playing.messages import Checkpoint, Situation, Thought, Turn
from agent.playing.messages import Report as WorkerReport
from agent.search.engine import Engine, EngineMismatchError, Limit, Opinion, Report, StopFlag
from games.gdl.crosscheck import Observation
from games.gdl.interpreter.machine import Interpreter
from games.machine import State, StateMachine, Term
from tests.matches import rules_of
from tests.processes import PATIENCE, until

RULES = """
(role solo)
(init (at 0))
(next-to 0 1) (next-to 1 2) (next-to 2 3)
(<= (legal solo walk) (true (at ?x)))
(<= (legal solo rest) (true (at ?x)))
(<= (next (at ?y)) (does solo walk) (true (at ?x)) (next-to ?x ?y))
(<= (next (at ?x)) (does solo rest) (true (at ?x)))
(<= terminal (true (at 3)))
(<= (goal solo 100) (true (at 3)))
"""


class Scripted(Engine):
    """Always wants the same move, and fails on request."""

    def __init__(self, name: str, move: Term, failing: str = "") -> None:
        self.name = name
        self.move = move
        self.failing = failing
        self.idle = threading.Event()
        """Set while it does not think."""
        self.thoughts = 0
        """Number of calls of `think`."""
        self.asked: list[float | None] = []
        """Seconds of each limit."""
        self.prepared: list[float | None] = []
        """Those of `prepare`."""

    def begin(self, state: State) -> None:
        if self.failing == "begin":
            raise MemoryError

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        if self.failing == "advance":
            raise EngineMismatchError("seen otherwise")

    def prepare(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        self.prepared.append(limit.seconds)
        super().prepare(stop, report, limit)

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        if self.failing == "think":
            raise ValueError("lost")
        self.idle.clear()
        self.asked.append(limit.seconds)
        self.thoughts += 1
        while not stop[0]:
            report(Opinion(self.move))
            time.sleep(0.001)
        self.idle.set()


class Watched:
    """A gamer and its reports."""

    def __init__(
        self, *engines: Engine, thinking: bool = True, right: bool = True, start_ends: float | None = None
    ) -> None:
        self.reports: queue.Queue[WorkerReport] = queue.Queue()
        self.settled: list[tuple[int, int]] = []
        """States observed and situations reported, each time that a state had to be found right."""
        self._observed = self._situations = 0
        self._right = right
        rules = rules_of(RULES)

        def choose(machine: StateMachine, role: int) -> Iterator[Engine]:
            return iter(engines)

        self.gamer = Gamer(
            lambda: Interpreter(rules),
            "solo",
            Checkpoint(),
            Hooks(self._report, observed=self._observe, settle=self._settle, engines=choose),
            thinking=thinking,
            seconds=None,
            start_ends=start_ends,
        )
        self.gamer.start()

    def _report(self, report: WorkerReport) -> None:
        self._situations += isinstance(report, Situation)
        self.reports.put(report)

    def _observe(self, seen: Observation) -> None:
        self._observed += 1

    def _settle(self, seconds: float, stopped: Callable[[], bool]) -> bool:
        self.settled.append((self._observed, self._situations))
        return self._right

    def situation(self) -> Situation:
        """Returns the next situation reported."""
        while not isinstance(report := self.reports.get(timeout=PATIENCE), Situation):
            pass
        return report

    def thought(self) -> Thought:
        """Returns the next opinion reported."""
        while not isinstance(report := self.reports.get(timeout=PATIENCE), Thought):
            pass
        return report


@pytest.fixture
def watch() -> Iterator[Callable[..., Watched]]:
    """Starts gamers that end with the test."""
    started: list[Watched] = []

    def watch(*engines: Engine, **options: Any) -> Watched:
        started.append(Watched(*engines, **options))
        return started[-1]

    yield watch
    for watched in started:
        watched.gamer.retire()


@pytest.fixture
def failing(request: pytest.FixtureRequest) -> Scripted:
    """An engine that fails at some point."""
    return Scripted("bad", "walk", request.param)


def test_situation_comes_before_any_thought(watch: Callable[..., Watched]) -> None:
    """The legal moves are reported at once, then the engine's opinions."""
    watched = watch(Scripted("good", "walk"))
    assert watched.reports.get(timeout=PATIENCE) == watched.gamer._opinions.situation
    assert watched.thought() == Thought(0, Opinion("walk"), "good")


class Sure(Scripted):
    """Is sure of its move at once."""

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        report(Opinion(self.move, final=True))


def test_state_is_compared_before_anything_ends_on_its_word(watch: Callable[..., Watched]) -> None:
    """A terminal state, and the last one, are observed and found right before they are reported; others at once."""
    watched = watch(Scripted("good", "walk"), thinking=False)
    watched.situation()
    watched.gamer.turn(Turn(("rest",), 1.0))
    watched.situation()
    assert watched.settled == []
    watched.gamer.turn(Turn(("rest",), None))
    assert not watched.situation().terminal
    assert watched.settled == [(3, 2)]
    for _ in range(3):
        watched.gamer.turn(Turn(("walk",), 1.0))
    while not watched.situation().terminal:
        pass
    assert watched.settled == [(3, 2), (6, 5)]


def test_wrong_state_ends_nothing(watch: Callable[..., Watched]) -> None:
    """A wrong state is not reported where it would end the turn; the next report is about another state."""
    watched = watch(Scripted("good", "walk"), thinking=False, right=False)
    assert watched.situation().turn == 0
    for number in range(3):
        watched.gamer.turn(Turn(("walk",), 1.0))
        if number < 2:
            assert watched.situation().turn == number + 1
    watched.gamer.rewind()
    assert watched.situation().turn == 0


@pytest.mark.parametrize("right", [True, False])
def test_move_counts_as_proven_once_its_state_was_compared(watch: Callable[..., Watched], right: bool) -> None:
    """Until its state was compared, a final opinion counts as any other."""
    watched = watch(Sure("sure", "walk"), right=right)
    assert watched.thought() == Thought(0, Opinion("walk"), "sure")
    if right:
        assert watched.thought() == Thought(0, Opinion("walk", final=True), "sure")
    watched.gamer.turn(Turn(("walk",), 1.0))
    assert watched.thought() == Thought(1, Opinion("walk"), "sure")


@pytest.mark.parametrize("left", [1000.0, -1.0])
def test_engine_is_told_what_is_left_of_the_start_clock(watch: Callable[..., Watched], left: float) -> None:
    """Before the first turn the engine prepares with the rest of the start clock; then it thinks for the length of
    turns."""
    engine = Scripted("good", "walk")
    watched = watch(engine, start_ends=time.monotonic() + left)
    assert watched.thought().turn == 0
    watched.gamer.turn(Turn(None, 7.0))
    watched.gamer.turn(Turn(("walk",), 8.0))
    while watched.thought().turn == 0:
        pass
    watched.gamer.retire()
    (before,) = engine.prepared
    assert engine.asked[0] == before
    assert (before is None) == (left < 0)
    assert before is None or before <= left
    assert set(engine.asked[1:]) <= {7.0, 8.0}
    assert engine.asked[-1] == 8.0


def test_engine_of_a_running_match_does_not_prepare(watch: Callable[..., Watched]) -> None:
    """Without a start clock, or in a running turn, the engine does not prepare."""
    engine = Scripted("good", "walk")
    watched = watch(engine)
    assert watched.thought().turn == 0
    watched.gamer.retire()
    assert (engine.prepared, engine.asked) == ([], [None])


def test_turn_is_followed_and_thought_about(watch: Callable[..., Watched]) -> None:
    """After a joint move, the new situation and opinions about it are reported."""
    engine = Scripted("good", "walk")
    watched = watch(engine, thinking=False)
    watched.situation()
    assert engine.thoughts == 0
    watched.gamer.turn(Turn(("walk",), 1.0))
    situation = watched.situation()
    assert situation.turn == 1
    assert situation.checkpoint.facts == {("at", "1")}
    assert watched.thought().turn == 1


@pytest.mark.parametrize("failing", ["begin", "think", "advance"], indirect=True)
def test_failing_engine_gives_way_to_the_next_one(watch: Callable[..., Watched], failing: Scripted) -> None:
    """Wherever an engine fails, the next best one plays on."""
    watched = watch(failing, Scripted("good", "rest"))
    watched.situation()
    watched.gamer.turn(Turn(("walk",), 1.0))
    watched.situation()
    while (thought := watched.thought()).turn == 0:
        pass
    assert (thought.engine, thought.opinion.move) == ("good", "rest")


def test_illegal_opinion_disqualifies_its_engine(watch: Callable[..., Watched]) -> None:
    """An engine that wants an illegal move is dropped before its opinion is reported."""
    watched = watch(Scripted("bad", "fly"), Scripted("good", "rest"))
    assert watched.thought().opinion.move == "rest"


def test_resting_gamer_reports_nothing(watch: Callable[..., Watched]) -> None:
    """Between its answer and the next turn a gamer that may not ponder is silent."""
    engine = Scripted("good", "walk")
    watched = watch(engine)
    watched.thought()
    watched.gamer.rest()
    assert engine.idle.wait(PATIENCE)
    while not watched.reports.empty():
        watched.reports.get()
    watched.gamer.turn(Turn(("walk",), 1.0))
    assert watched.situation().turn == 1
    assert watched.thought().turn == 1
    assert engine.thoughts == 2


def test_gamer_that_goes_on_after_a_rest_thinks_about_the_same_state(watch: Callable[..., Watched]) -> None:
    """As where the manager has answered, and others are to move."""
    engine = Scripted("good", "walk")
    watched = watch(engine)
    watched.thought()
    watched.gamer.rest()
    assert engine.idle.wait(PATIENCE)
    watched.gamer.ponder()
    while engine.thoughts < 2:
        assert watched.thought().turn == 0


def test_newest_opinion_is_repeated_on_request(watch: Callable[..., Watched]) -> None:
    """A gamer that takes over has the last word; a retired one has none."""
    watched = watch(Sure("good", "walk"))
    assert not watched.thought().opinion.final
    proven = watched.thought()
    assert proven.opinion.final
    watched.gamer.repeat()
    assert watched.thought() == proven
    watched.gamer.retire()
    watched.gamer.repeat()
    assert watched.reports.empty()


def test_match_that_begins_again_is_followed_from_the_start(watch: Callable[..., Watched]) -> None:
    """A rewound gamer is back in the initial state."""
    watched = watch(Scripted("good", "walk"))
    watched.situation()
    watched.gamer.turn(Turn(("walk",), 1.0))
    watched.situation()
    watched.gamer.rewind()
    situation = watched.situation()
    assert (situation.turn, situation.checkpoint.facts) == (0, {("at", "0")})


def test_engine_is_gone_when_another_is_made_after_rewinding(watch: Callable[..., Watched]) -> None:
    """Two at once may be more than the worker's memory."""
    made: list[weakref.ref[Engine]] = []
    kept: list[bool] = []

    def choose(machine: StateMachine, role: int) -> Iterator[Engine]:
        kept.extend(engine() is not None for engine in made)
        engine = Scripted("good", "walk")
        made.append(weakref.ref(engine))
        yield engine

    watched = watch(Scripted("first", "walk"))
    watched.thought()
    watched.gamer._choose_engines = choose
    for rewound in (1, 2):
        watched.gamer.rewind()
        until(lambda: len(made) == rewound)  # noqa: B023 - called at once
    watched.gamer.retire()
    assert kept == [False]
