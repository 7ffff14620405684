"""A page on which people act lets in those who have its token, and strangers' connections do not fill it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from agent.web.access import TOKEN_HEADER, Access, link
from agent.web.gallery import Gallery
from agent.web.hosting import serve_here
from agent.web.site import Site
from protocol import connections


@asynccontextmanager
async def served(access: Access | None = None) -> AsyncIterator[tuple[str, aiohttp.ClientSession]]:
    """A page, and a browser that keeps its cookies."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with (
        serve_here(Site(Gallery(), title="test", access=access)) as address,
        aiohttp.ClientSession(cookie_jar=jar) as browser,
    ):
        yield address, browser


async def test_nothing_is_shown_without_the_token() -> None:
    """Whoever has just the port is told how to get in, also where it guesses."""
    async with served(Access(token="secret")) as (address, stranger):
        for path in ("/", "/?token=", "/?token=guess", "/page/matches", "/page/matches?token=secret", "/page/app.js"):
            async with stranger.get(address + path) as response:
                assert response.status == 403, path
                assert "open the whole address" in await response.text()
                assert "Set-Cookie" not in response.headers
        for headers in ({}, {TOKEN_HEADER: "guess"}, {"Cookie": "ggp-agent-1=secret; secret"}):
            async with stranger.post(f"{address}/page/matches/x/move", headers=headers) as response:
                assert response.status == 403
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await stranger.ws_connect(f"{address}/page/matches")
        async with stranger.get(address, headers={"Host": "localhost:99999999"}) as response:
            assert response.status == 403


async def test_link_becomes_a_cookie() -> None:
    """The link works from any page, and afterwards the browser is known; two pages on one machine do not mix."""
    async with served(Access(token="secret")) as (address, browser), served(Access(token="other")) as (second, _):
        from_elsewhere = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        for place, token in ((address, "secret"), (second, "other")):
            async with browser.get(link(place, token), headers=from_elsewhere) as response:
                assert "<!doctype html>" in await response.text()
                cookie = response.cookies[f"ggp-agent-{response.url.port}"]
                assert (cookie["httponly"], cookie["samesite"], cookie["domain"]) == (True, "Strict", "")
        for place in (address, second):
            async with browser.get(f"{place}/page/matches") as response:
                assert response.status == 200
            async with browser.ws_connect(f"{place}/page/matches") as socket:
                assert "matches" in await socket.receive_json()
            async with browser.get(place, headers=from_elsewhere) as response:
                assert response.status == 200
            evil = {"Origin": "http://evil.example"}
            for method in ("GET", "POST"):
                async with browser.request(method, f"{place}/page/matches/x/move", headers=evil) as response:
                    assert response.status == 403
            async with browser.post(f"{place}/page/matches/x/move") as response:
                assert response.status == 404


async def test_ticket_is_for_one_visit() -> None:
    """Others may read the command line of the browser that is opened, after it was."""
    access = Access(token="secret")
    async with served(access) as (address, browser):
        opened = link(address, access.new_ticket())
        async with browser.get(opened) as response:
            assert response.status == 200
        async with browser.get(f"{address}/page/matches") as response:
            assert response.status == 200
        async with aiohttp.ClientSession() as late, late.get(opened) as response:
            assert response.status == 403


async def test_idle_connections_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is answered, however many connections say nothing: the oldest are closed."""
    monkeypatch.setattr(connections, "MOST_HELD_BY_PEER", 20 * connections.CONNECTION_BYTES)
    async with served() as (address, browser):
        port = int(address.rpartition(":")[2])
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(50)]
        async with browser.get(f"{address}/page/matches") as response:
            assert response.status == 200
        # Without the bound, nothing ever comes.
        async with asyncio.timeout(60):
            assert [await reader.read() for reader, _ in idle[:30]] == [b""] * 30
        assert not any(reader.at_eof() for reader, _ in idle[-15:])
        for _, writer in idle:
            writer.close()
