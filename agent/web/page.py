"""The server's page, loaded at the first request for it."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from agent.web.gallery import Figures, Gallery
from agent.web.transcript import Transcript

if TYPE_CHECKING:
    from agent.web.site import Site

log = logging.getLogger(__name__)


SAVING_SECONDS = 2.0
"""Seconds that the end of the server waits for records being written."""


class Page:
    """Passes requests on to a site, which the first of them creates."""

    def __init__(
        self,
        gallery: Gallery,
        *,
        everyone_allowed: bool,
        records: Path | None,
        here: bool = True,
        token: str | None = None,
        figures: Figures | None = None,
    ) -> None:
        """`everyone_allowed` says whether all who may ask at all were allowed by name; `here` whether this machine's
        own addresses may, too; `token` is one that they need.

        `records` is a folder of further matches to show; this server's matches are added to it when they are over.
        `figures` are those of the server.
        """
        self._gallery = gallery
        self._everyone_allowed = everyone_allowed
        self._here = here
        self._token = token
        self._figures = figures
        self._records = records
        self._site: Site | None = None
        self._saving: set[asyncio.Task[None]] = set()
        if records is not None:
            gallery.ended = self._save
        self._loading = asyncio.Lock()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answers a browser's request."""
        async with self._loading:
            if self._site is None:
                self._site = await asyncio.to_thread(self._load)
        return await self._site.handle(request)

    def _load(self) -> Site:
        from agent.web.access import Access
        from agent.web.records import MOST_BYTES_BESIDE_MATCHES, Records
        from agent.web.site import Site

        records = None if self._records is None else Records([self._records], MOST_BYTES_BESIDE_MATCHES)
        access = Access(everyone_allowed=self._everyone_allowed, here=self._here, token=self._token)
        return Site(self._gallery, title="ggp-agent serve", access=access, records=records, figures=self._figures)

    def _save(self, transcript: Transcript) -> None:
        task = asyncio.create_task(self._save_record(transcript))
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)

    async def _save_record(self, transcript: Transcript) -> None:
        assert self._records is not None
        from agent.web.records import record_key, save_record

        try:
            path = await asyncio.to_thread(save_record, self._records, transcript)
        except Exception as error:
            log.error("%s: no record can be written: %s", transcript.game, error)
            return
        transcript.record_key = record_key(path, transcript.match_id)

    async def close(self, _: web.Application) -> None:
        """Ends open responses, which would hold up the end of the server."""
        if self._site is not None:
            await self._site.close()
        if self._saving:
            await asyncio.wait(self._saving, timeout=SAVING_SECONDS)
