"""The process that compares, on rules that take long."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from agent.worker import crosschecker
from agent.worker.crosschecker import CrossChecker
from games.gdl.crosscheck import Observation, observe
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules, check
from games.machine import Interrupted, State
from protocol.kif import read_rulesheet

RULES = """
(role a) (init start)
(<= (legal a go) (true ?x))
(<= (next slow) (does a go))
(<= terminal (true never))
(goal a 100)
"""


class Portable(Interpreter):
    """A machine that can be sent to another process, as circuits can."""

    def __init__(self, checked: CheckedRules) -> None:
        super().__init__(checked)
        self._checked = checked

    def __reduce__(self) -> tuple[type[Portable], tuple[CheckedRules]]:
        return Portable, (self._checked,)


class Slow(Interpreter):
    """Needs for one of its states more time than there ever is."""

    def terminal(self, state: State) -> bool:
        """Is stopped in that state."""
        if state == {"slow"}:
            raise Interrupted
        return super().terminal(state)


def wait_until(condition: Callable[[], bool]) -> None:
    """Looks again and again, until it must be taken never to come true."""
    for _ in range(6_000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it does not come true")


def test_state_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The states after it are compared all the same, and what was not compared is said."""
    monkeypatch.setattr(crosschecker, "MAX_CPU_SECONDS", 0.1)
    monkeypatch.setattr(crosschecker, "SHARE", 1.0)
    monkeypatch.setattr(crosschecker, "RANDOM_SHARE", 1e-9)
    monkeypatch.setattr(crosschecker, "Interpreter", Slow)
    checked = check(read_rulesheet(RULES))
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
        wait_until(lambda: checker._own_states == 2)
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
