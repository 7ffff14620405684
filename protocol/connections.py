"""The connections of a server, and the memory that their requests hold.

A request counts from its first byte until it is answered. Where requests hold too much, the one that has waited longest
gives way: managers send a message at once, and whoever trickles loses. Those longer than any rulesheet in use go first.
One that is being answered stays.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Iterable
from typing import Any

from aiohttp import web

from protocol.sparing_log import SparingLog

log = logging.getLogger(__name__)

MOST_HELD = 32 << 20
"""Most bytes that requests hold at the same time. A message read takes up to 20 times its length."""

MOST_HELD_BY_PEER = 8 << 20
"""The same for the requests of one peer."""

CONNECTION_BYTES = 1 << 14
"""Bytes that a connection counts before anything has come: its objects here, and its buffers in the system."""

USUAL = 1 << 17
"""Bytes that a request with a usual rulesheet holds, at most; the largest in use has 68,000."""

HEADER_TIMEOUT = 20.0
"""Seconds until a connection without a request is closed."""


class Connection(web.RequestHandler):
    """A connection, for one request."""

    __slots__ = ("_connections", "held", "peer", "since", "task")

    def __init__(self, connections: Connections, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._connections = connections
        self.held = 0
        """Bytes counted."""
        self.peer = ""
        self.since = 0.0
        """Time of the event loop at which it was opened."""
        self.task: asyncio.Task[Any] | None = None
        """Task that answers the request; None before it has come."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        address = transport.get_extra_info("peername")
        # That of a Unix socket is a text.
        self.peer = group_of(str(address[0])) if isinstance(address, tuple) else ""
        self.since = asyncio.get_running_loop().time()
        super().connection_made(transport)
        self._connections.open(self)

    def data_received(self, data: bytes) -> None:
        self._connections.count(self, len(data))
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._connections.close(self)
        super().connection_lost(exc)

    def settle(self) -> None:
        """Has the connection stay until its request, which has come whole, is answered."""
        self._connections.waiting.pop(self, None)


class Connections:
    """The open connections of a server, and what they hold."""

    def __init__(self) -> None:
        self.waiting: dict[Connection, None] = {}
        """Those whose request has not come whole, or was not read yet; the oldest first."""
        self.held = 0
        """Bytes that all connections hold."""
        self._held_by: dict[str, int] = {}
        self._log = SparingLog(log)

    def open(self, connection: Connection) -> None:
        """Takes a new connection in."""
        self.waiting[connection] = None
        self.count(connection, CONNECTION_BYTES)

    def count(self, connection: Connection, size: int) -> None:
        """Counts bytes that have come; others, or this connection itself, may have to give way."""
        self._add(connection, size)
        while self._held_by.get(connection.peer, 0) > MOST_HELD_BY_PEER and connection.held:
            self._drop(_next_to_go((one for one in self.waiting if one.peer == connection.peer), connection))
        while self.held > MOST_HELD and connection.held:
            self._drop(_next_to_go(self.waiting, connection))

    def close(self, connection: Connection) -> None:
        """Takes a connection out."""
        self.waiting.pop(connection, None)
        self._add(connection, -connection.held)

    def close_silent(self, now: float) -> None:
        """Closes the connections that have brought no request for long; `now` is the event loop's time."""
        for connection in list(self.waiting):
            if connection.task is None and now - connection.since > HEADER_TIMEOUT:
                connection.force_close()

    def _add(self, connection: Connection, size: int) -> None:
        connection.held += size
        self.held += size
        self._held_by[connection.peer] = self._held_by.get(connection.peer, 0) + size
        if not self._held_by[connection.peer]:
            del self._held_by[connection.peer]

    def _drop(self, connection: Connection) -> None:
        text = "requests hold too much memory: the oldest are dropped, first one of %s"
        self._log.tell(connection.peer, logging.WARNING, text, connection.peer)
        self.close(connection)
        if connection.task is not None:
            connection.task.cancel()
        connection.force_close()


class Runner(web.AppRunner):
    """A runner that bounds what connections hold, and closes those without a request: each holds a descriptor."""

    async def setup(self) -> None:
        await super().setup()
        self._watching = asyncio.create_task(self._watch())

    async def cleanup(self) -> None:
        self._watching.cancel()
        await super().cleanup()

    async def _make_server(self) -> web.Server:
        server = await super()._make_server()
        self.connections = Connections()
        return _Server(self.connections, server.request_handler, request_factory=server.request_factory, **self._kwargs)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(HEADER_TIMEOUT / 4)
            self.connections.close_silent(asyncio.get_running_loop().time())


class _Server(web.Server):
    def __init__(self, connections: Connections, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._counted = connections

    def __call__(self) -> web.RequestHandler:
        return Connection(self._counted, self, loop=self._loop, **self._kwargs)


def _next_to_go(connections: Iterable[Connection], default: Connection) -> Connection:
    """Returns the oldest connection, of those that hold more than usual if there are any."""
    return max(connections, key=lambda one: (one.held > USUAL, -one.since), default=default)


def group_of(address: str) -> str:
    """Returns the peer that an address belongs to: itself, or of IPv6 its network of 64 bits, all of one machine."""
    host = address.partition("%")[0].removeprefix("::ffff:")
    return str(ipaddress.ip_network(f"{host}/64", strict=False)) if ":" in host else host
