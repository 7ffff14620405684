"""Both processes of a match, which get the same messages: their situations, and what the search is told of doubts."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from agent.playing.messages import Astray, Begin, Placement, Prepared, Received, Report, Situation, Thought, Turn
from agent.playing.search import Search
from agent.playing.truth import Truth
from agent.search.montecarlo import MonteCarlo
from games import rulesheets
from games.machine import NO_MOVE
from tests.agent.playing.hidden_games import BLIND_TIC_TAC_TOE, DICE_RACE, HiddenMatch
from tests.agent.playing.line import Line, begin_of, compile_as, running
from tests.agent.playing.test_search import FORGETFUL
from tests.matches import own_interpreter

OWN = ("tic_tac_toe", "connect_four", "breakthrough")


class Both:
    """Both processes, as a match drives them."""

    def __init__(self, reference: Line, search: Line) -> None:
        self._reference, self._search = reference, search

    def turn(self, number: int, received: Received | None) -> tuple[Situation, Thought | None]:
        """Plays a turn; returns the reference's situation, and an opinion on it."""
        for line in (self._reference, self._search):
            line.say(Turn(received, 1.0))
        told = self._reference.situation(number)
        astray = received is not None and isinstance(
            self._search.next(Report, lambda report: about(report) == number),  # type: ignore[arg-type]
            Astray,
        )
        if astray or told.states > 1:
            self._search.say(Placement(number, told.digest, told.possible, told.legal if told.states > 1 else None))
        if told.terminal or not told.choices:
            return told, None
        return told, self._search.next(Thought, lambda thought: thought.digest == told.digest)


def about(report: Report) -> int | None:
    """Returns the turn that a situation, or its lack, is about."""
    return report.turn if isinstance(report, Situation | Astray) else None


@contextlib.contextmanager
def both(begin: Begin, source: str) -> Iterator[Both]:
    """Begins both; a circuit plays."""
    lines = Line(), Line()
    search = Search(lines[1], begin, compile_as(source), lambda machine, role: iter([MonteCarlo(machine, role)]))
    with running(Truth(lines[0], replace(begin, compile=False)), lines[0]), running(search, lines[1]):
        yield Both(*lines)


@pytest.mark.parametrize("name", OWN)
def test_opinions_are_about_the_reference_state(name: str) -> None:
    """In each turn of a match, also after joint moves that nobody can make."""
    source, machine, rng = rulesheets.text(name), own_interpreter(name), random.Random(2)
    with both(begin_of(source, str(machine.roles[0]), seconds=5.0, compile=True), source) as processes:
        state, received = machine.initial(), None
        for number in range(12):
            told, thought = processes.turn(number, received)
            if told.states == 1:
                assert set(told.legal) == set(machine.legal(state, 0))
            if told.terminal:
                break
            assert thought is not None
            assert thought.opinion.move in told.legal
            joint_move = tuple(rng.choice(machine.legal(state, role)) for role in range(2))
            if number == 5:
                received = (*joint_move, "nonsense")
            else:
                received, state = joint_move, machine.next(state, joint_move)


@pytest.mark.parametrize(("source", "doubtful"), [(BLIND_TIC_TAC_TOE, True), (DICE_RACE, False)])
def test_hidden_match_is_thought_about_in_the_states_that_fit(source: str, doubtful: bool) -> None:
    """The search gets them from the reference, be there one or several, and wants moves legal in most of them."""
    match = HiddenMatch(source, 0)
    begin = begin_of(source, str(match.machine.roles[0]), seconds=5.0, compile=True)
    doubts = 0
    with both(begin, source) as processes:
        received: Received | None = None
        for number in range(8):
            told, thought = processes.turn(number, received)
            if match.machine.terminal(match.state):
                break
            doubts += told.states > 1
            assert thought is None or thought.opinion.move in told.legal
            received = match.advance(match.rng.choice(match.legal() or [NO_MOVE]))
    assert bool(doubts) == doubtful


def test_circuit_of_other_rules_differs_in_the_first_wrong_state() -> None:
    """The match sees it by the digests, however long the search could have gone on."""
    source = rulesheets.text("tic_tac_toe")
    lines = Line(), Line()
    begin = begin_of(source, seconds=5.0, compile=True)
    search = Search(lines[1], begin, compile_as(FORGETFUL), lambda machine, role: iter([MonteCarlo(machine, role)]))
    with running(Truth(lines[0], begin), lines[0]), running(search, lines[1]):
        lines[1].next(Prepared)
        for joint_move in ((("mark", "1", "1"), "noop"), ("noop", ("mark", "2", "2"))):
            for line in lines:
                line.say(Turn(joint_move, 1.0))
        same = [lines[0].situation(turn).digest == lines[1].situation(turn).digest for turn in (1, 2)]
    assert same == [True, False]
