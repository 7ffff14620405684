"""A helper follows the newest order, keeps reusable contents, and survives failures."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from agent.helpers.helper import Helper
from agent.helpers.messages import Heard, Note, Order, Place, machine_name
from tests.agent.helpers.counting import Counting
from tests.processes import until

GAME, SETTING = pickle.dumps(("game", 1)), pickle.dumps(Counting(100))

ORDER = Order(1, 7, 8, 20, b"first", working=True)


class Listener:
    """A helper and its messages."""

    def __init__(self) -> None:
        self.helper = Helper(3)
        self.last: Any = None

    def hears(self, question: int) -> bool:
        """Whether an answer to a question arrives; it is then `last`."""
        heard = self.helper.listen(0.0)
        assert isinstance(heard, Heard)
        if heard.question != question or heard.data is None:
            return False
        self.last = pickle.loads(heard.data)
        return True


@pytest.fixture
def listener() -> Listener:
    return Listener()


def test_it_searches_what_it_is_told(listener: Listener) -> None:
    """A helper searches the given game with the given setting and number."""
    listener.helper.tell(ORDER, GAME, SETTING)
    until(lambda: listener.hears(20))
    assert listener.last[:4] == ("game", 1, 3, b"first")
    assert listener.last[-1] >= 100


def test_orders_that_were_overtaken_are_ignored(listener: Listener) -> None:
    """An order that arrives after a newer one is dropped."""
    listener.helper.tell(replace(ORDER, number=5, question=21, state=b"second"), GAME, SETTING)
    until(lambda: listener.hears(21))
    listener.helper.tell(ORDER, GAME, SETTING)
    before = listener.last[-1]
    until(lambda: listener.hears(21) and listener.last[-1] > before)
    assert listener.last[3] == b"second"


def test_it_rests_and_goes_on(listener: Listener) -> None:
    """A helper that goes on keeps its results, and reports none twice."""
    listener.helper.tell(ORDER, GAME, SETTING)
    until(lambda: listener.hears(20) and listener.last[-1] > 110)
    listener.helper.tell(replace(ORDER, number=2, working=False), GAME, SETTING)
    until(lambda: not listener.hears(20) and not listener.hears(20))
    count = listener.last[-1]
    listener.helper.tell(replace(ORDER, number=3), GAME, SETTING)
    until(lambda: listener.hears(20))
    assert listener.last[-1] >= count


def test_contents_are_fetched_once() -> None:
    """Large contents such as games are kept for later orders."""
    fetched: list[bytes] = []

    def fetch(content: bytes) -> bytes:
        fetched.append(content)
        return content

    listener = Listener()
    listener.helper = Helper(3, fetch)
    for number, state in enumerate((b"a", b"b", b"c"), 1):
        listener.helper.tell(replace(ORDER, number=number, question=number, state=state), GAME, SETTING)
        until(lambda number=number: listener.hears(number))  # type: ignore[misc]
    assert fetched == [GAME, SETTING]
    listener.helper.tell(replace(ORDER, number=9, setting=9, question=9), GAME, pickle.dumps(Counting(900)))
    until(lambda: listener.hears(9))
    assert len(fetched) == 3
    assert listener.last[-1] >= 900


def test_notes_are_for_one_question(listener: Listener) -> None:
    """A note that comes before its question waits for it; notes to other questions are dropped."""
    listener.helper.listen(0.0, Note(21, pickle.dumps("for the second")))
    listener.helper.tell(ORDER, GAME, SETTING)
    until(lambda: listener.hears(20))
    assert listener.last[-2] is None
    listener.helper.tell(replace(ORDER, number=2, question=21, state=b"second"), GAME, SETTING)
    until(lambda: listener.hears(21) and listener.last[-2] == "for the second")


def test_it_outlives_what_fails(listener: Listener) -> None:
    """After a failed search, or an unreadable setting, the next order is followed."""
    listener.helper.tell(replace(ORDER, state=b"broken"), GAME, SETTING)
    listener.helper.tell(replace(ORDER, number=2, setting=5, question=21), GAME, b"no setting")
    listener.helper.tell(replace(ORDER, number=3, question=22), GAME, SETTING)
    until(lambda: listener.hears(22))


def test_it_takes_no_core_of_the_worker() -> None:
    """The helper refuses where the worker uses all cores."""
    import os

    ready = Helper(0).prepare(Place(machine_name(), frozenset(os.sched_getaffinity(0))))
    assert "all cores" in ready.refusal
