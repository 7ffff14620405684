"""The HTTP side of the page: its files, data of matches, and news of them while they are played.

News come through a WebSocket at the path of the data: all tabs share the six connections that a browser opens to a
host, but not its WebSockets. Everything is read-only except a person's actions (`agent.web.seat`). The page's policy
forbids other hosts.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.resources
import json
import logging
import mimetypes
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeAlias, TypeVar

from aiohttp import web

from agent import bounded_json
from agent.boards.style import STYLE
from agent.record.spelling import read_text
from agent.web import drawing
from agent.web.access import Access
from agent.web.gallery import Figures, Gallery
from agent.web.pictures import Pictures
from agent.web.records import UNREADABLE, Records, Version, read_bytes
from agent.web.seat import Seat, SeatError
from agent.web.tournaments import ShownTournament
from agent.web.transcript import Transcript
from games.child_process import ChildLostError
from games.machine import GameError
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
"""Seconds between two looks at one match, and between two at all."""

PING_SECONDS = 20.0
"""Seconds between two pings; a page that answers none for half of that has vanished."""

MOST_MESSAGE = 1 << 10
"""Most bytes that a page sends through its WebSocket: it only listens."""

MOST_STREAMS, MOST_STREAMS_OF_PEER = 128, 64
"""Most pages kept up to date at the same time, and those of one address. A further one takes the oldest one's place."""

MOST_BODY = 1 << 14
"""Most bytes of a page's request."""

BODY_SECONDS = 10.0
"""Seconds for a request's body to arrive."""

Result = TypeVar("Result")

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

Look: TypeAlias = Callable[[int], Awaitable[dict[str, Any] | str]]
"""Returns the data, of which only what has changed since a version, if it has versions; or all as JSON text."""

Send: TypeAlias = Callable[[str], Awaitable[None]]
"""Sends the text of a message. Raises `ConnectionError` where the page was closed."""


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
        figures: Figures | None = None,
    ) -> None:
        """`access` is to this machine alone by default, and nobody acts. `records` are finished matches in files;
        `seat` is for a person who plays. Changes of the `tournaments` are notified by the gallery, under their keys.
        `figures` are those of a server, shown above its matches."""
        self._gallery = gallery
        self._title = title
        self._access = access or Access()
        self._records = records
        self._seat = seat
        self._figures = figures
        self._tournaments = {tournament.key: tournament for tournament in tournaments}
        most = 0 if records is None else records.most_bytes
        self._pictures = Pictures(most) if seat is None else Pictures(most, niceness=0)
        if seat is not None:
            # Before a person makes a move, and agents take the processor.
            self._pictures.prepare()
        # Formatting takes one core at most, with any number of pages.
        self._thread = ThreadPoolExecutor(1, "page")
        self._closed = False
        self._streams: dict[asyncio.Task[Any], str] = {}
        """Address of each page that is kept up to date, the oldest first."""
        self._files = {
            file.name: file.read_bytes()
            for file in importlib.resources.files("agent.web").joinpath("static").iterdir()
            if file.is_file()
        }
        # The policy forbids the inline style of pictures.
        self._files["board.css"] = STYLE.encode()

    async def close(self) -> None:
        """Ends all streams. Requests that are still answered get status 503 where that ends what they need."""
        self._closed = True
        for stream in self._streams:
            stream.cancel()
        self._pictures.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

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
        except RuntimeError:
            # Threads and pictures take nothing any more.
            if not self._closed:
                raise
            raise web.HTTPServiceUnavailable(text="This page ends.\n", headers=SECURITY) from None

    async def _show(self, request: web.Request) -> web.StreamResponse:
        match request.path.strip("/").split("/"):
            case [""]:
                index = self._file("index.html")
                self._access.admit(request, index)
                return index
            case ["page", "matches"]:
                return await self.show(request, None, lambda _: self._overview(), OVERVIEW_SECONDS)
            case ["page", "matches", key]:
                if await self._record_of(key) is None:
                    await self._transcript(key)
                return await self.show(request, key, partial(self._look, key), MATCH_SECONDS)
            case ["page", "matches", key, "positions", ply] if ply.isascii() and ply.isdigit() and len(ply) < 8:
                if "line" in request.query:
                    return await self._work_out(key, partial(self._further, int(ply), request.query["line"]))
                return await self._position(key, int(ply))
            case ["page", "matches", key, "spelling"]:
                return await self._work_out(key, partial(self._spell, request.query.get("moves", "")))
            case ["page", "matches", key, "record"]:
                return await self._record(key)
            case ["page", "tournaments", key]:
                tournament = self._tournament(key)
                return await self.show(request, key, lambda _: self._format(tournament.view), OVERVIEW_SECONDS)
            case ["page", "tournaments", key, "matches"]:
                game, player = request.query.get("game"), request.query.get("player")
                return as_json(await self._format(self._tournament(key).matches, game, player))
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

    async def summaries(self) -> list[dict[str, Any]]:
        """Returns the summaries of the records."""
        return [] if self._records is None else await self._records.summaries(self._pictures.ask)

    async def _format(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Returns what a function makes of a match, which may be as large as a stranger likes."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    async def _overview(self) -> dict[str, Any]:
        transcripts = self._gallery.transcripts
        matches = await self._format(lambda: [transcript.summary() for transcript in transcripts])
        shown = {transcript.record_key for transcript in transcripts}
        matches += [match for match in await self.summaries() if match["key"] not in shown]
        tournaments = [await self._format(tournament.summary) for tournament in list(self._tournaments.values())]
        server = None if self._figures is None else await self._format(self._figures)
        return {"title": self._title, "server": server, "matches": matches, "tournaments": tournaments}

    def _tournament(self, key: str) -> ShownTournament:
        found = self._tournaments.get(key)
        if found is None:
            raise web.HTTPNotFound(text="There is no such tournament.\n")
        return found

    async def _transcript(self, key: str) -> Transcript:
        """Returns a match that is no record."""
        found = self._gallery.find(key)
        for tournament in self._tournaments.values():
            if found is None:
                found = await self._format(tournament.find, key)
        if found is None:
            raise _no_match()
        return found

    async def _record_of(self, key: str) -> Version | None:
        """Returns the file of a record that is no match of the gallery."""
        if self._records is None or self._gallery.find(key) is not None:
            return None
        return await self._records.find(self._pictures.ask, key)

    def _beside(self, key: str) -> dict[str, object]:
        """Returns what is told of a match beside its own data."""
        return {}

    async def _look(self, key: str, since: int) -> dict[str, Any] | str:
        if (record := await self._record_of(key)) is not None:
            with _readable(record):
                text: str = await self._pictures.ask(drawing.view, record, self._beside(key))
                return text
        transcript = await self._transcript(key)
        return {**await self._format(transcript.view, since), **self._beside(key)}

    async def _position(self, key: str, ply: int) -> web.Response:
        record = await self._record_of(key)
        if record is None:
            drawn = await self._pictures.draw(await self._transcript(key), ply)
        else:
            with _readable(record):
                drawn = await self._pictures.draw_record(record, ply)
        return as_json(await self._format(encoded, drawn))

    async def _work_out(self, key: str, find: Callable[[Transcript | Version], Awaitable[Any]]) -> web.Response:
        """Answers with what is found about a match from its rules, as JSON."""
        match = await self._record_of(key) or await self._transcript(key)
        try:
            found = await find(match)
        except (ValueError, GameError, ChildLostError) as error:
            raise web.HTTPConflict(text=f"That is not to be had: {error}.\n") from None
        return as_json(await self._format(encoded, found))

    async def _further(self, ply: int, line: str, match: Transcript | Version) -> Any:
        """Returns the position after a line of joint moves, as JSON text, from a ply.

        While a match runs that is for the person who plays, and for games of which everything is seen.
        """
        if isinstance(match, Transcript) and match.running and self._seat is None:
            raise ValueError("the match is not over yet")
        return await self._pictures.draw_further(match, ply, drawing.read_line(bounded_json.loads(line)))

    async def _spell(self, moves: str, match: Transcript | Version) -> Any:
        return await self._pictures.spell(match, [*map(read_text, bounded_json.loads(moves))])

    async def _record(self, key: str) -> web.Response:
        """Answers with the record of a match, so far, as a file."""
        record = await self._record_of(key)
        if record is None:
            transcript = await self._transcript(key)
            if transcript.hides:
                raise web.HTTPConflict(text="The record tells everything: it is there once the match is over.\n")
            body = await self._format(lambda: encoded(transcript.as_json()).encode())
        else:
            path, _, size = record
            with _readable(record):
                body = await asyncio.to_thread(read_bytes, path, size)
        headers = {**SECURITY, "Content-Disposition": f'attachment; filename="{key}.json"'}
        return web.Response(body=body, content_type="application/json", headers=headers)

    # --- following

    async def show(
        self,
        request: web.Request,
        key: str | None,
        look: Look,
        pause: float,
        before: Callable[[Send], Awaitable[None]] | None = None,
    ) -> web.StreamResponse:
        """Answers with data; through a WebSocket also whenever the gallery tells of the key, with `pause` seconds
        between two.

        `before` sends what comes before that.
        """
        if not is_socket(request):
            data = await look(0)
            return as_json(data if isinstance(data, str) else await self._format(encoded, data))
        # Compression would take the event loop's time.
        socket = web.WebSocketResponse(heartbeat=PING_SECONDS, compress=False, max_msg_size=MOST_MESSAGE)
        await socket.prepare(request)
        task = asyncio.current_task()
        assert task is not None
        self._make_room(peer_of(request))
        self._streams[task] = peer_of(request)
        try:
            with self._gallery.watching(key) as changed:
                sending = asyncio.create_task(self._send(socket.send_str, changed, look, pause, before))
                # A page says nothing before it is closed.
                listening = asyncio.create_task(socket.receive())
                try:
                    await asyncio.wait((sending, listening), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    sending.cancel()
                    listening.cancel()
                    await asyncio.gather(sending, listening, return_exceptions=True)
            if not sending.cancelled():
                # The page was closed, or there is nothing to look at any more: it is told so when it asks again.
                with contextlib.suppress(ConnectionError, web.HTTPException):
                    sending.result()
        finally:
            self._streams.pop(task, None)
        await socket.close()
        return socket

    def _make_room(self, peer: str) -> None:
        """Ends the oldest stream where there are too many; its page asks for another one."""
        # Behind a Unix socket there are many, all without an address.
        same = [stream for stream, other in self._streams.items() if other == peer != ""]
        surplus = same if len(same) >= MOST_STREAMS_OF_PEER else list(self._streams)
        if surplus is same or len(surplus) >= MOST_STREAMS:
            del self._streams[surplus[0]]
            surplus[0].cancel()

    async def _send(
        self,
        send: Send,
        changed: asyncio.Event,
        look: Look,
        pause: float,
        before: Callable[[Send], Awaitable[None]] | None,
    ) -> None:
        if before is not None:
            await before(send)
        version = 0
        while True:
            changed.clear()
            data = await look(version)
            if isinstance(data, str):
                await send(data)
            else:
                version = data.get("version", 0)
                await send(await self._format(encoded, data))
            await asyncio.sleep(pause)
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


def is_socket(request: web.Request) -> bool:
    """Returns whether a request opens a WebSocket, to follow what is at its path."""
    return request.headers.get("Upgrade", "").lower() == "websocket"


async def read_body(request: web.Request, most: int) -> bytes:
    """Returns a request's body of at most so many bytes. Raises `HTTPException`."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while chunk := await request.content.readany():
                body += chunk
                if len(body) > most:
                    raise web.HTTPRequestEntityTooLarge(most, len(body), text=f"More than {most >> 10} KiB.\n")
    except TimeoutError:
        raise _not_understood() from None
    return bytes(body)


async def json_body(request: web.Request, most: int = MOST_BODY) -> dict[str, Any]:
    """Returns a request's JSON object of at most so many bytes. Raises `HTTPException`."""
    body = await read_body(request, most)
    try:
        # A large one takes a while.
        data = await asyncio.to_thread(bounded_json.loads, body.decode())
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise _not_understood()
    return data


def encoded(data: object) -> str:
    """Returns data as JSON text. Other threads have their turns meanwhile, as they do not in `json.dumps`."""
    return "".join(json.JSONEncoder().iterencode(data))


def as_json(data: object) -> web.Response:
    """Returns an answer with JSON data, or with its text."""
    text = data if isinstance(data, str) else json.dumps(data)
    return web.Response(body=text.encode(), content_type="application/json", headers=SECURITY)


@contextlib.contextmanager
def _readable(record: Version) -> Iterator[None]:
    try:
        yield
    except UNREADABLE as error:
        log.warning("%s cannot be read: %.200s", record[0], error)
        raise _no_match() from None


def _no_match() -> web.HTTPNotFound:
    return web.HTTPNotFound(text="There is no such match (any more).\n")


def _not_understood() -> web.HTTPBadRequest:
    return web.HTTPBadRequest(text="That is not understood.\n")
