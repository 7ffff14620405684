"""The process that compares, on slow rules."""

from __future__ import annotations

import threading

import pytest
from agent.playing.crosschecker import CrossChecker

from agent.playing import crosschecker
from games.gdl.crosscheck import Observation, observe
from games.gdl.interpreter.machine import Interpreter
from games.machine import Interrupted, State
from tests.agent.playing.line import Portable
from tests.matches import rules_of
from tests.processes import until

RULES = """
(role a) (init start)
(<= (legal a go) (true ?x))
(<= (next slow) (does a go))
(<= terminal (true never))
(goal a 100)
"""


class Slow(Interpreter):
    """Never finishes with one of its states."""

    def terminal(self, state: State) -> bool:
        """Is stopped in that state."""
        if state == {"slow"}:
            raise Interrupted
        return super().terminal(state)


def test_state_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """States after one that is given up are compared; the log counts those not compared."""
    monkeypatch.setattr(crosschecker, "MAX_CPU_SECONDS", 0.4)
    monkeypatch.setattr(crosschecker, "SHARE", 1.0)
    monkeypatch.setattr(crosschecker, "RANDOM_SHARE", 1e-9)
    monkeypatch.setattr(crosschecker, "Interpreter", Slow)
    checked = rules_of(RULES)
    machine = Portable(checked)
    found = threading.Event()
    checker = CrossChecker(checked, found.set)
    try:
        checker.start()
        checker.watch(machine)
        start = observe(machine, machine.initial(), initial=True)
        checker.observed(machine, start)
        checker.observed(machine, Observation(frozenset(["slow"]), False, (("go",),), None))
        checker.observed(machine, start)
        until(lambda: checker._own_states == 2)
        assert "1 given up" in checker.summary()
        checker.observed(machine, Observation(start.facts, True, start.legal, (100,)))
        assert found.wait(120)
        finding = checker.poll()
        assert finding is not None
        assert finding.own
        assert finding.difference.query == "terminal"
        assert checker.poll() is None
    finally:
        checker.end()


class Simulated:
    """A child process, a clock and a condition in one: only waiting passes time."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def thread_time(self) -> float:
        return 0.0

    def wait(self, timeout: float | None = None) -> None:
        assert timeout is not None, "nothing would wake it"
        self.now += timeout + 1e-6

    def notify_all(self) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


@pytest.mark.parametrize("overrun", [1.0, 3.0])
def test_comparing_costs_its_share_of_the_thinking(monkeypatch: pytest.MonkeyPatch, overrun: float) -> None:
    """A task begins only when 5 % of the thinking time pay for it and all before, half of that for random states; the
    match's own may begin 0.05 s sooner. Overruns are paid for before the next one."""
    simulated = Simulated()
    monkeypatch.setattr(crosschecker, "time", simulated)
    monkeypatch.setattr(crosschecker, "ChildProcess", lambda *arguments, bounds: None)
    checked = rules_of(RULES)
    machine = Portable(checked)
    checker = CrossChecker(checked, lambda: None)
    checker._changed = simulated  # type: ignore[assignment]
    checker.watch(machine)
    spent, on_random, own = 0.0, 0.0, 0
    for number in range(400):
        if number % 10 == 0:
            checker.observed(machine, observe(machine, machine.initial()))
        task, subject = checker._next_task()
        assert task is not None
        thought = simulated.now - 100.0
        if task.machine is None:
            own += task.seen is not None
            advance = 0.05 if task.seen is not None else 0.0
            assert spent + task.cpu_seconds - advance <= 0.05 * thought + 1e-9
            if task.seen is None:
                assert on_random + task.cpu_seconds <= 0.025 * thought + 1e-9
        cost = overrun * task.cpu_seconds
        spent += cost
        on_random += cost if task.machine is None and task.seen is None else 0.0
        checker._take(task, subject, crosschecker._Outcome(1, False, None, spent))
    assert own == 40
    checker.rest(True)
    thought = checker._thinking_seconds()
    simulated.now += 1000.0
    assert checker._thinking_seconds() == thought
