"""Trial matches: points, interruptions, and matches without a result."""

from __future__ import annotations

import threading
from random import Random

import numpy as np
import pytest

from agent.search.choosing.match_series import TrialMatch
from agent.search.engine import Engine, Limit, Opinion, Report, StopFlag
from agent.search.pvs.engine import CannotSearchError
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term
from tests.agent.search.pvs.sheets import heap
from tests.circuits import Compile

GO = np.zeros(1, np.uint8)


class Scripted(Engine):
    """Plays the first legal move, or the last one; records its calls."""

    name = "scripted"

    def __init__(self, machine: CircuitMachine, role: int, pick: int, error: type[Exception] | None = None) -> None:
        self._machine, self._role, self._pick, self._error = machine, role, pick, error
        self.states: list[State] = []

    def begin(self, state: State) -> None:
        self.states = [state]

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        assert self._machine.next(self.states[-1], joint_move) == state
        self.states.append(state)

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        if self._error is not None:
            raise self._error
        report(Opinion(self._machine.legal(self.states[-1], self._role)[self._pick]))


class Fixed(Random):
    """No random plies at the start."""

    def randint(self, a: int, b: int) -> int:
        return a


def match_of(machine: CircuitMachine, first: Engine, second: Engine, seconds: float = 0.01) -> TrialMatch:
    """A match from the beginning of the game."""
    return TrialMatch(machine, machine.initial(), (first, second), seconds, Fixed(1))


def test_trial_counts_points(own: Compile) -> None:
    """In tic-tac-toe, first cells in order against last ones; both engines follow the match."""
    machine = own("tic_tac_toe")
    first, second = Scripted(machine, 0, 0), Scripted(machine, 1, -1)
    assert match_of(machine, first, second).play(GO) == 1.0
    assert first.states == second.states
    assert len(first.states) == 5
    assert match_of(machine, Scripted(machine, 0, 0), Scripted(machine, 1, 0)).play(GO) == 1


def test_interrupted_trial_goes_on(own: Compile) -> None:
    """A match stopped at its third move ends as it would have without the stop."""
    machine = own("tic_tac_toe")
    stop = np.zeros(1, np.uint8)

    class Stopping(Scripted):
        def think(self, halt: StopFlag, report: Report, limit: Limit) -> None:
            super().think(halt, report, limit)
            stop[0] = len(self.states) == 3

    first = Stopping(machine, 0, 0)
    match = match_of(machine, first, Scripted(machine, 1, -1))
    assert match.play(stop) is None
    assert not match.void
    assert len(first.states) == 3
    assert match.play(GO) == 1.0
    assert len(first.states) == 5


def test_trial_without_a_result(own: Compile, machine_of: Compile) -> None:
    """A stopped match, and one that ends in the opening, do not count; errors of an engine are raised."""
    machine = own("tic_tac_toe")
    assert match_of(machine, Scripted(machine, 0, 0), Scripted(machine, 1, -1)).play(np.ones(1, np.uint8)) is None
    short = machine_of(heap(1))

    class Long(Random):
        def randint(self, a: int, b: int) -> int:
            return b

    over = TrialMatch(short, short.initial(), (Scripted(short, 0, 0), Scripted(short, 1, 0)), 0.01, Long(1))
    assert over.void
    assert over.play(GO) is None
    before = threading.active_count()
    failing = match_of(machine, Scripted(machine, 0, 0, CannotSearchError), Scripted(machine, 1, 0), 100.0)
    with pytest.raises(CannotSearchError):
        failing.play(GO)
    assert threading.active_count() == before
