"""The player's HTTP side: turns requests into `Message`s and `Reply`s into text for managers.

`make_app(handle)` calls `handle(message, received)` for every message. Managers ignore the status line and do not
understand errors. So every reply is an HTTP 200: an unreadable request, or a message on which `handle` fails, is
answered `busy` and logged with the reason. Only those who are refused get a 403.

Replies have a Content-Length, are never chunked, and close the connection: some managers read to the end of the
stream. Some managers are pages in a browser: they get replies if their origins are given.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import logging
import re
import socket
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote_to_bytes

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from protocol.browsers import hides_its_page, stranger
from protocol.connections import Connection, Runner, group_of
from protocol.fair_queue import FairQueue
from protocol.messages import Busy, Dialect, Message, Reply, TextError, parse, render
from protocol.sparing_log import SparingLog

log = logging.getLogger(__name__)

MAX_BODY = 32 << 20
"""Largest message accepted, in bytes."""

_MAX_REQUEST_LINE = 1 << 20
"""Longest request line, in bytes: a GET holds its message there."""

_MAX_HEADER = 1 << 20
"""Longest other header line, in bytes; 128 lines at most. A browser sends the cookies of all programs at `localhost`,
whatever the port, in one line: up to 180 of 4 KiB."""

_READ_INLINE = 1 << 12
"""Longest message read in the event loop, in bytes (about a millisecond); threads read longer ones."""

_TCP_INFO = struct.Struct("=52xI12xI")
"""Linux's struct tcp_info (linux/tcp.h): tcpi_last_data_recv in milliseconds, tcpi_rtt in microseconds."""

_OF_A_MATCH = re.compile(rb"\s*+\(?\s*+(?:play|stop|abort)[\s(]++([^\s(),]{1,1000})", re.IGNORECASE)
"""The beginning of a message of a running match."""

_LONGEST_REASON = 200
"""Characters of a malformed or refused request that the log repeats."""

_BODY_TIMEOUT = 60.0
"""Seconds a body may take to arrive."""

_LINGERING = 2.0
"""Seconds a connection stays open for the rest of a body that was answered unread."""


@dataclass(frozen=True, slots=True)
class Received:
    """The circumstances of a message."""

    at: float
    """`time.monotonic()` when the request's header reached this machine, before anything here read it."""
    dialect: Dialect
    peer: str
    """Address of the sender, for the log."""
    round_trip: float = 0.0
    """Round-trip time in seconds, measured by the system; 0 if unknown."""


Prepare: TypeAlias = Callable[[Message], Any]
"""Does with a message what takes the longer the longer it is; see `make_app`."""
Handler: TypeAlias = Callable[[Any, Received], Awaitable[Reply]]
"""Answers what `Prepare` has made of a message."""
Gatekeeper: TypeAlias = Callable[[str], bool]
"""Whether to answer requests from an address."""

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

Page: TypeAlias = Callable[[], Awaitable[tuple[str, bytes]]]
"""Makes a page: content type and body."""

Site: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
"""Answers browsers; see `make_app`."""

SITE_PATH = "/page/"
"""Prefix of a site's paths; no message begins so."""


PREPARE: web.AppKey[Prepare] = web.AppKey("prepare")
HANDLER: web.AppKey[Handler] = web.AppKey("handler")
GATEKEEPER: web.AppKey[Gatekeeper] = web.AppKey("gatekeeper")
ORIGINS: web.AppKey[Collection[str]] = web.AppKey("origins")
LOG: web.AppKey[SparingLog] = web.AppKey("log")
KNOWS: web.AppKey[Callable[[str], bool]] = web.AppKey("knows")
BODY_LIMIT = web.AppKey("body_limit", int)
PARSERS: web.AppKey[ThreadPoolExecutor] = web.AppKey("parsers")
"""Two threads of their own, as many long messages must not delay the journal: one for each queue."""
QUEUES: web.AppKey[Mapping[bool, FairQueue]] = web.AppKey("queues")
"""Long messages that wait to be read: True for those of known matches."""


def make_app(
    handle: Handler,
    *,
    prepare: Prepare = lambda message: message,
    max_body: int = MAX_BODY,
    cleanup_ctx: Iterable[Callable[[web.Application], AsyncIterator[None]]] = (),
    allow: Gatekeeper = lambda address: True,
    origins: Collection[str] = (),
    knows: Callable[[str], bool] = lambda match_id: False,
    pages: Mapping[str, Page] | None = None,
    site: Site | None = None,
) -> web.Application:
    """The application that answers managers on every path and method; addresses that `allow` refuses get a 403, and so
    do browsers, unless a page of the `origins` asks (such as `http://gamemaster.example`), or the site's own.

    `pages` answer a GET of exactly their path. `site` answers every request below `SITE_PATH`, and a browser's GET
    of `/`.

    `prepare` is called where a message was read: in a thread if that is long. `handle` gets its result.

    `knows` says whether a match is being played: its long messages need not wait for those of others. `handle` is
    awaited once per message, concurrently for overlapping messages. `cleanup_ctx` opens and closes its
    resources with the application. Run it with `make_runner`, whose limits suit the protocol.
    """
    app = web.Application(client_max_size=max_body)
    app[PREPARE] = prepare
    app[HANDLER] = handle
    app[BODY_LIMIT] = max_body
    app[GATEKEEPER] = allow
    app[ORIGINS] = frozenset(origins)
    app[LOG] = SparingLog(log)
    app[KNOWS] = knows
    app[PARSERS] = ThreadPoolExecutor(2, "parser")
    app[QUEUES] = {known: FairQueue() for known in (False, True)}
    app.on_cleanup.append(_end_parsers)
    app.on_response_prepare.append(_finish)
    app.middlewares.append(_only_allowed)
    app.cleanup_ctx.extend(cleanup_ctx)
    for path, page in (pages or {}).items():
        app.router.add_get(path, functools.partial(_show, page))
    if site is not None:
        app.router.add_get("/", functools.partial(_welcome, site))
        app.router.add_route("*", SITE_PATH + "{path:(?s:.*)}", functools.partial(_visit, site))
    app.router.add_route("OPTIONS", "/{path:(?s:.*)}", _preflight)
    app.router.add_route("*", "/{path:(?s:.*)}", _answer)
    return app


def make_site_app(site: Site) -> web.Application:
    """The application of a site alone, to which all paths belong. Run it with `make_runner`."""
    app = web.Application()
    app.on_response_prepare.append(_finish)
    app.router.add_route("*", "/{path:(?s:.*)}", functools.partial(_visit, site))
    return app


def make_runner(app: web.Application, *, shutdown_timeout: float = 2.0) -> Runner:
    """A runner with the protocol's limits, see `http_options`, and bounds of memory (`protocol.connections`).

    On shutdown, requests in progress have `shutdown_timeout` seconds left.
    """
    return Runner(app, lingering_time=_LINGERING, shutdown_timeout=shutdown_timeout, **http_options())


def http_options() -> dict[str, Any]:
    """Options of a server's runner: long request lines (START in a GET) and headers, undecoded bodies, no access log,
    malformed HTTP in one line of the log."""
    return {
        "access_log": None,
        "auto_decompress": False,
        "max_line_size": _MAX_REQUEST_LINE,
        "max_field_size": _MAX_HEADER,
        "logger": _HttpLog(log),
    }


def gatekeeper(networks: Collection[Network]) -> Gatekeeper:
    """Returns the test whether an address belongs to one of the networks; without networks, all are allowed."""

    def allowed(text: str) -> bool:
        try:
            address = ipaddress.ip_address(text.partition("%")[0])
        except ValueError:
            return False
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        same = {mapped or address}
        if address.is_loopback:
            # Browsers choose one for localhost.
            same |= {ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1")}
        return any(one in network for one in same for network in networks)

    return allowed if networks else lambda text: True


def peer_of(request: web.BaseRequest) -> str:
    """The sender's address, of IPv4 as such also at a socket for IPv4 and IPv6; empty for a Unix socket."""
    return (request.remote or "").removeprefix("::ffff:")


async def _end_parsers(app: web.Application) -> None:
    app[PARSERS].shutdown(wait=False, cancel_futures=True)


async def _finish(request: web.Request, response: web.StreamResponse) -> None:
    """Makes a reply the last one of its connection, which browsers take for what it says it is."""
    if isinstance(response, web.WebSocketResponse):
        return
    response.force_close()
    response.headers["Connection"] = "close"
    response.headers["X-Content-Type-Options"] = "nosniff"


async def _show(page: Page, request: web.Request) -> web.Response:
    _connection(request).settle()
    content_type, body = await page()
    return web.Response(body=body, headers={"Content-Type": content_type})


async def _visit(site: Site, request: web.Request) -> web.StreamResponse:
    connection = _connection(request)
    connection.task = asyncio.current_task()
    connection.settle()
    return await site(request)


async def _welcome(site: Site, request: web.Request) -> web.StreamResponse:
    """Answers a browser with the site and a manager as usual. Java managers accept HTML too, by default."""
    headers = request.headers
    if "text/html" in headers.get("Accept", "") and "Java/" not in headers.get("User-Agent", ""):
        return await _visit(site, request)
    return await _answer(request)


@web.middleware
async def _only_allowed(request: web.Request, handler: Callable[[web.Request], Awaitable[Any]]) -> Any:
    """Answers requests from allowed addresses and pages, and marks the connection as used."""
    _connection(request).task = asyncio.current_task()
    peer = peer_of(request)
    # A Unix socket has no address.
    if peer and not request.app[GATEKEEPER](peer):
        return _refuse(request, "requests from %s are refused", peer)
    whose = stranger(request, request.app[ORIGINS])
    return _refuse_page(request, whose) if whose else await handler(request)


def _refuse_page(request: web.Request, whose: str) -> web.Response:
    advice = "a manager that runs in a browser is named with --browser ORIGIN"
    return _refuse(request, f"requests of %s are refused: {advice}", whose[:_LONGEST_REASON])


def _refuse(request: web.Request, text: str, whose: str) -> web.Response:
    """Answers a request that is refused."""
    request.app[LOG].tell(_connection(request).peer, logging.WARNING, text, whose)
    return web.Response(status=403, text=f"{text % whose}\n")


def _connection(request: web.Request) -> Connection:
    connection = request.protocol
    assert isinstance(connection, Connection), "an application that is not run by `make_runner`"
    return connection


class _HttpLog(logging.LoggerAdapter[logging.Logger]):
    """The log of a server's HTTP: what is malformed in one line, and sparingly."""

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__(logger)
        self._sparing = SparingLog(logger)

    def log(self, level: int, msg: object, *args: object, exc_info: Any = None, **named: Any) -> None:
        if level < logging.WARNING or not isinstance(exc_info, HttpProcessingError):
            super().log(level, msg, *args, exc_info=exc_info, **named)
            return
        # A traceback into aiohttp helps nobody, and a long line may be somebody's cookies.
        reason = re.split(r":? *\n| when reading:", exc_info.message)[0][:_LONGEST_REASON]
        peer = group_of(str(args[0])) if args else ""
        self._sparing.tell(peer, logging.WARNING, f"{msg}: what came is no HTTP request: %s", *args, reason)


async def _preflight(request: web.Request) -> web.Response:
    return _response(request, "")


async def _answer(request: web.Request) -> web.Response:
    if request.method in ("GET", "HEAD") and hides_its_page(request):
        return _refuse_page(request, "a page that the browser does not name")
    waited, round_trip = _times(request)
    at = time.monotonic() - waited
    peer = peer_of(request) or "unknown"
    tell = functools.partial(request.app[LOG].tell, _connection(request).peer)
    try:
        kind, message, dialect = await _read(request)
        _connection(request).settle()
    except (TextError, _RefusedError) as error:
        tell(logging.WARNING, "%s from %s is no message, answered busy: %s", request.method, peer, error)
        return _response(request, render(Busy(), Dialect()))
    except OSError as error:
        tell(logging.WARNING, "%s from %s broke off: %s", request.method, peer, error)
        return _response(request, "")
    except Exception:
        tell(logging.ERROR, "%s from %s cannot be read, answered busy", request.method, peer, exc_info=True)
        return _response(request, render(Busy(), Dialect()))
    try:
        reply = await request.app[HANDLER](message, Received(at, dialect, peer, round_trip))
        return _response(request, render(reply, dialect))
    except Exception:
        tell(logging.ERROR, "%s from %s failed, answered busy", kind, peer, exc_info=True)
        return _response(request, render(Busy(), dialect))


def _times(request: web.Request) -> tuple[float, float]:
    """Seconds since the request's data arrived, 0 if unknown, and the round-trip time.

    The request may have waited for this process to run, or in the backlog for it to start.
    """
    connection = None if request.transport is None else request.transport.get_extra_info("socket")
    if connection is None:
        return 0.0, 0.0
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
        milliseconds, microseconds = _TCP_INFO.unpack(info)
    except (OSError, AttributeError, struct.error):
        # Not TCP, or not Linux.
        return 0.0, 0.0
    return min(milliseconds / 1000, _BODY_TIMEOUT), microseconds / 1_000_000


class _RefusedError(Exception):
    """A request whose body is refused."""


async def _body(request: web.Request) -> bytes:
    limit = request.app[BODY_LIMIT]
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_TIMEOUT):
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > limit:
                    raise _RefusedError(f"its body is longer than {limit} bytes")
    except TimeoutError:
        raise _RefusedError(f"its body is incomplete after {_BODY_TIMEOUT:g} s") from None
    except web.RequestPayloadError as error:
        raise _RefusedError(f"its body cannot be read: {error}") from error
    return bytes(body)


def _from_path(target: str) -> bytes:
    """The message in a request target, percent-decoded. `+` is a blank unless blanks are spelled `%20`."""
    target = re.sub(r"^[a-z]+://[^/]*", "", target, count=1).lstrip("/")
    if "%20" not in target:
        target = target.replace("+", " ")
    return unquote_to_bytes(target)


async def _read(request: web.Request) -> tuple[str, Any, Dialect]:
    """The message's name, and the message prepared: from the path of a GET, otherwise from the body."""
    by_path = request.method in ("GET", "HEAD")
    body = request.raw_path.encode(errors="replace") if by_path else await _body(request)
    size, match_id = len(body), "" if by_path else _match_of(body)

    def read() -> tuple[str, Any, Dialect]:
        message, dialect = parse(_from_path(request.raw_path) if by_path else body)
        return type(message).__name__.upper(), request.app[PREPARE](message), dialect

    if size <= _READ_INLINE:
        return read()
    known = bool(match_id) and request.app[KNOWS](match_id)
    connection = _connection(request)
    connection.queues = True
    async with request.app[QUEUES][known].turn(connection.peer, size):
        connection.settle()
        return await asyncio.get_running_loop().run_in_executor(request.app[PARSERS], read)


def _match_of(body: bytes) -> str:
    """The id of the match that a message of a running match begins with; empty for others."""
    found = _OF_A_MATCH.match(body)
    return "" if found is None else found[1].decode(errors="replace")


def _response(request: web.Request, text: str) -> web.Response:
    headers = {"Content-Type": "text/acl", "Vary": "Origin"}
    origin = request.headers.get("Origin", "")
    if origin in request.app[ORIGINS]:
        allowed = request.headers.get("Access-Control-Request-Headers", "Sender, Receiver, Content-Type, Accept")
        headers |= {
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Methods": "POST, GET, OPTIONS",
            "Access-Control-Allow-Headers": allowed,
            "Access-Control-Max-Age": "86400",
        }
        if "Access-Control-Request-Private-Network" in request.headers:
            # Chrome asks before a public page may reach a player in the local network.
            headers["Access-Control-Allow-Private-Network"] = "true"
    return web.Response(body=text.encode("utf-8", "replace"), headers=headers)
