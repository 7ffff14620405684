"""Trial matches: points, interruptions, and matches without a result."""

from __future__ import annotations

import threading
from random import Random

import numpy as np
import pytest

from agent.search.choosing.trials import TrialMatch
from agent.search.engine import Engine, Limit, Opinion, Report, StopFlag
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term
from tests.agent.search.pvs.sheets import heap
from tests.circuits import Compile

GO = np.zeros(1, np.uint8)


class Scripted(Engine):
    """Plays the first legal move, or the last one, and raises a stop flag in its n-th turn; records its calls."""

    name = "scripted"

    def __init__(self, machine: CircuitMachine, role: int, pick: int, stops_at: int = 0) -> None:
        self._machine, self._role, self._pick, self._stops_at = machine, role, pick, stops_at
        self.states: list[State] = []
        self.stop = np.zeros(1, np.uint8)

    def begin(self, state: State) -> None:
        self.states = [state]

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        assert self._machine.next(self.states[-1], joint_move) == state
        self.states.append(state)

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        report(Opinion(self._machine.legal(self.states[-1], self._role)[self._pick]))
        self.stop[0] = len(self.states) == self._stops_at


class Opening(Random):
    """As many random plies at the start as wanted."""

    def __init__(self, plies: int) -> None:
        super().__init__(1)
        self._plies = plies

    def randint(self, a: int, b: int) -> int:
        return self._plies


def match_of(machine: CircuitMachine, *engines: Engine, plies: int = 0) -> TrialMatch:
    """A match from the beginning of the game."""
    first, second = engines
    return TrialMatch(machine, machine.initial(), (first, second), 0.01, Opening(plies))


@pytest.mark.parametrize("stops_at", [0, 3])
def test_trial_counts_points(own: Compile, stops_at: int) -> None:
    """First cells in order win against last ones; a match that is stopped goes on where it was."""
    machine = own("tic_tac_toe")
    first, second = Scripted(machine, 0, 0, stops_at), Scripted(machine, 1, -1)
    match = match_of(machine, first, second)
    if stops_at:
        assert match.play(first.stop) is None
        assert (match.void, len(first.states)) == (False, stops_at)
    assert match.play(GO) == 1.0
    assert first.states == second.states
    assert len(first.states) == 5


def test_trial_without_a_result(own: Compile, machine_of: Compile) -> None:
    """A match that ends in the opening is void; errors of an engine are raised, and leave no thread behind."""
    short, machine = machine_of(heap(1)), own("tic_tac_toe")
    over = match_of(short, Scripted(short, 0, 0), Scripted(short, 1, 0), plies=4)
    assert over.void
    assert over.play(GO) is None
    before = threading.active_count()
    with pytest.raises(IndexError):
        match_of(machine, Scripted(machine, 0, 99), Scripted(machine, 1, 0)).play(GO)
    assert threading.active_count() == before
