"""Both processes of a match, as processes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import pytest

from agent.playing.messages import (
    Alive,
    Command,
    Prepared,
    Refused,
    Report,
    Situation,
    Thought,
    Turn,
    Warm,
    parts_of,
)
from agent.serving.starting import REFERENCE, SEARCH, Kind, start_process
from games import rulesheets
from tests.agent.playing.line import begin_of
from tests.matches import own_interpreter
from tests.processes import until

Told = TypeVar("Told", bound=Report)

SOURCE = rulesheets.text("tic_tac_toe")


class Started:
    """A process, and the server's end of its channel."""

    def __init__(self, kind: Kind) -> None:
        self.process = start_process(kind, 4 << 30)

    def say(self, command: Command) -> None:
        """Sends a command."""
        for part in parts_of(command):
            self.process.send(part)

    def next(self, kind: type[Told], fits: Callable[[Told], bool] = lambda report: True) -> Told:
        """Returns the next report of a kind that fits, and drops those before it."""
        while True:
            report = self.process.receive()
            if isinstance(report, kind) and fits(report):
                return report


@pytest.fixture
def start() -> Iterator[Callable[[Kind], Started]]:
    """Starts processes, and ends them."""
    with contextlib.ExitStack() as stack:

        def start(kind: Kind) -> Started:
            started = Started(kind)
            stack.callback(started.process.end)
            return started

        yield start


@pytest.mark.parametrize("kind", [REFERENCE, SEARCH])
def test_process_gets_ready_and_gives_signs_of_life(start: Callable[[Kind], Started], kind: Kind) -> None:
    """Before a match, too; it plays the first one that is not refused, and ends with its server."""
    started = start(kind)
    assert isinstance(started.next(Warm | Alive), Warm)  # type: ignore[arg-type]
    started.next(Alive)
    started.say(begin_of(SOURCE, "nobody"))
    started.next(Refused)
    started.say(begin_of(SOURCE))
    assert started.next(Situation).choices == 9
    started.next(Alive)
    started.next(Alive)
    started.process.pipe.close()
    until(lambda: started.process.status is not None)
    assert started.process.status == 0


@pytest.mark.e2e
def test_both_processes_are_of_one_opinion(start: Callable[[Kind], Started]) -> None:
    """A match on a real circuit: equal digests in every turn, and legal moves, until the end."""
    reference, search = start(REFERENCE), start(SEARCH)
    begin = begin_of(SOURCE, compile=True, start_clock=20)
    reference.say(replace(begin, compile=False))
    search.say(begin)
    assert search.next(Prepared).compiled
    machine = own_interpreter("tic_tac_toe")
    state, last, turn = machine.initial(), None, 0
    while not machine.terminal(state):
        for process in (reference, search):
            process.say(Turn(last, 1.0))
        told = reference.next(Situation, lambda report: report.turn == turn)  # noqa: B023 - called at once
        thought = search.next(Thought, lambda report: report.turn == turn)  # noqa: B023
        assert thought.digest == told.digest
        assert thought.opinion.move in machine.legal(state, 0)
        last = (thought.opinion.move, machine.legal(state, 1)[0])
        state = machine.next(state, last)
        turn += 1
    for process in (reference, search):
        process.say(Turn(last, None))
    ends = [process.next(Situation, lambda report: report.terminal) for process in (reference, search)]
    assert ends[0].digest == ends[1].digest
    assert ends[0].goals == ends[1].goals == tuple(machine.goal(state, role) for role in (0, 1))
