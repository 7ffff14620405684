"""Access to the page, and its answers, beside a player's messages."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from agent.record.spelling import states_to_json
from agent.search.engine import Opinion, Score
from agent.web.access import TOKEN_HEADER, Access, is_here, is_loopback
from agent.web.gallery import Gallery
from agent.web.hosting import serve_here
from agent.web.page import Page
from agent.web.records import MOST_BYTES_BESIDE_MATCHES
from agent.web.site import Site
from agent.web.transcript import Transcript
from protocol import sparing_log
from protocol.kif import read_rulesheet
from protocol.messages import Message, Reply, Status
from protocol.server import Received, make_app, make_runner
from tests.loop_work import LoopWork

from .conftest import told

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "User-Agent": "Mozilla/5.0"}
JAVA = {"Accept": "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "User-Agent": "Java/17.0.2"}

Server: TypeAlias = Callable[[Gallery], AbstractAsyncContextManager[tuple[str, aiohttp.ClientSession]]]


@asynccontextmanager
async def player(gallery: Gallery, records: Path | None = None) -> AsyncIterator[tuple[str, aiohttp.ClientSession]]:
    """A player that answers everything with its name, and its page; yields its address."""

    async def handle(message: Message, received: Received) -> Reply:
        return Status("player", "available")

    page = Page(gallery, everyone_allowed=False, records=records)
    app = make_app(handle, site=page.handle)
    app.on_shutdown.append(page.close)
    runner = make_runner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with aiohttp.ClientSession() as session:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}", session
    finally:
        await runner.cleanup()


@asynccontextmanager
async def page(gallery: Gallery) -> AsyncIterator[tuple[str, aiohttp.ClientSession]]:
    """A page without a player, as commands show it; yields its address."""
    async with serve_here(Site(gallery, title="test")) as address, aiohttp.ClientSession() as session:
        yield address, session


async def read(session: aiohttp.ClientSession, address: str) -> Any:
    """Returns the JSON data at an address."""
    async with session.get(address) as response:
        assert response.status == 200
        return await response.json()


def small_match(gallery: Gallery) -> Transcript:
    """Adds a match with one move."""
    key = gallery.new_key("m/1 ü")
    transcript = Transcript("m/1 ü", "m/1 ü", ("a", "b"), ("", ""), 1, 1, key=key)
    gallery.add(transcript)
    transcript.reach(frozenset([("f", "1")]))
    transcript.move((("go", "1"), "noop"))
    transcript.reach(frozenset([("f", "2")]))
    return transcript


async def test_browsers_get_the_page_and_managers_their_replies() -> None:
    """On the shared port, only a browser's GET of the root, and paths below /page/, are no messages."""
    async with player(Gallery()) as (address, session):

        async def text(method: str, path: str, headers: dict[str, str], data: str | None = None) -> str:
            async with session.request(method, address + path, headers=headers, data=data) as response:
                assert response.status == 200
                return await response.text()

        assert "<!doctype html>" in await text("GET", "/", BROWSER)
        for headers in (JAVA, {}, {"Accept": "text/acl"}):
            assert "name player" in await text("GET", "/", headers)
        for headers in (BROWSER, JAVA, {}):
            assert "name player" in await text("POST", "/", headers, "(INFO)")
        for headers in (JAVA, {}):
            assert "name player" in await text("GET", "/(INFO)", headers)


async def test_page_is_strict() -> None:
    """Every response has the policy, no other site may read or frame it, and unknown paths are a 404."""
    async with player(Gallery()) as (address, session):
        for path, status in (
            ("/page/style.css", 200),
            ("/page/board.css", 200),
            ("/page/app.js", 200),
            ("/page/matches", 200),
            ("/page/matches/none", 404),
            ("/page/%2e%2e/site.py", 404),
            ("/page/nothing", 404),
            ("/page/tournaments/none", 404),
        ):
            async with session.get(URL(address + path, encoded=True), headers=BROWSER) as response:
                assert response.status == status, path
                assert "default-src 'none'" in response.headers["Content-Security-Policy"], path
                assert "unsafe" not in response.headers["Content-Security-Policy"]
                assert "Access-Control-Allow-Origin" not in response.headers
        for token in ("", "ü"):
            async with session.post(f"{address}/page/matches/x/move", headers={TOKEN_HEADER: token}) as response:
                assert response.status == 403
        image = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
        for path in ("/", "/page/matches", "/page/matches/none"):
            for strange in (image, {"Origin": "http://evil.example"}, {"Host": "evil.example"}):
                async with session.get(address + path, headers=BROWSER | strange) as response:
                    assert response.status == 403, (path, strange)
        # A link to the page itself is all that others can have followed.
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        for path, status in (("/", 200), ("/page/matches", 403)):
            async with session.get(address + path, headers=BROWSER | link) as response:
                assert response.status == status


async def test_news_tell_of_what_changed_only() -> None:
    """The first message has all positions, the next one the changed ones; who closes its socket watches no more."""
    gallery = Gallery()
    transcript = small_match(gallery)
    async with player(gallery) as (address, session):
        async with session.ws_connect(f"{address}/page/matches/{transcript.key}") as socket:
            assert [step["ply"] for step in (await socket.receive_json())["steps"]] == [0, 1]
            assert gallery.watched
            transcript.move((("go", "2"), "noop"))
            assert [step["ply"] for step in (await socket.receive_json())["steps"]] == [2]
        while gallery.watched:
            await asyncio.sleep(0.01)


async def test_thoughts_are_told_once_the_person_has_chosen() -> None:
    """Nowhere on the page is what an agent thinks of a position in which a person is yet to choose."""
    gallery = Gallery()
    transcript = Transcript("game", "m", ("a", "b"), ("human", "agent"), 1, 1, key=gallery.new_key("m"))
    gallery.add(transcript)
    transcript.reach(frozenset([("f", "1")]))
    opinion = Opinion(("countered",), Score(77.25), line=(("countered",),))
    async with page(gallery) as (address, session):
        # Before it is known what a person may do, too.
        for legal in (None, (("x",), ("y",))):
            if legal is not None:
                transcript.allow(0, legal)
            transcript.think(1, opinion, "engine", "countered")
            found = await told(session, address, transcript.key)
            assert b'"outcome": "running"' in found
            assert b"countered" not in found
            assert b"77.2" not in found
        version = transcript.version
        transcript.move((("x",), ("countered",)))
        transcript.allow(0, (("x",),))
        assert "countered" in json.dumps(transcript.view(version)["steps"][0]["thinking"])
        found = await told(session, address, transcript.key)
        # In the view and the record; the value in the overview.
        assert found.count(b'"reason": "countered"') == 3
        assert b"[null, 77.2]" in found
        # There is no choice for the person here.
        transcript.think(1, opinion, "engine", "")
        assert transcript.view()["steps"][1]["thinking"]


async def test_new_page_takes_the_place_of_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more pages than can be kept up to date, the oldest stops being so, and no new one is refused."""
    monkeypatch.setattr("agent.web.site.MOST_STREAMS_OF_PEER", 2)
    gallery = Gallery()
    async with player(gallery) as (address, session):
        sockets = []
        for _ in range(4):
            sockets.append(await session.ws_connect(f"{address}/page/matches"))
            assert (await sockets[-1].receive_json())["matches"] == []
        for socket in sockets[:2]:
            assert (await asyncio.wait_for(socket.receive(), 60)).type == aiohttp.WSMsgType.CLOSED
        gallery.add(Transcript("m", "m", ("a",), ("",), 1, 1, key=gallery.new_key("m")))
        for socket in sockets[2:]:
            assert (await socket.receive_json())["matches"][0]["game"] == "m"
            await socket.close()


@pytest.mark.parametrize("server", [player, page])
async def test_cookies_of_other_programs_do_not_matter(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """A browser sends all cookies that it keeps for a host, whatever the port: 180 of 4 KiB at most."""
    headers = BROWSER | {"Cookie": "; ".join(f"k{number}={'e' * 4080}" for number in range(180))}
    async with server(Gallery()) as (address, session):
        async with session.get(address, headers=headers) as response:
            assert response.status == 200
        async with session.ws_connect(f"{address}/page/matches", headers=headers) as socket:
            assert (await socket.receive_json())["matches"] == []
    assert caplog.text == ""


@pytest.mark.parametrize("server", [player, page])
async def test_malformed_requests_are_one_line_of_the_log(
    server: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests that are no HTTP, or beyond all bounds, are refused; the log says why, once, and not what they held."""
    monkeypatch.setattr(sparing_log, "FIRST_PAUSE", 600.0)
    requests = [
        b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nCookie: " + b"secret" * 200_000 + b"\r\n\r\n",
    ]
    compressed = b"POST /page/ HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"
    async with server(Gallery()) as (address, _):
        for request in [requests[-1], compressed, *requests]:
            reader, writer = await asyncio.open_connection("127.0.0.1", URL(address).port)
            writer.write(request)
            # What is not read any more may cost the answer.
            with contextlib.suppress(ConnectionError):
                assert (await reader.readline()).split()[1] in (b"400", b"403")
            writer.close()
    assert len(caplog.text.splitlines()) == 1
    assert "secret" not in caplog.text


async def test_position_is_drawn_with_its_changes() -> None:
    """Facts outside boards are listed, new and gone ones marked; a ply that was not reached is empty."""
    gallery = Gallery()
    transcript = small_match(gallery)
    async with player(gallery) as (address, session):
        positions = f"{address}/page/matches/{transcript.key}/positions"
        drawing = await read(session, f"{positions}/1")
        assert drawing["known"]
        assert drawing["rest"] == [["(f 2)", True]]
        assert drawing["gone"] == ["(f 1)"]
        assert not (await read(session, f"{positions}/2"))["known"]
        for ply in ("-1", "x", "99999999"):
            async with session.get(f"{positions}/{ply}") as response:
                assert response.status == 404


async def test_matches_are_kept_as_records(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A match that ends is written to the folder and listed once; the next server shows it, and leaves the reading to
    another process. A full disk is logged."""
    gallery = Gallery()
    async with player(gallery, tmp_path / "records") as (address, session):
        transcript = small_match(gallery)
        transcript.think(0, Opinion(("go", "1"), Score(60.0)), "engine", "")
        transcript.end("finished", [100, 0])
        while transcript.record_key is None:
            await asyncio.sleep(0.01)
        listed = await read(session, f"{address}/page/matches")
        assert [match["key"] for match in listed["matches"]] == [transcript.key]
    (written,) = (tmp_path / "records").iterdir()
    # A server that plays matches has no time for this one.
    (tmp_path / "records" / "large.json").write_bytes(written.read_bytes() + b" " * MOST_BYTES_BESIDE_MATCHES)
    # Not even bytes: parsing JSON stops all threads.
    monkeypatch.setattr("agent.web.records.bounded_json", None)
    async with player(Gallery(), tmp_path / "records") as (address, session):
        (match,) = (await read(session, f"{address}/page/matches"))["matches"]
        assert match["goals"] == [100, 0]
        kept = await read(session, f"{address}/page/matches/{match['key']}")
        assert kept["steps"][1]["moves"] == ["(go 1)", "noop"]
        assert kept["steps"][1]["thinking"]["0"]["value"] == 60.0
        drawn = await read(session, f"{address}/page/matches/{match['key']}/positions/1")
        assert (drawn["rest"], drawn["gone"]) == ([["(f 2)", True]], ["(f 1)"])
        assert await read(session, f"{address}/page/matches/{match['key']}/record") == json.loads(written.read_bytes())
    (tmp_path / "file").write_text("")
    other = Gallery()
    async with player(other, tmp_path / "file" / "records"):
        small_match(other).end("aborted")
    assert "no record can be written" in caplog.text


async def test_page_of_a_large_match_is_made_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its states, its moves and its text are as large as strangers like: the loop passes them on."""
    gallery = Gallery()
    match = Transcript("m", "m", ("a", "b" * 100_000), ("", ""), 1, 1, rules=(("role", "a"),), key=gallery.new_key("m"))
    gallery.add(match)
    match.reach(states_to_json([(frozenset(("f", str(number)) for number in range(5000)), 1.0)]))
    for number in range(1000):
        match.move((("go", str(number)), "noop"))
    match.reach(states_to_json([(frozenset(("f", str(number)) for number in range(5000)), 1.0)]))
    work = LoopWork()
    with work.counted(monkeypatch):
        async with player(gallery) as (address, session):
            for path in (
                "",
                *(f"/{match.key}{part}" for part in ("", "/positions/0", "/positions/1", "/positions/1000")),
            ):
                async with session.get(f"{address}/page/matches{path}") as response:
                    assert response.status == 200
                    await response.read()
    assert work.most < 20_000, f"{work.most:,}, most of it in {work.where}"


async def test_failing_pictures_are_lists(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """If drawing fails, the facts are listed, and the log has the reason."""

    def fail(*arguments: object) -> None:
        raise RuntimeError("no board today")

    monkeypatch.setattr("agent.web.pictures.Pictures._ask", fail)
    gallery = Gallery()
    transcript = small_match(gallery)
    async with player(gallery) as (address, session):
        drawing = await read(session, f"{address}/page/matches/{transcript.key}/positions/1")
        assert drawing["rest"] == [["(f 2)", True]]
    assert "no board today" in caplog.text


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        *((address, True) for address in ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "", None)),
        *((address, False) for address in ("10.0.0.1", "::ffff:10.0.0.1", "localhost", "fe80::1%eth0")),
    ],
)
def test_loopback(address: str | None, expected: bool) -> None:
    """Loopback addresses are this machine's."""
    assert is_loopback(address) is expected


def test_machine_reaches_itself_at_any_address() -> None:
    """Who has the address that it sends to is this machine."""
    transport = SimpleNamespace(get_extra_info=lambda name: ("::ffff:192.0.2.1", 9147, 0, 0))
    for peer, expected in (("192.0.2.1", True), ("::ffff:192.0.2.1", True), ("192.0.2.2", False)):
        request: Any = SimpleNamespace(remote=peer, transport=transport)
        assert is_here(request) is expected


def test_other_machines_are_told_how_to_be_allowed() -> None:
    """Other machines see the page only if addresses were allowed, and never act; else the 403 says how."""
    headers = {"Host": "192.0.2.1:9147"}
    request: Any = SimpleNamespace(
        remote="192.0.2.7", transport=None, headers=headers, method="GET", path="/x", raw_path="/x"
    )
    Access(everyone_allowed=True).check(request)
    with pytest.raises(web.HTTPForbidden, match="Forbidden") as refused:
        Access().check(request)
    assert "--allow 192.0.2.7" in (refused.value.text or "")
    for everyone in (True, False):
        with pytest.raises(web.HTTPForbidden):
            Access(everyone_allowed=everyone).check_action(request)


def test_machine_itself_may_be_nobody_special() -> None:
    """Where others may seem to be on this machine, its addresses see the page only where all were allowed by name."""
    headers = {"Host": "localhost:9147"}
    request: Any = SimpleNamespace(
        remote="127.0.0.1", transport=None, headers=headers, method="GET", raw_path="/", path="/", query={}
    )
    Access().check(request)
    Access(here=False, everyone_allowed=True).check(request)
    with pytest.raises(web.HTTPForbidden, match="Forbidden") as refused:
        Access(here=False).check(request)
    assert "on the machine itself, as anybody may seem" in (refused.value.text or "")


COUNTING = """
(role a) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
(legal a (add 1)) (legal a (add 0))
(<= (next (at ?y)) (does a (add 1)) (true (at ?x)) (succ ?x ?y))
(<= (next (at ?x)) (does a (add 0)) (true (at ?x)))
(<= terminal (true (at 4))) (goal a 100)
"""


@pytest.mark.parametrize(
    ("known", "expected"),
    [("2", ["0", "1", "1", "2", None]), ("3", [None, None, None, "3", None])],
)
async def test_positions_before_a_restart_are_worked_out(known: str, expected: list[str | None]) -> None:
    """They are computed from moves and rules, if that leads to the later known position."""
    gallery = Gallery()
    rules = read_rulesheet(COUNTING)
    transcript = Transcript("m", "m", ("a",), ("",), 1, 1, rules=rules, key=gallery.new_key("m"))
    gallery.add(transcript)
    for amount in ("1", "0", "1"):
        transcript.move((("add", amount),))
    transcript.reach(frozenset([("at", known)]))
    transcript.move((("add", "1"),))
    version = transcript.version
    async with player(gallery) as (address, session):
        shown = []
        for ply in range(5):
            position = await read(session, f"{address}/page/matches/{transcript.key}/positions/{ply}")
            shown.append(position["rest"][0][0].strip("()").split()[1] if position["known"] else None)
    assert shown == expected
    # Open pages are notified.
    assert (transcript.version > version) == (known == "2")


async def test_a_position_asked_for_while_the_page_ends_is_unavailable() -> None:
    """And no error of this program: a lobby waits for the record then."""
    gallery = Gallery()
    transcript = small_match(gallery)
    site = Site(gallery, title="a page")
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", site.handle)
    runner = make_runner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address = f"http://127.0.0.1:{runner.addresses[0][1]}/page/matches/{transcript.key}"
        async with aiohttp.ClientSession() as session:
            await site.close()
            async with session.get(f"{address}/positions/1") as response:
                assert response.status == 503
                assert "default-src 'none'" in response.headers["Content-Security-Policy"]
            async with session.get(address) as response:
                assert response.status == 503
    finally:
        await runner.cleanup()
