"""The order in which long texts are read."""

from __future__ import annotations

import asyncio

import pytest

from protocol.fair_queue import FairQueue

JUNK, SHEET, LARGEST = 17_000, 54_000, 1 << 20
"""Lengths: of a text that is just too long to be read at once, of a usual rulesheet, of the longest text."""


class Readers:
    """Texts that are read one after the other."""

    def __init__(self) -> None:
        self.queue = FairQueue()
        self.order: list[tuple[str, int]] = []
        """Peers and lengths in the order in which they were read."""

    async def read(self, peer: str, length: int) -> None:
        """Reads a text."""
        async with self.queue.turn(peer, length):
            self.order.append((peer, length))
            await asyncio.sleep(0)

    async def flood(self, peer: str, length: int, connections: int = 12) -> None:
        """Sends texts without an end, some at a time."""

        async def connection() -> None:
            while True:
                await self.read(peer, length)

        await asyncio.gather(*(connection() for _ in range(connections)))

    async def passed_by(self, peer: str, length: int, *floods: tuple[str, int]) -> int:
        """Returns how many texts of endless floods are read before a text that comes later."""
        tasks = [asyncio.create_task(self.flood(*flood)) for flood in floods]
        while len(self.order) < 100:
            await asyncio.sleep(0)
        before = len(self.order)
        text = asyncio.create_task(self.read(peer, length))
        while not text.done() and len(self.order) < before + 1000:
            await asyncio.sleep(0)
        for task in (*tasks, text):
            task.cancel()
        return self.order.index((peer, length)) - before if (peer, length) in self.order else 1000


@pytest.mark.parametrize("junk", [JUNK, LARGEST])
async def test_flood_of_a_peer_passes_nobody_else(junk: int) -> None:
    """A rulesheet waits for the text that has the lock, and then for one of each other peer, short or long."""
    assert await Readers().passed_by("manager", SHEET, ("a", junk)) <= 1 + 1
    assert await Readers().passed_by("manager", SHEET, ("a", junk), ("b", junk), ("c", junk)) <= 1 + 3


@pytest.mark.parametrize(("junk", "most"), [(JUNK, 12 + 3), (LARGEST, 2)])
async def test_flood_from_the_same_address_ends(junk: int, most: int) -> None:
    """A rulesheet waits for the shorter texts that were there, and for a few that come later; not for longer ones."""
    assert await Readers().passed_by("manager", SHEET, ("manager", junk)) <= most


async def test_peers_have_it_in_turn() -> None:
    """Whoever has waited longest since the last text is next, however many texts others have."""
    readers = Readers()
    async with readers.queue.turn("first", 0):
        texts = (("a", 300), ("a", 100), ("a", 200), ("b", 900), ("c", 500), ("b", 800))
        tasks = [asyncio.create_task(readers.read(peer, length << 10)) for peer, length in texts]
        await asyncio.sleep(0)
    await asyncio.wait(tasks)
    order = [(peer, length >> 10) for peer, length in readers.order]
    assert order == [("a", 100), ("b", 800), ("c", 500), ("a", 200), ("b", 900), ("a", 300)]


async def test_text_that_is_given_up_passes_its_turn_on() -> None:
    """Before it gets the lock, or between that and its turn."""
    readers = Readers()
    async with readers.queue.turn("first", 0):
        tasks = {length: asyncio.create_task(readers.read("a", length)) for length in (1, 2, 3, 4, 5)}
        lonely = asyncio.create_task(readers.read("b", 6))
        await asyncio.sleep(0)
        tasks[4].cancel()
        lonely.cancel()
        await asyncio.sleep(0)
        tasks[1].cancel()
    # It has the lock, and is given up before it takes its turn.
    tasks[2].cancel()
    await asyncio.wait([*tasks.values(), lonely])
    assert readers.order == [("a", 3), ("a", 5)]
    await readers.read("a", 7)
    assert readers.queue._waiting == {}
