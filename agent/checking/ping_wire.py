"""One HTTP exchange with a player, as managers make it, byte by byte."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from agent.errors import InputError

PATIENCE = 5.0
"""Seconds to wait for a connection or an answer."""

CLOSING_SECONDS = 1.0
"""Longest time from the reply to the close of the connection: Dresden's gamecontroller waits so long beyond its
clock."""

MAX_REPLY = 1 << 20
"""Bytes read of a reply."""


@dataclass(frozen=True)
class Address:
    """Address of a player."""

    url: str
    host: str
    port: int
    path: str
    secure: bool
    """Whether it is reached by https."""

    @classmethod
    def parse(cls, text: str) -> Address:
        """The address that a user gives. Raises `InputError`."""
        url = text if "://" in text else f"http://{text}"
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise InputError(f"{text}: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"{text}: no address of a player; one looks like http://localhost:9147")
        secure = parts.scheme == "https"
        return cls(url, parts.hostname, port or (443 if secure else 80), parts.path or "/", secure)


@dataclass(frozen=True)
class Reply:
    """The reply, as it came."""

    status: int
    reason: str
    version: str
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes
    seconds: float
    """From the connect to the end of the reply."""
    closed: bool
    """Whether the player closed the connection after the reply."""
    framed: bool
    """Whether it told its length, rather than by the end of the connection."""


async def exchange(
    address: Address, method: str, body: bytes, extra: Mapping[str, str], timeout: float, *, linger: bool = False
) -> Reply:
    """Sends one request of HTTP/1.0, as managers do. With `linger` it waits for the player to close the connection.

    Raises `TimeoutError`, `OSError` and, for anything but HTTP, `ValueError`.
    """
    context = ssl.create_default_context() if address.secure else None
    opening = asyncio.open_connection(address.host, address.port, ssl=context)
    reader, writer = await asyncio.wait_for(opening, PATIENCE)
    begin = time.monotonic()
    content = bytearray()
    try:
        lines = [f"{method} {address.path} HTTP/1.0", f"Host: {address.host}:{address.port}"]
        lines += [f"{name}: {value}" for name, value in extra.items()]
        lines += [f"Content-Length: {len(body)}", "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        async with asyncio.timeout(timeout):
            await writer.drain()
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *rest = head.splitlines()
            version, _, status = first.partition(" ")
            number, _, reason = status.partition(" ")
            if not version.startswith("HTTP/") or not number.isdigit():
                raise ValueError(f"no HTTP: {first[:80]}")
            found = {
                name.strip().lower(): value.strip()
                for name, colon, value in (line.partition(":") for line in rest)
                if colon
            }
            length = found.get("content-length", "")
            framed = length.isdigit() and "transfer-encoding" not in found
            if framed:
                content += await reader.readexactly(min(int(length), MAX_REPLY))
            else:
                await _read_all(reader, content, chunked="chunked" in found.get("transfer-encoding", "").lower())
        seconds = time.monotonic() - begin
        closed = not framed or (linger and await _closes(reader))
        return Reply(int(number), reason, version, found, bytes(content), seconds, closed, framed)
    except asyncio.IncompleteReadError as error:
        raise ValueError("the connection broke off within the reply" if error.partial else "no reply") from None
    except TimeoutError:
        if content:
            raise ValueError("no length, and the connection stays open: nobody sees where the reply ends") from None
        raise
    except asyncio.LimitOverrunError:
        raise ValueError("no HTTP: the header has no end") from None
    finally:
        writer.close()


async def _read_all(reader: asyncio.StreamReader, content: bytearray, *, chunked: bool) -> None:
    """Reads into `content` until the connection closes, or the last chunk has come."""
    while len(content) < MAX_REPLY and (more := await reader.read(MAX_REPLY - len(content))):
        content += more
        if chunked and content.endswith(b"0\r\n\r\n"):
            break


async def _closes(reader: asyncio.StreamReader) -> bool:
    try:
        return await asyncio.wait_for(reader.read(1), CLOSING_SECONDS) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True
