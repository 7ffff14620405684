"""Both processes of a match, as processes."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import pytest

from agent.playing.main import REFERENCE, SEARCH
from agent.playing.messages import (
    HEADER,
    Alive,
    Command,
    Prepared,
    Refused,
    Report,
    Situation,
    Thought,
    Turn,
    Warm,
    frame,
    parts_of,
)
from agent.processes import module_environment
from games import rulesheets
from tests.agent.playing.line import begin_of
from tests.matches import own_interpreter

Kind = TypeVar("Kind", bound=Report)

SOURCE = rulesheets.text("tic_tac_toe")


class Started:
    """A process, and the server's end of its channel."""

    def __init__(self, kind: str) -> None:
        arguments = ["--kind", kind, "--memory", str(4 << 30), "--server", str(os.getpid())]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agent.playing.main", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=module_environment(),
        )

    def say(self, command: Command) -> None:
        """Sends a command."""
        assert self.process.stdin is not None
        for part in parts_of(command):
            self.process.stdin.write(frame(part))
        self.process.stdin.flush()

    def next(self, kind: type[Kind], fits: Callable[[Kind], bool] = lambda report: True) -> Kind:
        """Returns the next report of a kind that fits, and drops those before it."""
        assert self.process.stdout is not None
        while header := self.process.stdout.read(HEADER.size):
            report = pickle.loads(self.process.stdout.read(*HEADER.unpack(header)))
            if isinstance(report, kind) and fits(report):
                return report
        raise AssertionError("the process has ended")


@pytest.fixture
def start() -> Iterator[Callable[[str], Started]]:
    """Starts processes, and ends them."""
    with contextlib.ExitStack() as stack:

        def start(kind: str) -> Started:
            started = Started(kind)
            stack.enter_context(started.process)
            stack.callback(started.process.kill)
            return started

        yield start


@pytest.mark.parametrize("kind", [REFERENCE, SEARCH])
def test_process_gets_ready_and_gives_signs_of_life(start: Callable[[str], Started], kind: str) -> None:
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
    assert started.process.stdin is not None
    started.process.stdin.close()
    assert started.process.wait() == 0


def test_server_that_is_gone_leaves_no_process(start: Callable[[str], Started]) -> None:
    """Nothing is left of a process that was started by another one."""
    arguments = ["--kind", REFERENCE, "--memory", str(1 << 30), "--server", "1"]
    command = [sys.executable, "-m", "agent.playing.main", *arguments]
    assert subprocess.run(command, env=module_environment(), stdin=subprocess.PIPE, check=True).returncode == 0
    started = start(REFERENCE)
    started.next(Warm)
    started.process.send_signal(signal.SIGKILL)
    assert started.process.wait() == -signal.SIGKILL


@pytest.mark.e2e
def test_both_processes_are_of_one_opinion(start: Callable[[str], Started]) -> None:
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
