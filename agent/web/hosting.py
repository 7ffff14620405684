"""Serving a site on this machine alone, for commands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from agent.web.site import Site
from protocol.server import make_runner, make_site_app

HOST, EVERYWHERE = "127.0.0.1", "0.0.0.0"
"""Addresses to listen on: for this machine alone, for all."""

SHUTDOWN_SECONDS = 1.0
"""Seconds for unfinished answers at the end."""


@asynccontextmanager
async def serve_here(site: Site, place: int | Path = 0, host: str = HOST) -> AsyncIterator[str]:
    """Serves browsers, at a port (0: a free one) or a Unix socket, while the context lasts; yields the address.

    `host` is the address to listen on, by default that of this machine alone. Raises `OSError` where the
    port is taken.
    """
    app = make_site_app(site.handle)

    async def close(_: web.Application) -> None:
        await site.close()

    app.on_shutdown.append(close)
    runner = make_runner(app, shutdown_timeout=SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        if isinstance(place, Path):
            await web.UnixSite(runner, str(place)).start()
            yield "http://localhost"
        else:
            await web.TCPSite(runner, host, place).start()
            yield f"http://{HOST}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
