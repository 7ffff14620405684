"""The page of a refereed match, where persons play too."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.record.thinking import Spelling, Thinking
from agent.refereeing.agent_process import AgentProcess
from agent.refereeing.local_player import LocalPlayer
from agent.web.access import Access, link, new_token
from agent.web.feed import Feed
from agent.web.gallery import Gallery
from agent.web.hosting import serve_here
from agent.web.seat import Seat
from agent.web.site import Site
from agent.web.transcript import Transcript
from games.machine import State, Term

log = logging.getLogger(__name__)

LEAVING_SECONDS = 3.0
"""Seconds after which a closed page counts as left; a reload is faster."""


@dataclass(frozen=True)
class Door:
    """A private entrance to the page of a match, for another process that passes requests on."""

    socket: Path
    """Unix socket to serve at, which only that process can reach."""
    key: str
    """Key of the match."""
    token: str
    """Token that requests need."""


class WatchedMatch:
    """The page of a match."""

    def __init__(self, transcript: Transcript) -> None:
        """`transcript` is the match's record."""
        self.gallery = Gallery()
        self.transcript = transcript
        self.gallery.add(transcript)
        self._feeds: list[Feed] = []

    @contextlib.asynccontextmanager
    async def served(self, place: int | Door, seat: Seat | None) -> AsyncIterator[str]:
        """Serves the page on this machine (port 0: a free one) while the context lasts; yields its address.

        Raises `OSError` where the port is taken.
        """
        token, where = (place.token, place.socket) if isinstance(place, Door) else (new_token(), place)
        site = Site(self.gallery, title="ggp-agent match", seat=seat, access=Access(token=token))
        async with serve_here(site, where) as address:
            yield f"{link(address, token)}#/match/{self.transcript.key}"

    @contextlib.asynccontextmanager
    async def fed(self, agent: AgentProcess, role: int, spelling: Spelling) -> AsyncIterator[None]:
        """Shows the thoughts of an agent, while the context lasts."""
        feed = Feed(agent.url, agent.token, role, self.transcript, self.gallery, spelling)
        self._feeds.append(feed)
        following = asyncio.create_task(feed.run())
        try:
            yield
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def take_thoughts(self) -> None:
        """Fetches all thoughts from the agents, watched or not."""
        await asyncio.gather(*(feed.take_all() for feed in self._feeds))

    async def wait_until_left(self) -> None:
        """Waits until no page has been open for a while."""
        left = time.monotonic()
        while time.monotonic() - left < LEAVING_SECONDS:
            await asyncio.sleep(LEAVING_SECONDS / 10)
            if self.gallery.watched:
                left = time.monotonic()

    def follow(self, match_id: str) -> None:
        """Takes thoughts from now on about the match that players know by this name, and that begins here."""
        for feed in self._feeds:
            feed.follow(match_id, self.transcript.plies)


class PersonAtPage(LocalPlayer):
    """A person who plays a role at the page."""

    timed = False
    person = True

    def __init__(
        self, role: int, seat: Seat, seconds: float | None, hint: Callable[[State], Awaitable[Thinking]] | None = None
    ) -> None:
        """`seconds` is the person's clock; None: no clock. `hint(state)` finds a good move."""
        self._role = role
        self._seat = seat
        self._seconds = seconds
        self._hint = hint

    async def choose(self, legal: Sequence[Term], state: State) -> Term:
        """See `LocalPlayer.choose`. Raises `TimeoutError` when the person's clock is over."""
        if len(legal) == 1:
            return legal[0]
        hint = self._hint
        return await self._seat.choose(self._role, legal, self._seconds, None if hint is None else lambda: hint(state))
