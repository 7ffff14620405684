"""The page of a tournament while it runs, in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress

from agent.errors import InputError
from agent.lab.tournament.contenders import Contender
from agent.lab.tournament.results import MatchResult, Pairing, Settings
from agent.lab.tournament.series import SeriesWatcher
from agent.lab.tournament.showing import TournamentPage
from agent.sheet import Sheet
from agent.web.gallery import Gallery
from agent.web.hosting import serve_here
from agent.web.site import Site

log = logging.getLogger(__name__)

LEAVING_SECONDS = 3.0
"""Time after which a closed page is gone; until then it may only be reloading."""


class WatchedTournament(SeriesWatcher):
    """Keeps the page of a tournament up to date. Errors of the page do not end the tournament."""

    def __init__(self, contenders: Sequence[Contender], settings: Settings) -> None:
        self.gallery = Gallery()
        key = self.gallery.new_key("tournament")
        self.page = TournamentPage(key, "Tournament", contenders, [], {}, settings, running=True)
        self._other = SeriesWatcher()
        self._tell: Callable[[], None] = lambda: None

    def beside(self, other: SeriesWatcher) -> WatchedTournament:
        """Passes events on to another watcher as well; returns itself."""
        self._other = other
        return self

    def begins(self, sheets: Sequence[Sheet], matches: int, known: Collection[MatchResult]) -> None:
        self._other.begins(sheets, matches, known)
        page = self.page
        page.games = [sheet.name for sheet in sheets]
        page.sources = {sheet.name: sheet.source for sheet in sheets}
        page.planned, page.known, page.began = matches, len(known), time.monotonic()
        page.results += known
        self._tell()

    def started(self, pairing: Pairing, place: str) -> None:
        self._other.started(pairing, place)

    def ended(self, result: MatchResult, place: str) -> None:
        self._other.ended(result, place)
        self.page.results.append(result)
        self._tell()

    def lost(self, pairing: Pairing, reason: str) -> None:
        self._other.lost(pairing, reason)

    def tell(self, line: str) -> None:
        self._other.tell(line)

    def over(self) -> None:
        """Shows that no more matches will be played."""
        self.page.running = False
        self._tell()

    @contextmanager
    def served(self, port: int) -> Iterator[str]:
        """Serves the page on this machine while the context lasts (port 0: a free one); yields its address.

        Raises `InputError` where the port is taken.
        """
        started: Future[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

        async def serve() -> None:
            site = Site(self.gallery, title="ggp-agent tournament", tournaments=[self.page])
            stop = asyncio.Event()
            async with serve_here(site, port) as address:
                started.set_result((f"{address}/#/tournament/{self.page.key}", asyncio.get_running_loop(), stop))
                await stop.wait()

        def run() -> None:
            try:
                asyncio.run(serve())
            except Exception as error:
                if started.done():
                    log.exception("the tournament is not shown any more")
                else:
                    started.set_exception(error)

        thread = threading.Thread(target=run, name="page", daemon=True)
        thread.start()
        try:
            address, loop, stop = started.result()
        except OSError as error:
            raise InputError(f"the page cannot have port {port}: {error.strerror}") from None

        def call(function: Callable[[], object]) -> None:
            # The loop is closed if the page has failed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(function)

        self._tell = lambda: call(lambda: self.gallery.tell(self.page.key))
        try:
            yield address
        finally:
            call(stop.set)
            thread.join()

    def wait_until_left(self) -> None:
        """Waits until no page has been open for a moment."""
        left = time.monotonic()
        while time.monotonic() - left < LEAVING_SECONDS:
            time.sleep(LEAVING_SECONDS / 10)
            if self.gallery.watched:
                left = time.monotonic()
