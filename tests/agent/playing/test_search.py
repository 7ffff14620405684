"""The search process: its way through a match, its machines, its engines, its opinions."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from agent.playing import search as searches
from agent.playing.belief_search import NAME as BELIEF_SEARCH
from agent.playing.choice import EngineChoice
from agent.playing.messages import (
    Astray,
    Begin,
    Checkpoint,
    Distrusted,
    Judged,
    Placement,
    Prepared,
    Refused,
    Report,
    Rest,
    Rewind,
    Situation,
    Thought,
    Turn,
    Unseen,
)
from agent.playing.search import Compile, Search
from agent.playing.situation import digest_of
from agent.record.spelling import states_to_json
from agent.search.engine import Engine, EngineMismatchError, Limit, Opinion, Score, StopFlag
from agent.search.engine import Report as Listen
from games import rulesheets
from games.gdl.compile import Limits
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules
from games.machine import Interrupted, State, Term
from tests.agent.playing.line import Compiled, Line, Portable, begin_of, compile_as, running
from tests.matches import interpreter_of
from tests.processes import until

WALK = """
(role x) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
(legal x walk) (legal x rest)
(<= (next (at ?y)) (does x walk) (true (at ?x)) (succ ?x ?y))
(<= (next (at ?x)) (does x rest) (true (at ?x)))
(<= terminal (true (at 4)))
(<= (goal x 100) (true (at 4)))
(<= (goal x 0) (not (true (at 4))))
"""

SOURCE = rulesheets.text("tic_tac_toe")

FORGETFUL = SOURCE.replace(
    "(<= (next (cell ?column ?row ?role))\n    (true (cell ?column ?row ?role))",
    "(<= (next (cell ?column ?row ?role))\n    (true (cell ?column ?row ?role)) (distinct ?role x)",
)
"""Marks of `x` do not stay."""


class Scripted(Engine):
    """Wants one move, or fails at some point."""

    def __init__(self, name: str = "good", move: Term = "walk", failing: str = "", *, sure: bool = False) -> None:
        self.name, self.move, self.failing, self.sure = name, move, failing, sure
        self.reason = f"{name} is as good as any"
        self.calls: list[tuple[str, Any]] = []
        """Calls, each with its state or its seconds."""

    def begin(self, state: State) -> None:
        self.calls.append(("begin", state))
        if self.failing == "begin":
            raise MemoryError

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self.calls.append(("advance", state))
        if self.failing == "advance":
            raise EngineMismatchError("seen otherwise")

    def prepare(self, stop: StopFlag, report: Listen, limit: Limit) -> None:
        self.calls.append(("prepare", limit.seconds))
        self._work(stop, report)

    def think(self, stop: StopFlag, report: Listen, limit: Limit) -> None:
        self.calls.append(("think", limit.seconds))
        self._work(stop, report)

    def _work(self, stop: StopFlag, report: Listen) -> None:
        if self.failing == "think":
            raise ValueError("lost")
        if self.sure:
            report(Opinion(self.move, Score(100.0, proven=True), final=True))
            return
        while not stop[0]:
            report(Opinion(self.move))
            time.sleep(0.001)

    def count(self, call: str) -> int:
        """Returns the number of calls."""
        return sum(name == call for name, _ in self.calls)


Started = Callable[..., Line]


@pytest.fixture
def search() -> Iterator[Started]:
    """Begins searches, and ends them."""
    with contextlib.ExitStack() as stack:

        def search(begin: Begin, *engines: Engine, compile: Compile | None = None, choice: Any = None) -> Line:
            line = Line()
            chosen: EngineChoice = choice or (lambda machine, role: iter(engines))
            return stack.enter_context(running(Search(line, begin, compile, chosen), line))

        yield search


def at(number: int, *others: int) -> bytes:
    """Returns the state for a search that is, or may be, at some step of the walk."""
    return states_to_json(([("at", str(step))], 1.0) for step in (number, *others))


def digest(number: int) -> bytes:
    """Returns the digest of a step of the walk."""
    goals = (100,) if number == 4 else None
    return digest_of([("at", str(number))], ["walk", "rest"], goals)


# --- the way


def test_situation_comes_before_any_thought(search: Started) -> None:
    """The legal moves are told at once, then opinions with the same digest."""
    line = search(begin_of(WALK, seconds=5.0), Scripted())
    told = line.next(Report, lambda report: isinstance(report, Situation | Thought))  # type: ignore[arg-type]
    assert isinstance(told, Situation)
    assert (told.turn, set(told.legal), told.choices, told.digest) == (0, {"walk", "rest"}, 2, digest(0))
    assert (told.checkpoint, told.possible) == (None, b"")
    assert line.thought(0) == Thought(0, digest(0), Opinion("walk"), "good", "good is as good as any")


def test_joint_moves_are_followed_to_the_end(search: Started) -> None:
    """Each situation is told at once, the last one with its goals."""
    engine = Scripted()
    line = search(begin_of(WALK, seconds=5.0), engine)
    for number in range(4):
        assert line.situation(number).digest == digest(number)
        assert line.thought(number).digest == digest(number)
        line.say(Turn(("walk",), 1.0))
    told = line.situation(4)
    assert (told.terminal, told.goals, told.digest) == (True, (100,), digest(4))
    assert (engine.count("begin"), engine.count("advance")) == (1, 4)


def test_match_is_taken_up_at_a_checkpoint(search: Started) -> None:
    """With the joint moves made since."""
    checkpoint = Checkpoint(5, at(1), since=(("walk",), ("rest",)))
    line = search(begin_of(WALK, checkpoint=checkpoint, seconds=5.0), Scripted())
    assert line.situation(7).digest == digest(2)


def test_unreadable_checkpoint_leads_astray(search: Started) -> None:
    """The reference knows better than to begin anywhere."""
    line = search(begin_of(WALK, checkpoint=Checkpoint(5, b"{"), seconds=5.0), Scripted())
    assert line.next(Astray).turn == 5
    line.say(Placement(5, digest(3), at(3), None))
    assert line.thought(5).digest == digest(3)


@pytest.mark.parametrize(
    "received", [("fly",), ("walk", "walk"), Unseen("walk"), Unseen("walk", (), 2), Judged(("rest",), "walk", False)]
)
def test_search_that_lost_its_way_is_placed(search: Started, received: Any) -> None:
    """Whatever is no legal joint move is for the reference to judge."""
    engine = Scripted()
    line = search(begin_of(WALK, seconds=5.0), engine)
    line.situation(0)
    line.say(Turn(received, 1.0))
    turn = line.next(Astray).turn
    assert turn == 1 + (received.missed if isinstance(received, Unseen) else 0)
    line.say(Placement(turn, digest(2), at(2), None))
    assert line.situation(turn).digest == digest(2)
    assert line.thought(turn).digest == digest(2)
    line.say(Turn(("walk",), 1.0))
    assert line.situation(turn + 1).digest == digest(3)
    assert (engine.count("begin"), engine.count("advance")) == (2, 1)


def test_search_stays_astray_until_it_is_placed(search: Started) -> None:
    """A joint move from an unknown state leads to an unknown state."""
    line = search(begin_of(WALK, seconds=5.0), Scripted())
    line.say(Turn(("fly",), 1.0))
    assert line.next(Astray).turn == 1
    line.say(Turn(("walk",), 1.0))
    assert line.next(Astray).turn == 2


def test_place_where_it_is_already_changes_nothing(search: Started) -> None:
    """What was searched is kept; a late place is dropped."""
    engine = Scripted()
    line = search(begin_of(WALK, seconds=5.0), engine)
    line.say(Turn(("walk",), 1.0))
    line.thought(1)
    line.say(Placement(1, digest(1), at(1), None))
    line.say(Placement(0, digest(0), at(0), None))
    line.say(Turn(("walk",), 1.0))
    assert line.situation(2).digest == digest(2)
    line.thought(2)
    assert engine.count("begin") == 1


def test_doubt_is_thought_about_in_samples(search: Started) -> None:
    """Where several states fit, a search over all of them takes the engine's place."""
    engine = Scripted()
    line = search(begin_of(WALK, seconds=5.0), engine)
    line.say(Turn(Unseen(None), 1.0))
    line.next(Astray)
    line.say(Placement(1, b"doubt", at(0, 1), ("walk", "rest")))
    thought = line.thought(1)
    assert (thought.digest, thought.engine) == (b"doubt", BELIEF_SEARCH)
    line.say(Placement(1, b"less doubt", at(0, 1, 2), ("walk", "rest")))
    assert line.next(Thought, lambda thought: thought.digest == b"less doubt").engine == BELIEF_SEARCH
    line.say(Turn(("walk",), 1.0))
    assert line.next(Astray).turn == 2
    line.say(Placement(2, digest(1), at(1), None))
    thought = line.thought(2)
    assert (thought.digest, thought.engine) == (digest(1), "good")


def test_level_ends_its_turns_itself_without_a_circuit_and_in_doubt(search: Started) -> None:
    """Its clock is too long to be waited for. A compilation that fails is waited for: a circuit would say more."""

    class Brief(Scripted):
        def _work(self, stop: StopFlag, report: Listen) -> None:
            report(Opinion(self.move))

    compilation = Compiled(interpreter_of(WALK), threading.Event())
    begin = replace(begin_of(WALK, seconds=600.0, compile=True), level="20")
    line = search(begin, Brief(), compile=lambda checked, limits: compilation)
    assert not line.thought(0).opinion.final
    compilation.failed = "too large"
    assert line.next(Thought, lambda thought: thought.opinion.final).turn == 0
    line.say(Turn(Unseen(None), 600.0))
    line.say(Placement(1, b"doubt", at(0, 1), ("walk", "rest")))
    final = line.next(Thought, lambda thought: thought.opinion.final)
    assert (final.turn, final.engine, final.opinion.info["playouts"]) == (1, BELIEF_SEARCH, 20)


def test_match_that_begins_again_is_followed_from_the_start(search: Started) -> None:
    """A rewound search is back in the initial state."""
    line = search(begin_of(WALK, seconds=5.0), Scripted())
    line.say(Turn(("walk",), 1.0))
    line.situation(1)
    line.say(Rewind())
    assert line.situation(0).digest == digest(0)
    assert line.thought(0).digest == digest(0)


# --- the engine


@pytest.mark.parametrize("failing", ["begin", "think", "advance"])
def test_failing_engine_gives_way_to_the_next_one(search: Started, failing: str) -> None:
    """Wherever an engine fails, the next best one plays on."""
    line = search(begin_of(WALK, seconds=5.0), Scripted("bad", "walk", failing), Scripted("good", "rest"))
    line.situation(0)
    line.say(Turn(("walk",), 1.0))
    thought = line.thought(1)
    assert (thought.engine, thought.opinion.move) == ("good", "rest")


def test_illegal_opinion_disqualifies_its_engine(search: Started) -> None:
    """An engine that wants an illegal move is dropped before its opinion is told."""
    line = search(begin_of(WALK, seconds=5.0), Scripted("bad", "fly"), Scripted("good", "rest"))
    assert line.next(Thought).opinion.move == "rest"


def test_resting_search_is_silent(search: Started) -> None:
    """Between its answer and the next turn a search that may not ponder neither thinks nor tells."""
    engine = Scripted()
    line = search(begin_of(WALK, seconds=5.0), engine)
    line.thought(0)
    line.say(Rest())
    line.say(Turn(None, 3.0))
    until(lambda: ("think", 3.0) in engine.calls)
    line.say(Rest())
    until(line.commands.empty)
    time.sleep(0.05)
    while not line.reports.empty():
        line.reports.get()
    thoughts = engine.count("think")
    line.say(Turn(("walk",), 1.0))
    assert line.next(Report, lambda report: isinstance(report, Situation | Thought)).turn == 1  # type: ignore
    line.thought(1)
    assert engine.count("think") == thoughts + 1


# --- machines


def test_circuit_takes_over_where_the_interpreter_was(search: Started) -> None:
    """The circuit's engine begins in the state of the present turn; thinking goes on."""
    ready = threading.Event()
    first, second = Scripted("first"), Scripted("second")
    chosen = iter([first, second])
    line = search(
        begin_of(WALK, seconds=5.0, compile=True),
        compile=compile_as(WALK, ready),
        choice=lambda machine, role: iter([next(chosen)]),
    )
    line.say(Turn(("walk",), 1.0))
    assert line.thought(1).engine == "first"
    ready.set()
    told = line.next(Thought, lambda thought: thought.engine == "second")
    assert (told.turn, told.digest) == (1, digest(1))
    assert line.next(Prepared) == Prepared("second", compiled=True)
    line.say(Turn(("walk",), 1.0))
    assert line.thought(2).engine == "second"
    assert second.calls[0] == ("begin", frozenset([("at", "1")]))


class Stuck(Interpreter):
    """Takes for ever, until it is stopped."""

    _stop: Callable[[], bool] = staticmethod(lambda: False)

    @contextlib.contextmanager
    def interruptible(self, stop: Callable[[], bool]) -> Iterator[None]:
        self._stop = stop
        yield

    def legal(self, state: State, role: int) -> list[Term]:
        while not self._stop():
            time.sleep(0.001)
        raise Interrupted


def test_circuit_takes_over_from_an_interpreter_that_is_stuck(search: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    """All joint moves since the beginning are followed by the circuit."""
    monkeypatch.setattr(searches, "Interpreter", Stuck)
    ready = threading.Event()
    line = search(begin_of(WALK, seconds=5.0, compile=True), Scripted(), compile=compile_as(WALK, ready))
    line.say(Turn(("walk",), 1.0))
    line.say(Turn(("walk",), 1.0))
    until(line.commands.empty)
    assert not any(isinstance(report, Situation) for report in tuple(line.reports.queue))
    ready.set()
    assert line.situation(2).digest == digest(2)
    assert line.thought(2).engine == "good"


def test_circuit_of_other_rules_is_noticed_before_the_match(
    search: Started, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random matches show it during the start clock: the search ends, and another one will trust the next circuit."""
    from agent.playing import rehearsal

    monkeypatch.setattr(rehearsal, "MOST_SECONDS", 100.0)
    begin = begin_of(SOURCE, compile=True, start_clock=1000)
    line = search(begin, Scripted(move=("mark", "1", "1")), compile=compile_as(FORGETFUL))
    assert line.next(Distrusted).circuits == 1
    until(lambda: line.ended is False)
    assert "only the interpreter has (next (cell " in caplog.text
    assert "rules concerned: line 39, column 1" in caplog.text


def test_right_circuit_is_rehearsed_before_it_is_prepared(search: Started, caplog: pytest.LogCaptureFixture) -> None:
    """The log tells the number of states in which both agree."""
    caplog.set_level(logging.INFO, "agent.playing")
    line = search(begin_of(WALK, compile=True, start_clock=4), Scripted(), compile=compile_as(WALK))
    assert line.next(Prepared).compiled
    assert "states of random matches" in caplog.text


def test_circuit_that_knows_other_states_is_wrong(search: Started) -> None:
    """Placed in the reference's state, it has another digest."""
    begin = begin_of(WALK, seconds=5.0, compile=True)
    line = search(begin, Scripted(), compile=compile_as(WALK.replace("(legal x rest)", "")))
    line.next(Prepared)
    line.say(Turn(("rest",), 1.0))
    assert line.next(Astray).turn == 1
    line.say(Placement(1, digest(0), at(0), None))
    assert line.next(Distrusted).circuits == 1
    until(lambda: line.ended is False)


class Mute(Portable):
    """Fails after the first joint move."""

    def facts(self, state: State) -> frozenset[Term]:
        if state != self.initial():
            raise ValueError("no facts")
        return super().facts(state)


def test_circuit_that_fails_ends_the_search(search: Started, caplog: pytest.LogCaptureFixture) -> None:
    """Another one begins, with one circuit less to trust."""
    begin = begin_of(WALK, seconds=5.0, compile=True, distrust=1)
    line = search(begin, Scripted(), compile=lambda checked, limits: Compiled(Mute(checked)))
    line.next(Prepared)
    line.say(Turn(("walk",), 1.0))
    assert line.next(Distrusted).circuits == 2
    until(lambda: line.ended is False)
    assert "the circuit cannot follow the match: ValueError: no facts" in caplog.text


@pytest.mark.parametrize(("distrust", "variants"), [(0, [None]), (1, [("plain",)]), (2, [])])
def test_circuits_found_wrong_tell_what_is_compiled(search: Started, distrust: int, variants: list[object]) -> None:
    """First all rewritings, then the rules as they stand, then nothing."""
    asked: list[object] = []

    def compile(checked: CheckedRules, limits: Limits) -> Compiled:
        asked.append(limits.variants)
        return Compiled(Portable(checked))

    line = search(begin_of(WALK, compile=True, distrust=distrust, start_clock=1), Scripted(), compile=compile)
    assert line.next(Prepared).compiled == (distrust < 2)
    assert asked == variants


def test_interpreter_plays_where_no_circuit_comes(search: Started) -> None:
    """As soon as the compilation has failed, it may think before the match begins."""
    compilation = Compiled(interpreter_of(WALK), threading.Event())
    line = search(begin_of(WALK, compile=True), Scripted(), compile=lambda checked, limits: compilation)
    line.situation(0)
    compilation.failed = "too large"
    assert line.next(Prepared) == Prepared("good", compiled=False)
    assert line.thought(0).engine == "good"


def test_match_that_no_machine_can_play_is_refused(search: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is the interpreter's."""

    class Broken(Interpreter):
        def initial(self) -> State:
            raise ValueError("no beginning")

    monkeypatch.setattr(searches, "Interpreter", Broken)
    assert "no beginning" in search(begin_of(WALK), Scripted()).next(Refused).reason


def test_rules_without_meaning_are_refused(search: Started) -> None:
    """The process may take another match."""
    line = search(begin_of(WALK, "nobody"), Scripted())
    assert "nobody" in line.next(Refused).reason
    until(lambda: line.ended is True)


# --- the start clock


class Pensive(Scripted):
    """Uses the start clock."""

    uses_start_clock = True


class Clock:
    """A clock that stands still unless it is set; counts the looks at it."""

    sleep = staticmethod(time.sleep)

    def __init__(self) -> None:
        self.now = 1000.0
        self.looks = 0

    def monotonic(self) -> float:
        """Returns the time."""
        self.looks += 1
        return self.now


@pytest.mark.parametrize("proof", [True, False])
def test_match_begins_with_a_proof_or_near_the_end_of_the_clock(
    search: Started, monkeypatch: pytest.MonkeyPatch, proof: bool
) -> None:
    """A proof ends the start clock; without one, 95 % of it are used up, less half a second."""
    clock = Clock()
    monkeypatch.setattr(searches, "time", clock)
    line = search(begin_of(WALK, start_clock=100), Pensive(sure=proof))
    line.next(Thought)
    if proof:
        line.next(Prepared)
        return
    clock.now += 94.4
    looks = clock.looks
    until(lambda: clock.looks > looks + 2)
    assert not any(isinstance(report, Prepared) for report in tuple(line.reports.queue))
    clock.now += 0.2
    line.next(Prepared)


@pytest.mark.parametrize("begin", [{"seconds": 5.0}, {"checkpoint": Checkpoint(since=(("walk",),))}])
def test_match_that_is_under_way_is_not_held_up(search: Started, begin: dict[str, Any]) -> None:
    """A search that joins during a match is prepared at once, whatever the engine, which does not prepare."""
    engine = Pensive()
    search(begin_of(WALK, start_clock=100, **begin), engine).next(Prepared)
    assert engine.count("prepare") == 0


def test_engine_is_told_the_lengths_of_start_clock_and_turns(search: Started) -> None:
    """Before the first turn the engine prepares with the rest of the start clock; then it thinks."""
    engine = Scripted()
    line = search(begin_of(WALK, start_clock=1000), engine)
    line.thought(0)
    line.say(Turn(None, 7.0))
    until(lambda: ("think", 7.0) in engine.calls)
    line.say(Turn(("walk",), 8.0))
    until(lambda: ("think", 8.0) in engine.calls)
    (left,) = [seconds for call, seconds in engine.calls if call == "prepare"]
    assert 0 < left <= 950


def test_interpreter_leaves_the_start_clock_to_the_compilation(search: Started) -> None:
    """It does not think before the first turn while a circuit may come."""
    ready = threading.Event()
    engine = Scripted()
    line = search(begin_of(WALK, compile=True), engine, compile=compile_as(WALK, ready))
    line.situation(0)
    until(lambda: engine.count("begin") == 1)
    time.sleep(0.05)
    assert engine.count("prepare") == 0
    ready.set()
    assert line.next(Prepared).compiled
