"""Times of garbage collections, in virtual time."""

from __future__ import annotations

import asyncio
import gc

import pytest

from agent.serving.clock import now
from agent.serving.collection import OLD, GarbageCollection
from agent.serving.statistics import Histogram
from tests.agent.serving.virtual import run


@pytest.fixture
def full_collections(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Times of full collections."""
    made: list[float] = []
    monkeypatch.setattr(gc, "collect", lambda: made.append(now()))
    return made


def collect(monkeypatch: pytest.MonkeyPatch, seconds: float, due: list[float]) -> None:
    """Runs garbage collection for some time, while replies are due at the instants given."""

    async def course() -> None:
        begun = now()

        def next_due() -> float | None:
            return min((begun + at for at in due if begun + at >= now()), default=None)

        running = asyncio.create_task(GarbageCollection(Histogram((1.0,)), next_due).run())
        await asyncio.sleep(seconds)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run(monkeypatch, course())


def test_garbage_is_collected_while_nothing_is_due(
    monkeypatch: pytest.MonkeyPatch, full_collections: list[float]
) -> None:
    """Full collections come at the beginning and then every five seconds."""
    collect(monkeypatch, 12.0, [])
    first, *later = full_collections
    assert [at - first for at in later] == pytest.approx([5.0, 10.0])


def test_collection_waits_until_a_reply_has_left(
    monkeypatch: pytest.MonkeyPatch, full_collections: list[float]
) -> None:
    """No full collection begins within a quarter of a second before a reply is due."""
    collect(monkeypatch, 8.0, [5.24])
    first, second = full_collections
    assert 5.24 < second - first < 5.34


def test_collection_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch, full_collections: list[float]) -> None:
    """With many matches, a reply is always about to leave; a collection is made all the same after a minute."""
    collect(monkeypatch, 66.0, [0.2 * step for step in range(350)])
    first, second = full_collections
    assert second - first == pytest.approx(65.0, abs=0.1)


async def test_python_leaves_old_objects_alone_meanwhile() -> None:
    """Collections are measured; afterwards Python's settings are restored."""
    before = gc.get_threshold()
    pauses = Histogram((1.0,))
    running = asyncio.create_task(GarbageCollection(pauses, lambda: None).run())
    await asyncio.sleep(0)
    assert gc.get_threshold()[2] == OLD
    assert gc.get_freeze_count() > 0
    gc.collect(0)
    assert pauses.count >= 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
    count = pauses.count
    gc.collect(0)
    assert pauses.count == count
