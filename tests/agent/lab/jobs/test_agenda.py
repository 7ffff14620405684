"""The tasks of a run: order, exclusion, second attempts."""

from __future__ import annotations

from agent.lab.jobs.agenda import Agenda
from agent.lab.jobs.calibration import warning
from agent.lab.jobs.executor import Task


def test_tasks_begin_in_order_as_far_as_they_may() -> None:
    """A task waits while another one uses a resource that it needs; later tasks do not."""
    alone = frozenset({"player"})
    agenda = Agenda([Task("a", alone), Task("b", alone), Task("c")])
    assert [agenda.take(), agenda.take(), agenda.take()] == [0, 2, None]
    agenda.end(0)
    assert agenda.take() == 1
    agenda.end(2)
    assert not agenda.finished
    agenda.end(1)
    assert agenda.finished


def test_lost_task_is_run_again_once_and_makes_nothing_twice() -> None:
    """A lost task is the next to begin, and its earlier results are not new."""
    agenda = Agenda([Task("a"), Task("b")])
    assert agenda.take() == 0
    assert agenda.is_new(0)
    assert agenda.lose(0)
    assert agenda.waiting == 2
    assert agenda.take() == 0
    assert [agenda.is_new(0) for _ in range(3)] == [False, True, True]
    assert not agenda.lose(0)
    assert agenda.take() == 1
    agenda.end(1)
    assert agenda.finished


def test_machines_of_different_speed_are_told_of() -> None:
    """A difference of a tenth is reported, with the slowest and the fastest machine."""
    assert warning([]) is None
    assert warning([("a", 100.0), ("b", 91.0)]) is None
    text = warning([("a", 100.0), ("b", 85.0), ("c", 98.0)])
    assert text is not None
    assert "b does 85 % of what a does" in text
