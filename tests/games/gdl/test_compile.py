"""Compilation in child processes succeeds, or ends within its limits with a reason, and leaves nothing behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from games import rulesheets
from games.child_process import ChildProcess
from games.gdl import compile as compiling
from games.gdl.compile import (
    Compilation,
    Limits,
    compile_rules,
    finished_compilation,
    start_compilation,
    warm_kernels,
)
from games.gdl.grounding.ground import VARIANTS
from games.machine import LimitError
from tests.matches import rules_of
from tests.processes import children_of, until

EXPLODING = (
    "(role a) (init s) (<= terminal (true never)) (<= (goal a 0) (true s))"
    + " ".join(f"(n {i})" for i in range(60))
    + """
(<= (legal a (pick ?a ?b ?c ?d ?e ?f)) (n ?a) (n ?b) (n ?c) (n ?d) (n ?e) (n ?f) (true s))
(<= (next (picked ?a ?b ?c ?d ?e ?f)) (does a (pick ?a ?b ?c ?d ?e ?f)))
(<= (next s) (true s))
"""
)
"""60^6 legal moves."""


others: set[int] = set()
"""Children of this process that earlier tests have left to it, such as a tracker of shared memory."""


def own_children() -> list[int]:
    """The children of this process."""
    return [child for child in children_of(os.getpid()) if child not in others]


@pytest.fixture(autouse=True)
def _no_children_left() -> Iterator[None]:
    """No process of a compilation is left after any test."""
    warm_kernels()
    others.update(own_children())
    yield
    assert not own_children()


def test_compiles_in_the_background() -> None:
    """The machine comes in time, with the name of the winning variant."""
    compilation = start_compilation(rules_of(rulesheets.text("connect_four")))
    machine = compilation.wait(240.0)
    assert machine is not None
    assert compilation.poll() is machine
    assert compilation.failed is None
    assert compilation.variant in VARIANTS
    assert len(machine.legal(machine.initial(), 0)) == 7


def test_waiting_ends_at_its_timeout() -> None:
    """Polling does not block, `wait` returns empty-handed in time, and the compilation goes on."""
    compilation = start_compilation(rules_of(EXPLODING))
    assert compilation.poll() is None
    begin = time.monotonic()
    assert compilation.wait(0.2) is None
    assert time.monotonic() - begin > 0.19
    assert compilation.failed is None
    assert own_children()
    compilation.cancel()


def test_cancelling_kills_the_children() -> None:
    """Cancelling works at once, even in the middle of grounding; the reason is kept."""
    compilation = start_compilation(rules_of(EXPLODING), Limits(patience_seconds=0.0, variants=("plain", "split")))
    compilation.wait(0.3)
    assert len(own_children()) >= 2
    compilation.cancel("not wanted")
    assert not own_children()
    assert compilation.failed == "not wanted"
    assert compilation.wait(1.0) is None


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(cpu_seconds=1.0, patience_seconds=30.0, variants=("plain",)), "plain: more than 1 s of CPU time"),
        (Limits(wall_seconds=0.5), "no circuit within 0.5 s"),
    ],
)
def test_time_is_bounded(limits: Limits, reason: str) -> None:
    """A grounding that explodes ends at the limit on CPU or wall-clock time, and the reason says so."""
    with pytest.raises(LimitError, match=reason):
        compile_rules(rules_of(EXPLODING), limits)


def test_gives_up_early_what_does_not_get_grounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU time of all children counts, including those that have ended."""
    monkeypatch.setattr(ChildProcess, "cpu_seconds", lambda child: 1.5)
    compilation = start_compilation(rules_of(EXPLODING), Limits(grounding_cpu_seconds=2.0, first_look_seconds=0.2))
    assert compilation.wait(0.0) is None
    assert compilation.failed == "not grounded within 2 s of CPU time"
    assert compilation._ended_cpu_seconds == 3.0
    assert not own_children()


def test_memory_is_bounded() -> None:
    """A child that needs more address space than its limit fails for that reason."""
    # However slow the machine is, memory is used up first.
    limits = Limits(memory_bytes=200 << 20, variants=("plain", "split"), grounding_cpu_seconds=1000.0)
    with pytest.raises(LimitError, match=r"plain: more than \d+ MiB of memory; split: more than \d+ MiB of memory"):
        compile_rules(rules_of(EXPLODING), limits)


def test_rules_that_look_huge_get_a_short_look_and_then_demand_alone() -> None:
    """If only the estimate of rules about moves is huge, the first attempt soon gives way to demand, and that to it."""
    text = EXPLODING.replace("(pick ?a ?b ?c ?d ?e ?f)", "(pick ?a ?b)").replace(
        "(does a (pick ?a ?b))", "(does a (pick ?a ?b)) (n ?c) (n ?d) (n ?e) (n ?f)"
    )
    compilation = start_compilation(rules_of(text), Limits(first_look_seconds=0.1, grounding_cpu_seconds=0.6))
    seen = [compilation._children[0].variant]
    while compilation.wait(0.02) is None and compilation.failed is None:
        assert len(compilation._children) <= 1
        seen += [child.variant for child in compilation._children if child.variant != seen[-1]]
    assert seen == ["split", "demand+split", "split"]
    assert compilation.failed == "not grounded within 0.6 s of CPU time"


def test_a_way_that_fails_does_not_spoil_the_next() -> None:
    """When the first child is killed, the second variant starts at once and delivers the machine."""
    compilation = start_compilation(
        rules_of(rulesheets.text("tic_tac_toe")), Limits(variants=("plain", "split"), patience_seconds=300.0)
    )
    os.kill(own_children()[0], signal.SIGKILL)
    assert compilation.wait(240.0) is not None
    assert compilation.failed is None


@pytest.fixture
def crashing(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """Makes a stage crash the first times that it is called, in whichever process."""

    def crash(stage: str, times: int) -> None:
        left, right = multiprocessing.Value("i", times), getattr(compiling, stage)

        def run(*arguments: object, **options: object) -> object:
            with left:
                left.value -= 1
                if left.value >= 0:
                    raise KeyError("no such thing")
            return right(*arguments, **options)

        monkeypatch.setattr(compiling, stage, run)

    return crash


@pytest.mark.parametrize("stage", ["rewrite", "ground", "build_circuit"])
def test_a_crash_of_one_way_leaves_the_circuit_to_another(
    crashing: Callable[[str, int], None], caplog: pytest.LogCaptureFixture, stage: str
) -> None:
    """Also one after the grounding, at which the other ways were given up; it is an error in the log."""
    crashing(stage, 1)
    limits = Limits(variants=("plain", "split"), patience_seconds=300.0)
    compilation = finished_compilation(rules_of(rulesheets.text("tic_tac_toe")), limits)
    assert compilation.machine is not None
    assert compilation.variant == "split"
    assert compilation.faults == ["plain: an error of this program: KeyError: 'no such thing'"]
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert compilation.faults[0] in caplog.text
    assert "in a child process" in caplog.text.lower()


def test_estimates_that_crash_leave_the_circuit_to_all_ways(
    crashing: Callable[[str, int], None], caplog: pytest.LogCaptureFixture
) -> None:
    """They only say in which order ways are tried."""
    crashing("Rewriter", 1)
    compilation = finished_compilation(rules_of(rulesheets.text("tic_tac_toe")))
    assert compilation.variant == VARIANTS[0]
    assert compilation.faults == ["estimates: an error of this program: KeyError: 'no such thing'"]
    assert compilation.faults[0] in caplog.text


@pytest.mark.parametrize("stage", ["lean_game", "freed"])
def test_a_crash_beside_the_game_costs_only_that_part(
    crashing: Callable[[str, int], None], caplog: pytest.LogCaptureFixture, stage: str
) -> None:
    """The lean game, and the one freed of its first position; it is an error in the log."""
    crashing(stage, 1)
    compilation = finished_compilation(rules_of(rulesheets.text("tic_tac_toe")), freeing=lambda machine: True)
    assert compilation.machine is not None
    assert (compilation.machine.freed is None) == (stage == "freed")
    (fault,) = compilation.faults
    assert "without" in fault
    assert fault.endswith("an error of this program: KeyError: 'no such thing'")
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_what_crashes_every_way_is_said_to_be_no_limit(crashing: Callable[[str, int], None]) -> None:
    """Each way is tried once, and the reason names the error."""
    crashing("build_circuit", 9)
    compilation = finished_compilation(rules_of(rulesheets.text("tic_tac_toe")))
    assert compilation.machine is None
    fault = "an error of this program: KeyError: 'no such thing'"
    assert sorted(compilation.faults) == sorted(f"{variant}: {fault}" for variant in VARIANTS)
    assert compilation.failed == "; ".join(compilation.faults)


def test_answers_that_come_at_the_same_moment_are_all_right() -> None:
    """One child's answer ends the other, which has answered as well: there is a machine, and no child is left."""
    sheet = rules_of(rulesheets.text("tic_tac_toe"))
    compilation = start_compilation(sheet, Limits(variants=("plain", "split"), patience_seconds=0.0))
    compilation._start_next()
    # Each sends two messages, which fit into the pipe, and ends.
    for child in compilation._children:
        until(lambda child=child: child.process.status is not None)  # type: ignore[misc]
        assert child.process.status == 0
    assert compilation.wait(240.0) is not None


def test_a_dead_child_is_reported() -> None:
    """A child that is killed from outside counts as failed, with the signal named."""
    compilation: Compilation = start_compilation(rules_of(EXPLODING), Limits(variants=("plain",)))
    os.kill(own_children()[0], signal.SIGKILL)
    assert compilation.wait(60.0) is None
    assert compilation.failed == "plain: ended by signal 9"


@pytest.mark.parametrize(("memory", "together"), [(8 << 30, 2), (1 << 30, 1)])
def test_children_share_the_memory(memory: int, together: int) -> None:
    """With too little for several, one way is given up for the next, and each child has all of it."""
    limits = Limits(memory_bytes=memory, patience_seconds=0.1, grounding_cpu_seconds=1.0, variants=VARIANTS[:2])
    compilation = start_compilation(rules_of(EXPLODING), limits)
    most = 0
    while compilation.failed is None:
        compilation.wait(0.02)
        children = compilation._children
        most = max(most, len(children))
        shares = {child.process._bounds.memory_bytes for child in children}
        assert shares <= {memory // together}
    assert most == together
