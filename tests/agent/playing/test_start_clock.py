"""Engines that use the start clock: the match begins late, unless there is a proof."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from agent.playing.gamer import Gamer, Hooks
from agent.playing.session import Session

from agent.playing import session as sessions
from agent.playing.messages import Begin, Checkpoint, Prepared, Thought
from agent.search.engine import Engine, Limit, Opinion, Score, StopFlag
from games.machine import State, Term
from protocol.kif import read_rulesheet
from protocol.messages import Start
from tests.agent.playing.line import Line, running
from tests.processes import PATIENCE, until

PUZZLE = """
(role x) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
(legal x on) (legal x back)
(<= (next (at ?y)) (does x on) (true (at ?x)) (succ ?x ?y))
(<= (next (at 0)) (does x back))
(<= terminal (true (at 4)))
(<= (goal x 50) (true (at 4)))
(<= (goal x 0) (not (true (at 4))))
"""


class Pensive(Engine):
    """Reports a proven move when the test allows it."""

    name = "pensive"
    uses_start_clock = True

    def __init__(self, sure: threading.Event) -> None:
        self._sure = sure

    def begin(self, state: State) -> None:
        """Nothing."""

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        """Nothing."""

    def think(self, stop: StopFlag, report: Callable[[Opinion], None], limit: Limit) -> None:
        """Thinks until it is sure, or stopped."""
        report(Opinion("on"))
        while not stop[0]:
            if self._sure.wait(0.001):
                report(Opinion("on", Score(50.0, proven=True), final=True))
                return


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


def is_prepared(line: Line) -> bool:
    """Returns whether the worker has reported that it is ready."""
    return any(isinstance(report, Prepared) for report in tuple(line.reports.queue))


@pytest.mark.parametrize("proof", [True, False])
def test_match_begins_with_a_proof_or_near_the_end_of_the_clock(monkeypatch: pytest.MonkeyPatch, proof: bool) -> None:
    """A proof ends the start clock; without one, 95 % of it are used up, less half a second."""
    sure, clock = threading.Event(), Clock()
    monkeypatch.setattr(sessions, "time", clock)
    line = Line()
    start = Start("m", "x", read_rulesheet(PUZZLE), 100, 10, source=PUZZLE)
    begin = Begin(start, Checkpoint(), None, True, compile=False)
    session = Session(line, begin, engines=lambda machine, role: iter([Pensive(sure)]))

    with running(session, line):
        while not isinstance(line.reports.get(timeout=PATIENCE), Thought):
            pass
        clock.now += 94.4
        looks = clock.looks
        until(lambda: is_prepared(line) or clock.looks > looks + 2)
        assert not is_prepared(line)
        if proof:
            sure.set()
        else:
            clock.now += 0.2
        while not isinstance(line.reports.get(timeout=PATIENCE), Prepared):
            pass


def test_a_match_that_is_under_way_is_not_held_up() -> None:
    """A worker that joins during a match is prepared at once, whatever the engine."""
    for seconds, checkpoint in ((5.0, Checkpoint()), (None, Checkpoint(since=(("on",),)))):
        gamer = Gamer(
            lambda: pytest.fail("not started"),
            "x",
            checkpoint,
            Hooks(lambda report: None),
            thinking=True,
            seconds=seconds,
        )
        gamer._engine = Pensive(threading.Event())
        assert not gamer.uses_start_clock
