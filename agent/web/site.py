"""The HTTP side of the page: its files, data of matches, and events while they are played.

Everything is read-only except a person's actions (`agent.web.seat`). The page's policy forbids other hosts.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.resources
import json
import logging
import mimetypes
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from aiohttp import web
from aiohttp_sse import EventSourceResponse, sse_response

from agent import bounded_json
from agent.boards.style import PIECE_COLOURS, STYLE
from agent.web.access import Access
from agent.web.gallery import Gallery
from agent.web.pictures import Pictures
from agent.web.records import Records, as_record
from agent.web.seat import Seat, SeatError
from agent.web.tournaments import ShownTournament
from agent.web.transcript import Transcript
from protocol.server import peer_of

log = logging.getLogger(__name__)

SECURITY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}

MATCH_SECONDS = 0.2
OVERVIEW_SECONDS = 1.0
"""Seconds between two events about one match, and between two about all."""

LOOK_SECONDS = 1.0
"""Seconds after which a closed page is noticed."""

PING_SECONDS = 5
"""Seconds between two pings, by which a page that vanished is noticed."""

MOST_STREAMS, MOST_STREAMS_OF_PEER = 64, 16
"""Most pages kept up to date at the same time, and those of one address. A further one takes the oldest one's place."""

LONG_MATCH = 50
"""Number of positions beyond which a match is formatted in a thread."""

MOST_BODY = 1 << 14
"""Most bytes of a page's request."""

BODY_SECONDS = 10.0
"""Seconds for a request's body to arrive."""

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

Look: TypeAlias = Callable[[int], Awaitable[dict[str, Any]]]
"""Returns the data of an event, with what has changed since a version, if it has versions."""

Before: TypeAlias = Callable[[EventSourceResponse], Awaitable[None]]


class Site:
    """Answers requests for `/` and everything below `/page/`."""

    def __init__(
        self,
        gallery: Gallery,
        *,
        title: str,
        access: Access | None = None,
        records: Records | None = None,
        seat: Seat | None = None,
        tournaments: Sequence[ShownTournament] = (),
    ) -> None:
        """`access` is to this machine alone by default. `records` are finished matches in files; `seat` is for a person
        who plays on this machine. Changes of the `tournaments` are notified by the gallery, under their keys."""
        self._gallery = gallery
        self._title = title
        self._access = access or Access()
        self._records = records
        self._seat = seat
        self._tournaments = {tournament.key: tournament for tournament in tournaments}
        self._pictures = Pictures()
        self._closed = False
        self._streams: dict[asyncio.Task[Any], str] = {}
        """Address of each page that is kept up to date, the oldest first."""
        self._files = {
            file.name: file.read_bytes()
            for file in importlib.resources.files("agent.web").joinpath("static").iterdir()
            if file.is_file()
        }
        # The policy forbids the inline style of pictures.
        self._files["board.css"] = (PIECE_COLOURS + STYLE).encode()

    async def close(self) -> None:
        """Ends all streams. Requests that are still answered get status 503 where that ends what they need."""
        self._closed = True
        for stream in self._streams:
            stream.cancel()
        self._pictures.close()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answers one request."""
        try:
            if request.method == "POST":
                self._access.check_action(request)
                return await self._act(request)
            self._access.check(request)
            if request.method not in ("GET", "HEAD"):
                raise web.HTTPMethodNotAllowed(request.method, ("GET", "POST"))
            return await self._show(request)
        except web.HTTPException as error:
            error.headers.update(SECURITY)
            raise

    async def _show(self, request: web.Request) -> web.StreamResponse:
        match request.path.strip("/").split("/"):
            case [""]:
                return self._file("index.html")
            case ["page", "events"]:
                return await self._events(request)
            case ["page", "matches"]:
                return as_json(await self._overview())
            case ["page", "matches", key]:
                return as_json(await self._view(await self._transcript(key), 0))
            case ["page", "matches", key, "positions", ply] if ply.isascii() and ply.isdigit() and len(ply) < 8:
                return await self._position(key, int(ply))
            case ["page", "matches", key, "record"]:
                return await self._record(key)
            case ["page", "tournaments", key]:
                return as_json(await asyncio.to_thread(self._tournament(key).view))
            case ["page", "tournaments", key, "matches"]:
                game, player = request.query.get("game"), request.query.get("player")
                return as_json(await asyncio.to_thread(self._tournament(key).matches, game, player))
            case ["page", name] if name in self._files:
                return self._file(name)
        raise web.HTTPNotFound(text="There is no such page.\n")

    def _file(self, name: str) -> web.Response:
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        if name.endswith(".js"):
            kind = "text/javascript"
        charset = "utf-8" if kind.startswith("text/") else None
        return web.Response(body=self._files[name], content_type=kind, charset=charset, headers=SECURITY)

    # --- matches

    async def _overview(self) -> dict[str, Any]:
        transcripts = self._gallery.transcripts
        matches = [transcript.summary() for transcript in transcripts]
        shown = {transcript.record_key for transcript in transcripts}
        if self._records is not None:
            found = await asyncio.to_thread(self._records.summaries)
            matches += [match for match in found if match["key"] not in shown]
        tournaments = [await asyncio.to_thread(tournament.summary) for tournament in list(self._tournaments.values())]
        return {"title": self._title, "matches": matches, "tournaments": tournaments}

    def _tournament(self, key: str) -> ShownTournament:
        found = self._tournaments.get(key)
        if found is None:
            raise web.HTTPNotFound(text="There is no such tournament.\n")
        return found

    async def _transcript(self, key: str) -> Transcript:
        found = self._gallery.find(key)
        if found is None and self._records is not None:
            found = await asyncio.to_thread(self._records.find, key)
        for tournament in self._tournaments.values():
            if found is None:
                found = await asyncio.to_thread(tournament.find, key)
        if found is None:
            raise web.HTTPNotFound(text="There is no such match (any more).\n")
        return found

    async def _view(self, transcript: Transcript, since: int) -> dict[str, Any]:
        if not since and len(transcript.positions) > LONG_MATCH:
            view = await asyncio.to_thread(transcript.view)
        else:
            view = transcript.view(since)
        if self._seat is not None and view["seat"] is not None:
            view["token"] = self._access.token
        return view

    async def _position(self, key: str, ply: int) -> web.Response:
        transcript = await self._transcript(key)
        try:
            return as_json(await self._pictures.draw(transcript, ply))
        except RuntimeError:
            # The thread of pictures takes nothing any more.
            if not self._closed:
                raise
            raise web.HTTPServiceUnavailable(text="This page ends.\n") from None

    async def _record(self, key: str) -> web.Response:
        """Answers with the record of a match, so far, as a file."""
        path = None if self._records is None else await asyncio.to_thread(self._records.file, key)
        if path is not None:
            body = await asyncio.to_thread(path.read_bytes)
        else:
            record = await asyncio.to_thread(as_record, await self._transcript(key))
            if record is None:
                raise web.HTTPConflict(text="Not all positions of this match are known.\n")
            body = json.dumps(record).encode()
        headers = {**SECURITY, "Content-Disposition": f'attachment; filename="{key}.json"'}
        return web.Response(body=body, content_type="application/json", headers=headers)

    # --- events

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Sends the overview, or the match or tournament of the query, at once and whenever it changes."""
        key, tournament_key = request.query.get("match"), request.query.get("tournament")
        if tournament_key is not None:
            tournament = self._tournament(tournament_key)
            return await self.stream(
                request, tournament_key, "tournament", lambda _: asyncio.to_thread(tournament.view), OVERVIEW_SECONDS
            )
        if key is not None:
            transcript = await self._transcript(key)
            return await self.stream(request, key, "match", partial(self._view, transcript), MATCH_SECONDS)
        return await self.stream(request, None, "overview", lambda _: self._overview(), OVERVIEW_SECONDS)

    async def stream(
        self, request: web.Request, key: str | None, event: str, look: Look, pause: float, before: Before | None = None
    ) -> web.StreamResponse:
        """Sends an event at once and whenever the gallery tells of the key, with `pause` seconds between two.

        `before` sends what comes before these events.
        """
        task = asyncio.current_task()
        assert task is not None
        self._make_room(peer_of(request))
        self._streams[task] = peer_of(request)
        try:
            async with sse_response(request, headers=SECURITY, ping_interval=PING_SECONDS) as stream:
                # Such errors mean that the page was closed.
                closed = contextlib.suppress(ConnectionResetError, TimeoutError)
                with self._gallery.watching(key) as changed, closed:
                    if before is not None:
                        await before(stream)
                    await self._send_events(request, stream, changed, event, look, pause)
        finally:
            self._streams.pop(task, None)
        return stream

    def _make_room(self, peer: str) -> None:
        """Ends the oldest stream where there are too many; its page asks for another one."""
        # Behind a Unix socket there are many, all without an address.
        same = [stream for stream, other in self._streams.items() if other == peer != ""]
        surplus = same if len(same) >= MOST_STREAMS_OF_PEER else list(self._streams)
        if surplus is same or len(surplus) >= MOST_STREAMS:
            del self._streams[surplus[0]]
            surplus[0].cancel()

    async def _send_events(
        self,
        request: web.Request,
        stream: EventSourceResponse,
        changed: asyncio.Event,
        event: str,
        look: Look,
        pause: float,
    ) -> None:
        version = 0
        while request.transport is not None:
            changed.clear()
            data = await look(version)
            version = data.get("version", 0)
            await stream.send(json.dumps(data), event=event)
            await asyncio.sleep(pause)
            while not changed.is_set() and request.transport is not None:
                # `wait_for` of Python 3.11 may swallow a cancellation that comes at the same time.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await changed.wait()

    # --- a person plays

    async def _act(self, request: web.Request) -> web.Response:
        """Performs an action of the person at the board."""
        match request.path.strip("/").split("/"):
            case ["page", "matches", key, action] if self._seat is not None and self._seat.is_at(key):
                try:
                    return as_json(await self._seat.act(action, await json_body(request)))
                except SeatError as error:
                    raise web.HTTPConflict(text=f"{error}\n") from None
        raise web.HTTPNotFound(text="There is nothing to do here.\n")


async def json_body(request: web.Request, most: int = MOST_BODY) -> dict[str, Any]:
    """Returns a request's JSON object of at most so many bytes. Raises `HTTPException`."""
    text = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while chunk := await request.content.readany():
                text += chunk
                if len(text) > most:
                    raise web.HTTPRequestEntityTooLarge(most, len(text), text=f"More than {most >> 10} KiB.\n")
        # A large one takes a while.
        data = await asyncio.to_thread(bounded_json.loads, text.decode())
    except (ValueError, TimeoutError):
        data = None
    if not isinstance(data, dict):
        raise web.HTTPBadRequest(text="That is not understood.\n")
    return data


def as_json(data: object) -> web.Response:
    """Returns an answer with JSON data."""
    return web.Response(body=json.dumps(data).encode(), content_type="application/json", headers=SECURITY)
