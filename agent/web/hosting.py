"""Serving a site on this machine alone, for commands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from agent.web.site import Site

HOST = "127.0.0.1"

SHUTDOWN_SECONDS = 1.0
"""Seconds for unfinished answers at the end."""


@asynccontextmanager
async def serve_here(site: Site, port: int = 0) -> AsyncIterator[str]:
    """Serves browsers on this machine, at a port (0: a free one), while the context lasts; yields the address.

    Raises `OSError` where the port is taken.
    """
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", site.handle)

    async def close(_: web.Application) -> None:
        await site.close()

    app.on_shutdown.append(close)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, port).start()
        yield f"http://{HOST}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
