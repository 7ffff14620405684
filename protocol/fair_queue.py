"""A queue in which nobody can keep others waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

AGEING = 1 << 14
"""Bytes by which a text ranks behind one of its length that came just before it: a usual rulesheet is passed by two or
three shorter texts that come later, the longest message by sixty."""


class FairQueue:
    """A lock for reading texts. Peers that wait for it get it in turn.

    Of one peer's texts the shortest goes first, as rulesheets in use are short; but a text that waits gains on those
    that come later.
    """

    def __init__(self) -> None:
        self._held = False
        self._came = 0
        """Number of texts that had to wait."""
        self._waiting: dict[str, dict[asyncio.Future[None], int]] = {}
        """Ranks of the texts of each peer that waits; the peer whose last turn was longest ago comes first."""

    @asynccontextmanager
    async def turn(self, peer: str, length: int) -> AsyncIterator[None]:
        """Holds the lock for a text of some length; waits for it first."""
        if self._held:
            await self._wait(peer, length)
        self._held = True
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, peer: str, length: int) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._came += 1
        self._waiting.setdefault(peer, {})[ready] = length + AGEING * self._came
        try:
            await ready
        except asyncio.CancelledError:
            if not ready.cancelled():
                # It was given the lock in vain.
                self._pass_on()
            elif ready in (texts := self._waiting.get(peer, {})):
                self._take(peer, texts, ready)
            raise

    def _take(self, peer: str, texts: dict[asyncio.Future[None], int], ready: asyncio.Future[None]) -> None:
        del texts[ready]
        if not texts:
            del self._waiting[peer]

    def _pass_on(self) -> None:
        """Gives the lock to the next text, or frees it."""
        self._held = False
        while self._waiting and not self._held:
            peer, texts = next(iter(self._waiting.items()))
            # All others come before this peer's next text.
            self._waiting[peer] = self._waiting.pop(peer)
            ready = min(texts, key=texts.__getitem__)
            self._take(peer, texts, ready)
            if not ready.cancelled():
                ready.set_result(None)
                self._held = True
