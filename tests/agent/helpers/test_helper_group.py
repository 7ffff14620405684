"""The broker's helpers come and go, on a fake Ray."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent.helpers.messages import Content, Heard, HelperAnswer, HelperReady, Order, Place
from games.kernel_cache import sources_digest

pytest.importorskip("ray", reason="needs Ray")
from agent.helpers import helper_group as module

ORDER = Order(5, 1, 2, 4, b"state", working=True)


class Pending:
    """The future result of a call: `value`, once set; an exception is raised."""

    value: object = None


@dataclass
class Method:
    """A method that is called with `remote`."""

    remote: Callable[..., object]


@dataclass
class Object:
    """An object in the store."""

    data: bytes


class Actor:
    """A helper that notes its orders and their objects."""

    def __init__(self) -> None:
        self.ready, self.heard = Pending(), Pending()
        self.told: list[tuple[Order, Object, Object]] = []
        self.prepare = Method(lambda place: self.ready)
        self.listen = Method(lambda seconds, note: self.heard)
        self.tell = Method(lambda order, game, setting: self.told.append((order, game[0], setting[0])))

    def works(self) -> None:
        """Becomes ready."""
        self.ready.value = HelperReady("somewhere", sources_digest())


@dataclass
class MadeUpRay:
    """The used parts of Ray."""

    nodes_there: dict[str, int] = field(default_factory=dict)
    """Cores by node."""
    actors: list[Actor] = field(default_factory=list)
    killed: list[Actor] = field(default_factory=list)

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"NodeID": node, "Alive": True, "Resources": {"CPU": cores}} for node, cores in self.nodes_there.items()
        ]

    def put(self, data: bytes) -> Object:
        return Object(data)

    def get(self, pending: Pending) -> object:
        if isinstance(pending.value, Exception):
            raise pending.value
        return pending.value

    def wait(self, pending: Sequence[Pending], num_returns: int, timeout: float) -> tuple[list[Pending], list[Pending]]:
        return [one for one in pending if one.value is not None], [one for one in pending if one.value is None]

    def kill(self, actor: Actor) -> None:
        self.killed.append(actor)

    def remote(self, cls: type) -> MadeUpRay:
        return self

    def options(self, **options: object) -> Method:
        return Method(self._start)

    def _start(self, rank: int) -> Actor:
        self.actors.append(Actor())
        return self.actors[-1]


class Broker:
    """A group of helpers, and the answers it has passed on."""

    def __init__(self) -> None:
        self.answers: list[HelperAnswer] = []
        self.counts: list[int] = []
        self.group = module.HelperGroup(Place("m", frozenset()), 0, self.answers.append, self.counts.append)
        self.group.keep(Content(1, b"game"))
        self.group.keep(Content(2, b"setting"))
        self.group.tell(ORDER)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> MadeUpRay:
    ray = MadeUpRay()
    monkeypatch.setattr(module, "ray", ray)
    monkeypatch.setattr(module, "NodeAffinitySchedulingStrategy", lambda node, soft: node)
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.0)
    return ray


def test_helpers_share_contents_until_one_is_lost(made_up: MadeUpRay) -> None:
    """After the loss of a helper others get new objects, as Ray would look for lost copies for long."""
    broker = Broker()
    made_up.nodes_there = {"a": 1, "b": 1}
    broker.group.step(0.0)
    first, second = made_up.actors
    for actor in (first, second):
        actor.works()
    broker.group.step(0.0)
    assert broker.counts == [1, 2]
    ((order, game, setting),) = first.told
    assert (order, game.data, setting.data) == (ORDER, b"game", b"setting")
    ((_, same_game, same_setting),) = second.told
    assert same_game is game
    assert same_setting is setting

    first.heard.value = Heard(4, b"answer")
    second.heard.value = ConnectionError("its node is gone")
    del made_up.nodes_there["b"]
    broker.group.step(0.0)
    assert [answer.data for answer in broker.answers] == [b"answer"]
    assert broker.counts[-1] == 1
    assert made_up.killed == [second]

    made_up.nodes_there["b again"] = 1
    broker.group.step(0.0)
    third = made_up.actors[2]
    third.works()
    broker.group.step(0.0)
    ((order, other_game, other_setting),) = third.told
    assert (order, other_game.data, other_setting.data) == (ORDER, b"game", b"setting")
    assert other_game is not game
    assert other_setting is not setting


def test_a_node_is_left_alone_whose_helpers_fail(made_up: MadeUpRay) -> None:
    """A node whose helpers fail before they are ready gets no more."""
    broker = Broker()
    made_up.nodes_there = {"a": 1}
    for _ in range(module.MOST_FAILURES):
        broker.group.step(0.0)
        made_up.actors[-1].ready.value = ImportError("no agent")
        broker.group.step(0.0)
    broker.group.step(0.0)
    assert len(made_up.actors) == module.MOST_FAILURES
    assert broker.counts == []
