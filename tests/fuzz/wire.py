"""Bytes sent to a served player over real sockets, and what comes back."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from unittest.mock import patch

from aiohttp import web

from protocol import connections, server
from protocol.messages import Message, Reply
from protocol.server import Received, make_app, make_runner
from tests.protocol.conftest import textbook

PATIENCE = 120.0
"""Seconds after which a request counts as not answered."""

SLOW_SENDER = 0.2
"""Seconds after which the server gives up a request that is not complete."""


async def answer(message: Message, received: Received) -> Reply:
    """What a player answers."""
    return await textbook(message)


async def page() -> tuple[str, bytes]:
    """A page of the server."""
    return "text/plain", b"0"


@asynccontextmanager
async def served() -> AsyncIterator[int]:
    """The port of a player that is being served."""
    patched = patch.multiple(server, _BODY_TIMEOUT=SLOW_SENDER, _LINGERING=SLOW_SENDER)
    with patched, patch.object(connections, "HEADER_TIMEOUT", SLOW_SENDER):
        runner = make_runner(make_app(answer, max_body=1 << 20, pages={"/metrics": page}), shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield runner.addresses[0][1]
        finally:
            await runner.cleanup()


async def check_request(port: int, request: bytes) -> str:
    """Sends a request and nothing after it: the status of the first answer, `closed` without one, or `reset`."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        data = await asyncio.wait_for(reader.read(), PATIENCE)
    except ConnectionError:
        return "reset"
    finally:
        writer.close()
    if not data:
        return "closed"
    head, found, body = data.partition(b"\r\n\r\n")
    assert found, data[:200]
    status = re.match(rb"HTTP/[0-9]\.[0-9] ([0-9]{3}) ", head)
    assert status is not None, head
    length = re.search(rb"(?i)\r\ncontent-length: ([0-9]+)", head)
    # A body follows unless the request asked for none.
    assert request[:5].upper() == b"HEAD " or length is None or len(body) >= int(length[1]), data[:500]
    assert b"chunked" not in head.lower()
    return status[1].decode()
