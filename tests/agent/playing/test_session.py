"""Matches with a wrong circuit: it is noticed and replaced, and no move is illegal."""

from __future__ import annotations

import contextlib
import logging
import random
import re
import time
from collections.abc import Callable, Iterator

import pytest
from agent.playing.session import CompilationLike, Session

from agent.playing import crosschecker
from agent.playing import gamer as gamers
from agent.playing.messages import (
    Begin,
    Checkpoint,
    Distrusted,
    Prepared,
    Report,
    Rest,
    Situation,
    Thought,
    Turn,
)
from agent.search.engine import Engine, Limit, Opinion, StopFlag
from games import rulesheets
from games.gdl.compile import Limits, start_compilation, warm_kernels
from games.gdl.rules.check import CheckedRules
from games.machine import State, StateMachine, Term
from protocol.kif import read_rulesheet
from protocol.messages import Start
from tests.agent.playing.line import Line, Portable, running
from tests.matches import interpreter_of, rules_of
from tests.processes import PATIENCE, until

SOURCE = rulesheets.text("tic_tac_toe")

KEPT = "(<= (next (cell ?column ?row ?role))\n    (true (cell ?column ?row ?role))"

FORGETFUL = SOURCE.replace(KEPT, f"{KEPT} (distinct ?role x)")
"""Marks of `x` do not stay: the state after two plies is wrong, and so are its legal moves."""

WITHOUT_DIAGONALS = SOURCE.replace("(true (cell 2 2 ?role))", "(true (cell 2 2 nobody))")
"""A match may go on when it is over."""

GENEROUS = SOURCE.replace("(goal ?role 50)", "(goal ?role 60)")
"""A draw is worth more: only the result is wrong."""

Compile = Callable[[CheckedRules, Limits], CompilationLike]


class Mute(Portable):
    """Fails after the first joint move."""

    def facts(self, state: object) -> frozenset[Term]:
        if state != self.initial():
            raise ValueError("no facts")
        return super().facts(state)  # type: ignore[arg-type]


class Compiled:
    """A compilation that is done."""

    failed = None

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine

    def poll(self) -> StateMachine:
        """Returns the machine."""
        return self._machine

    def cancel(self) -> None:
        """Does nothing."""


def compile_wrongly(source: str, always: bool = False) -> Compile:
    """Compiles other rules than the match's; the plain rules too if `always`."""
    wrong = rules_of(source)

    def compile(checked: CheckedRules, limits: Limits) -> CompilationLike:
        return Compiled(Portable(checked if limits.variants is not None and not always else wrong))

    return compile


def compile_wrong_circuit(checked: CheckedRules, limits: Limits) -> CompilationLike:
    """A real circuit of other rules, then a real circuit of the right ones."""
    return start_compilation(checked if limits.variants is not None else rules_of(FORGETFUL), limits)


class Content(Engine):
    """Wants the first legal move, and thinks no further: thinking leaves others less of the processor."""

    name = "content"

    def __init__(self, machine: StateMachine, role: int) -> None:
        self._machine, self._role = machine, role

    def begin(self, state: State) -> None:
        """Notes the state."""
        self._state = state

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        """Notes the state."""
        self._state = state

    def think(self, stop: StopFlag, report: Callable[[Opinion], None], limit: Limit) -> None:
        """Reports its opinion, and waits to be stopped."""
        for move in self._machine.legal(self._state, self._role)[:1]:
            report(Opinion(move))
        while not stop[0]:
            time.sleep(0.001)


def content(machine: StateMachine, role: int) -> Iterator[Engine]:
    """Returns the only engine."""
    return iter([Content(machine, role)])


class Match:
    """A session, and the manager of its match, who knows the rules."""

    def __init__(self, compile: Compile, *, ponder: bool = True, distrust: int = 0, searches: bool = False) -> None:
        self.truth = interpreter_of(SOURCE)
        self.state = self.truth.initial()
        self.chance = random.Random(1)
        self.line = Line()
        self._end = time.monotonic() + PATIENCE
        self.prepared = 0
        self.situation: Situation | None = None
        """Situation reported last."""
        self.distrusted: list[int] = []
        """Reported numbers of wrong circuits."""
        self.recovered = False
        """Whether a circuit plays although one was wrong."""
        start = Start("m", "x", read_rulesheet(SOURCE), 10, 10, source=SOURCE)
        begin = Begin(start, Checkpoint(), None, ponder, compile=True, distrust=distrust)
        self.session = Session(self.line, begin, compile, engines=None if searches else content)

    def report(self) -> Report:
        """Returns the next report. Signs of life come for ever: it fails where nothing else does."""
        assert time.monotonic() < self._end, "what is waited for does not come"
        report = self.line.reports.get(timeout=PATIENCE)
        if isinstance(report, Prepared):
            self.prepared += 1
            self.recovered = report.compiled and bool(self.distrusted)
        elif isinstance(report, Situation):
            self.situation = report
        elif isinstance(report, Distrusted):
            self.distrusted.append(report.circuits)
        return report

    def wait_until_prepared(self) -> None:
        """Waits until it is settled what plays the match."""
        before = self.prepared
        while self.prepared == before:
            self.report()

    def turn(self, number: int, last: tuple[Term, ...] | None) -> tuple[Term, ...]:
        """Plays a turn; answers as soon as the true legal moves and an opinion on them were reported."""
        self.line.commands.put(Turn(last, 1.0))
        legal = [self.truth.legal(self.state, role) for role in range(2)]
        while True:
            report = self.report()
            seen = self.situation
            if seen is None or seen.turn != number or seen.checkpoint.facts != self.truth.facts(self.state):
                continue
            if set(seen.legal) != set(legal[0]) or not isinstance(report, Thought) or report.turn != number:
                continue
            if report.opinion.move in legal[0]:
                return report.opinion.move, self.chance.choice(legal[1])

    def play(self) -> None:
        """Plays to the end."""
        last: tuple[Term, ...] | None = None
        number = 0
        while not self.truth.terminal(self.state):
            last = self.turn(number, last)
            assert last[0] in self.truth.legal(self.state, 0)
            self.state = self.truth.next(self.state, last)
            number += 1
        self.line.commands.put(Turn(last, None))
        while not (isinstance(report := self.report(), Situation) and report.turn == number and report.terminal):
            pass
        assert report.goals == tuple(self.truth.goal(self.state, role) for role in range(2))


@pytest.fixture
def begin(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[..., Match]]:
    """Begins matches, and ends them."""
    caplog.set_level(logging.INFO, "agent.playing")
    with contextlib.ExitStack() as stack:

        def begin(compile: Compile, **options: bool) -> Match:
            match = Match(compile, **options)
            stack.enter_context(running(match.session, match.line))
            return match

        yield begin


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Returns the lines that report errors."""
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


def test_difference_in_the_match_is_noticed_at_the_first_wrong_state(
    begin: Callable[..., Match], caplog: pytest.LogCaptureFixture
) -> None:
    """A wrong state is never played on: the interpreter's, or the plain circuit's, is reported in its place."""
    match = begin(compile_wrongly(FORGETFUL))
    match.wait_until_prepared()
    match.play()
    (line,) = errors(caplog)
    assert "next state: only the interpreter has (next (cell " in line
    assert "rules concerned: line 39, column 1: (<= (next (cell ?column ?row ?role)) (true (cell " in line
    assert "compiled once more" in caplog.text


def test_wrong_circuit_gives_way_to_the_plain_one(
    begin: Callable[..., Match], caplog: pytest.LogCaptureFixture
) -> None:
    """A real wrong circuit gives way to a real one of the plain rules."""
    warm_kernels()
    match = begin(compile_wrong_circuit, searches=True)
    match.wait_until_prepared()
    match.play()
    (line,) = errors(caplog)
    assert "only the interpreter has (next (cell " in line
    # It may have been found wrong before it had taken over, or when the match is over.
    while not match.recovered:
        match.report()


def test_difference_is_noticed_during_the_start_clock(
    begin: Callable[..., Match], caplog: pytest.LogCaptureFixture
) -> None:
    """Random matches show what is wrong before the first turn."""
    match = begin(compile_wrongly(WITHOUT_DIAGONALS))
    while not errors(caplog):
        match.report()
    assert "in a state of a random match" in errors(caplog)[0]
    match.play()


@pytest.mark.parametrize("ponder", [True, False])
def test_interpreter_plays_where_no_circuit_is_right(
    begin: Callable[..., Match], caplog: pytest.LogCaptureFixture, ponder: bool
) -> None:
    """The plain circuit is compared as well."""
    match = begin(compile_wrongly(FORGETFUL, always=True), ponder=ponder)
    while "no circuit can be trusted" not in caplog.text:
        match.report()
    match.play()
    assert len(errors(caplog)) == 2
    assert match.distrusted == [1, 2]


def test_result_is_compared_before_it_is_reported(
    begin: Callable[..., Match], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A difference in the last state is noticed too: the first result reported is the right one."""
    assert GENEROUS != SOURCE
    monkeypatch.setattr(crosschecker, "SHARE", 1.0)
    monkeypatch.setattr(crosschecker, "RANDOM_SHARE", 1e-9)
    monkeypatch.setattr(gamers, "HOLD_SECONDS", PATIENCE)
    match = begin(compile_wrongly(GENEROUS))
    match.wait_until_prepared()
    marks = [(1, 1), (2, 2), (3, 3), (1, 2), (3, 2), (3, 1), (1, 3), (2, 3), (2, 1)]
    for number, (column, row) in enumerate(marks):
        mark, active = ("mark", str(column), str(row)), number % 2
        joint_move = ("noop", mark) if active else (mark, "noop")
        assert all(move in match.truth.legal(match.state, role) for role, move in enumerate(joint_move))
        match.state = match.truth.next(match.state, joint_move)
        match.line.commands.put(Turn(joint_move, None if number == 8 else 1.0))
        while not (isinstance(report := match.report(), Situation) and report.turn == number + 1):
            pass
    assert report.terminal
    assert report.goals == (50, 50)
    (line,) = errors(caplog)
    assert "goal of x: only the circuit has (goal x 60)" in line


def test_worker_that_joins_later_knows_of_the_difference(
    begin: Callable[..., Match], caplog: pytest.LogCaptureFixture
) -> None:
    """A worker that joins knows the number of wrong circuits: it begins with the plain one, or with none."""
    first = begin(compile_wrongly(FORGETFUL))
    first.wait_until_prepared()
    first.play()
    assert first.distrusted == [1]
    asked: list[Limits] = []

    def compile(checked: CheckedRules, limits: Limits) -> CompilationLike:
        asked.append(limits)
        return Compiled(Portable(checked))

    for distrust, variants in ((1, [("plain",)]), (2, [])):
        asked.clear()
        second = begin(compile, distrust=distrust)
        second.wait_until_prepared()
        assert [limits.variants for limits in asked] == variants
        second.play()
        assert not second.distrusted


def test_circuit_that_fails_gives_way(begin: Callable[..., Match], caplog: pytest.LogCaptureFixture) -> None:
    """A machine that raises errors in the middle of a match is replaced like one that is wrong."""
    rules = rules_of(SOURCE)

    def compile(checked: CheckedRules, limits: Limits) -> CompilationLike:
        return Compiled(Portable(checked) if limits.variants is not None else Mute(rules))

    match = begin(compile)
    match.wait_until_prepared()
    match.play()
    assert any("the circuit cannot follow the match: ValueError: no facts" in line for line in errors(caplog))


def test_right_circuit_is_compared_all_the_time(
    begin: Callable[..., Match], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All states of the match and some random ones are compared; their number and cost are logged."""
    monkeypatch.setattr(crosschecker, "RANDOM_SHARE", 1.0)
    monkeypatch.setattr(crosschecker, "SHARE", 1.0)
    match = begin(compile_wrongly(SOURCE))
    checker = None
    while checker is None or checker._states < 100:
        match.report()
        checker = match.session._crosschecker
    match.play()
    assert not errors(caplog)
    (line,) = [text for text in caplog.messages if "circuit and interpreter agree in" in text]
    assert "of them the match's own" in line
    assert re.search(r"comparing took [\d.]+ s CPU, [\d.]+% of [\d.]+ s of thinking", line)


def test_nothing_is_thought_where_pondering_is_off(begin: Callable[..., Match]) -> None:
    """No gamer thinks before the first turn, nor between an answer and the next turn."""
    match = begin(compile_wrongly(SOURCE), ponder=False)
    while not match.prepared:
        assert not isinstance(match.report(), Thought)
    gamer = match.session._gamer
    assert gamer is not None
    assert not gamer._thinking
    match.turn(0, None)
    assert gamer._thinking
    match.line.commands.put(Rest())
    until(lambda: not gamer._thinking)
