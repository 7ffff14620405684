"""The manager's HTTP side: sends messages to a player and reads its replies.

ClientError
├── Unreachable     no connection, or one that broke off before the reply
├── Late            no complete reply in time
└── Malformed       a reply that is no term, or is sent in a way managers cannot read (`.text` holds it)
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace, TracebackType
from typing import Self
from urllib.parse import urlsplit

import aiohttp

from protocol import infix, kif
from protocol.compose import Style, compose, headers
from protocol.messages import Message
from protocol.terms import Term, TextError, decode

__all__ = ["Answer", "ClientError", "Late", "Malformed", "PlayerClient", "Unreachable", "given_twice", "says_available"]

MAX_REPLY = 1 << 20
"""Largest reply, in bytes; the rest is not read."""


def says_available(reply: str) -> bool:
    """Whether a reply to INFO, in any form, says that the player is free."""
    words = re.findall(r"\w+", reply.lower())
    return "available" in words or "ready" in words


def given_twice(urls: Sequence[str]) -> str | None:
    """The first address that leads to the same server as another one; None if there is none."""
    servers = [_server_at(url) for url in urls]
    return next((url for url, server in zip(urls, servers, strict=True) if servers.count(server) > 1), None)


def _server_at(url: str) -> object:
    """A key that the usual spellings of an address share."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return url
    host = "localhost" if parts.hostname in ("127.0.0.1", "::1") else parts.hostname
    return host, port, parts.path.rstrip("/")


class ClientError(Exception):
    """A player failed to answer; `seconds` is the time from the connect to the failure."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class Unreachable(ClientError):
    """The player cannot be connected to, or closed the connection before it replied."""


class Late(ClientError):
    """The player did not reply in time."""


class Malformed(ClientError):
    """The player's reply, `text`, cannot be understood."""

    def __init__(self, message: str, seconds: float, text: str) -> None:
        super().__init__(message, seconds)
        self.text = text


@dataclass(frozen=True, slots=True)
class Answer:
    """A player's reply."""

    text: str
    term: Term
    """The reply as a term; for `reply(id,x)` it is `x`."""
    seconds: float
    """Time from the connect to the end of the reply."""


class PlayerClient:
    """A connection to one player, as a manager has it: HTTP/1.0, one connection per message.

    ::

        async with PlayerClient("http://localhost:9147", style="dresden") as player:
            answer = await player.send(Play("match1", None), timeout=11.0)

    Overlapping messages are independent.
    """

    def __init__(
        self, url: str, *, style: Style = "ggp-base", name: str = "player", connect_timeout: float = 5.0
    ) -> None:
        self.url = url if "://" in url else f"http://{url}"
        self.style = style
        self.name = name
        self._connect_timeout = connect_timeout
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the open connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, message: Message, *, timeout: float) -> Answer:
        """Send a message and wait for the reply, at most `timeout` seconds from the connect.

        Raises `Unreachable`, `Late` or `Malformed`.
        """
        exchange = _Exchange(time.monotonic())
        try:
            async with asyncio.timeout(self._connect_timeout) as limit:
                exchange.limit, exchange.seconds = limit, timeout
                body = await self._exchange(compose(message, self.style), exchange)
        except TimeoutError:
            if exchange.connected:
                raise Late(f"no reply within {timeout:g} s", exchange.elapsed()) from None
            raise Unreachable(f"no connection within {self._connect_timeout:g} s", exchange.elapsed()) from None
        except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError) as error:
            raise Unreachable(f"broke off: {error}", exchange.elapsed()) from error
        except aiohttp.ClientResponseError as error:
            raise Malformed(f"not HTTP: {error.message.splitlines()[0]}", exchange.elapsed(), "") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Unreachable(str(error) or type(error).__name__, exchange.elapsed()) from error
        return self._answer(body, exchange.elapsed())

    async def _exchange(self, text: str, exchange: _Exchange) -> bytes:
        if self._session is None:
            self._session = _open_session()
        request = self._session.post(
            self.url,
            data=text.encode(),
            headers=headers(self.style, self.name),
            trace_request_ctx=exchange,
            allow_redirects=False,
        )
        async with request as response:
            body = await response.content.read(MAX_REPLY)
            while len(body) < MAX_REPLY and (more := await response.content.read(MAX_REPLY - len(body))):
                body += more
            if "Transfer-Encoding" in response.headers:
                raise Malformed("chunked, which managers do not understand", exchange.elapsed(), decode(body))
            return body

    def _answer(self, body: bytes, seconds: float) -> Answer:
        text = decode(body)
        try:
            if self.style == "infix":
                term = infix.read_one(text)
                if isinstance(term, tuple) and len(term) == 3 and term[0] == "reply":
                    term = term[2]
            else:
                term = kif.read_one(text)
        except TextError as error:
            raise Malformed(f"no term: {error}", seconds, text) from error
        return Answer(text.strip(), term, seconds)


class _Exchange:
    """The clock of one exchange, started by the connect."""

    limit: asyncio.Timeout
    seconds: float

    def __init__(self, start: float) -> None:
        self.connected = False
        self._start = start

    def connect(self) -> None:
        """Start the player's time: the connection stands."""
        self.connected = True
        self._start = time.monotonic()
        self.limit.reschedule(asyncio.get_running_loop().time() + self.seconds)

    def elapsed(self) -> float:
        """Seconds since the connect, or before it, since the attempt."""
        return time.monotonic() - self._start


def _open_session() -> aiohttp.ClientSession:
    async def connected(session: aiohttp.ClientSession, context: SimpleNamespace, params: object) -> None:
        context.trace_request_ctx.connect()

    trace = aiohttp.TraceConfig()
    trace.on_connection_create_end.append(connected)
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(force_close=True, limit=0),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
        version=aiohttp.HttpVersion10,
        skip_auto_headers=("Accept-Encoding", "User-Agent"),
        auto_decompress=False,
        trace_configs=[trace],
    )
