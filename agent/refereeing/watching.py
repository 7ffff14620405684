"""The page of a refereed match, where persons play too."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.refereeing.local_player import LocalPlayer
from agent.refereeing.record import MatchRecord
from agent.refereeing.referee import MatchWatcher
from agent.web.access import Access
from agent.web.feed import Feed
from agent.web.gallery import Gallery
from agent.web.hosting import serve_here
from agent.web.seat import Seat
from agent.web.site import Site
from agent.web.thinking import Spelling
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
    """Token that actions need."""


class WatchedMatch(MatchWatcher):
    """Shows a match on a page, and passes the events on to another watcher.

    An error of the page is logged, and the match goes on without it.
    """

    def __init__(
        self,
        record: MatchRecord,
        other: MatchWatcher,
        rules: Sequence[Term],
        possible: Collection[Term],
        door: Door | None = None,
    ) -> None:
        """`rules`, and `possible` (all facts of possible states), are for drawing. `door` is where another process
        shows the page."""
        self.gallery = Gallery()
        self.transcript = Transcript(
            self.gallery.new_key(record.match_id) if door is None else door.key,
            record.game,
            record.roles,
            record.players,
            start_clock=record.start_clock,
            play_clock=record.play_clock,
            rules=rules,
            possible=possible,
            match_id=record.match_id,
        )
        self.transcript.again = door is not None
        self.gallery.add(self.transcript)
        self._other = other
        self._failed = False
        self._feeds: list[Feed] = []

    @contextlib.asynccontextmanager
    async def served(self, place: int | Door, seat: Seat | None) -> AsyncIterator[str]:
        """Serves the page on this machine (port 0: a free one) while the context lasts; yields its address.

        Raises `OSError` where the port is taken.
        """
        access, where = (Access(token=place.token), place.socket) if isinstance(place, Door) else (None, place)
        site = Site(self.gallery, title="ggp-agent match", seat=seat, access=access)
        async with serve_here(site, where) as address:
            yield f"{address}/#/match/{self.transcript.key}"

    @contextlib.asynccontextmanager
    async def fed(self, url: str, role: int, spelling: Spelling) -> AsyncIterator[None]:
        """Shows the thoughts of the agent at an address, while the context lasts."""
        feed = Feed(url, role, self.transcript, self.gallery, spelling)
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

    def thoughts(self) -> list[dict[str, Any]]:
        """Returns the thoughts about each position by role, as JSON data for the record."""
        return [
            {str(role): thought for role, one in position.thinking.items() if (thought := one.as_json()) is not None}
            for position in self.transcript.positions
        ]

    async def wait_until_left(self) -> None:
        """Waits until no page has been open for a while."""
        left = time.monotonic()
        while time.monotonic() - left < LEAVING_SECONDS:
            await asyncio.sleep(LEAVING_SECONDS / 10)
            if self.gallery.watched:
                left = time.monotonic()

    # --- the course of the match

    def begin(self, record: MatchRecord, match_id: str, facts: frozenset[Term]) -> None:
        """Begins the match `match_id`, as players know it, after the record's moves, in the position of these facts."""
        begun = max(0, len(record.states) - 1)
        for feed in self._feeds:
            feed.follow(match_id, begun)

        def show() -> None:
            if begun or len(self.transcript.positions) > 1:
                self.transcript.take_back(begun)
            # Show the first position while the start clock runs.
            self.transcript.reach(facts)
            self.transcript.say("the players get ready: the start clock runs")
            self.transcript.run_clock(time.monotonic() + record.getting_ready, record.getting_ready)

        self._show(show)

    def started(self, record: MatchRecord) -> None:
        self._other.started(record)
        self._show(lambda: self._reach(record))

    def asked(self, record: MatchRecord, legal: Sequence[Sequence[Term]]) -> None:
        self._other.asked(record, legal)

        def show() -> None:
            self._reach(record)
            for role, moves in enumerate(legal):
                self.transcript.allow(role, tuple(moves))
            self.transcript.say("the players are asked")
            self.transcript.run_clock(time.monotonic() + record.play_clock, record.play_clock)

        self._show(show)

    def stepped(self, record: MatchRecord) -> None:
        self._other.stepped(record)

        def show() -> None:
            self.transcript.move(record.moves[-1], [seconds[-1] for seconds in record.seconds])
            self._reach(record)

        self._show(show)

    def ended(self, record: MatchRecord) -> None:
        self._other.ended(record)
        self._show(lambda: self.finish(record))

    def finish(self, record: MatchRecord) -> None:
        """Shows the end of the match."""
        self._tell_errors(record)
        self.transcript.resigned = record.resigned
        self.transcript.end(record.outcome, record.goals)

    def _reach(self, record: MatchRecord) -> None:
        self._tell_errors(record)
        self.transcript.reach(record.states[-1])

    def _tell_errors(self, record: MatchRecord) -> None:
        if len(record.errors) != len(self.transcript.errors):
            self.transcript.errors = [error.as_json() for error in record.errors]
            self.transcript.touch()

    def _show(self, show: Callable[[], None]) -> None:
        if self._failed:
            return
        try:
            show()
        except Exception:
            self._failed = True
            log.exception("the match is not shown any more")


class PersonAtPage(LocalPlayer):
    """A person who plays a role at the page."""

    timed = False

    def __init__(
        self, role: int, seat: Seat, seconds: float | None, hint: Callable[[int, State], Awaitable[Term]] | None = None
    ) -> None:
        """`seconds` is the person's clock; None: no clock. `hint(role, state)` finds a good move."""
        self._role = role
        self._seat = seat
        self._seconds = seconds
        self._hint = hint

    async def choose(self, legal: Sequence[Term], state: State) -> Term:
        """See `LocalPlayer.choose`. Raises `TimeoutError` when the person's clock is over."""
        if len(legal) == 1:
            return legal[0]
        hint = self._hint
        return await self._seat.choose(
            self._role, legal, self._seconds, None if hint is None else lambda: hint(self._role, state)
        )
