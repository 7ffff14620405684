"""Tests of the player's HTTP side, byte for byte through real sockets."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import threading
import time
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from aiohttp import web

from protocol import server, sparing_log
from protocol.messages import Abort, Dialect, Info, Message, MoveReply, Ping, Play, Ready, Reply, Start, parse
from protocol.server import make_app, make_runner
from protocol.terms import TextError, TextPosition
from tests.protocol.conftest import ORIGIN, ServedPlayer

CORS = {
    "access-control-allow-origin": ORIGIN,
    "access-control-allow-methods": "POST, GET, OPTIONS",
    "access-control-allow-headers": "Sender, Receiver, Content-Type, Accept",
}


class Clock:
    """A clock that stands still, and notes that it was looked at."""

    def __init__(self) -> None:
        self.time = 100.0
        self.looked_at = asyncio.Event()

    def monotonic(self) -> float:
        self.looked_at.set()
        return self.time


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize(
    ("body", "reply"),
    [
        (b"( INFO )", b"( ( name Test ) ( status available ) ( species alien ) )"),
        (b"(START m r ((role r)) 10 5)", b"ready"),
        (b"(PLAY m NIL)", b"(mark 1 2)"),
        (b"play(r7,m,[a])", b"reply(r7,mark(1,2))"),
        (b"(STOP m (a))", b"done"),
        (b"( ABORT m )", b"aborted"),
        (b"", b"( ( name Test ) ( status available ) ( species alien ) )"),
        (b"(play m", b"busy"),
    ],
)
async def test_replies_as_managers_need_them(player: Any, body: bytes, reply: bytes, version: str) -> None:
    """Each reply is a 200 with its length, not chunked, for a named page too, and the connection is closed after it."""
    headers = ("Host: x", "Connection: keep-alive", f"Origin: {ORIGIN}") if version == "1.1" else ()
    answer = await player.post(body, *headers, version=version)
    assert answer.status == f"HTTP/{version} 200 OK"
    assert answer.body == reply
    assert answer.headers["content-length"] == str(len(reply))
    assert answer.headers["content-type"] == "text/acl"
    assert "transfer-encoding" not in answer.headers
    assert answer.headers.get("connection", "close") == "close"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert (CORS.items() <= answer.headers.items()) == (version == "1.1")


async def test_recorded_requests_get_proper_replies(player: Any, recorded: list[Any]) -> None:
    """The bytes that the real managers sent get the replies they accept."""
    expected = {"INFO": b"( ( name Test )", "PREVIEW": b"ready", "START": b"ready", "PLAY": b"(mark 1 2)"}
    expected |= {"STOP": b"done", "ABORT": b"aborted"}
    for request in recorded:
        answer = await player.send(request.request)
        assert answer.status == "HTTP/1.0 200 OK"
        assert answer.body.startswith(expected[request.kind])
        assert type(player.messages[-1]).__name__.upper() == request.kind


@pytest.mark.parametrize("path", ["/", "/some/where?x=y", "//", "/%0A", "http://elsewhere:80/"])
@pytest.mark.parametrize("header", ["Content-Type: text/html; charset=none", "Accept: nothing", "Sender: \xe9"])
async def test_path_and_content_type_do_not_matter(player: Any, path: str, header: str) -> None:
    """A POST is read whatever its path, content type and charset say."""
    assert (await player.post(b"(ping)", header, path=path)).body == b"ready"
    assert player.messages == [Ping()]


async def test_request_without_length_is_info(player: Any) -> None:
    """A POST without a body and without Content-Length asks for INFO."""
    await player.send(b"POST / HTTP/1.0\r\n\r\n")
    assert player.messages == [Info()]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("", Info()),
        (quote("( PLAY m.1 ((f ?x) ++) )", safe=""), Play("m.1", (("f", "?x"), "++"))),
        (quote("(PLAY m (a+b))", safe="()+"), Play("m", ("a+b",))),
        (quote_plus("( PLAY m (a+b) )"), Play("m", ("a+b",))),
        ("(ABORT+m)", Abort("m")),
        ("play(m,[a])", Play("m", ("a",))),
    ],
)
async def test_get_holds_its_message_in_the_path(player: Any, target: str, message: Message) -> None:
    """The path of a GET is percent-decoded, with blanks spelled `%20` or `+`."""
    await player.send(f"GET /{target} HTTP/1.0\r\n\r\n".encode())
    assert player.messages == [message]


async def test_get_takes_a_whole_rulesheet(player: Any) -> None:
    """A request line may be as long as a START with its rules."""
    text = quote("(START m r (" + "(role r) " * 10_000 + ") 10 5)")
    assert (await player.send(f"GET /{text} HTTP/1.0\r\n\r\n".encode())).body == b"ready"
    assert len(player.messages[0].rules) == 10_000


async def test_preflight_allows_what_it_is_asked_for(player: Any) -> None:
    """An OPTIONS request gets the headers it names allowed, without reaching the player."""
    request = b"OPTIONS /x HTTP/1.1\r\nHost: x\r\nOrigin: https://gamemaster.example\r\n"
    request += b"Access-Control-Request-Method: POST\r\n"
    asked = b"Access-Control-Request-Headers: x-prototype-version, x-requested-with\r\n"
    private = b"Access-Control-Request-Private-Network: true\r\n"
    answer = await player.send(request + asked + private + b"\r\n")
    assert answer.status == "HTTP/1.1 200 OK"
    assert answer.body == b""
    assert answer.headers["access-control-allow-headers"] == "x-prototype-version, x-requested-with"
    assert answer.headers["access-control-allow-private-network"] == "true"
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert player.messages == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"(((", "'(' is never closed (line 1, column 3)"),
        (b"hello", "unknown message 'hello' (line 1, column 1)"),
        (bytes(range(256)) * 8, "unknown message"),
        (b"\xff\xfe" * 1000, "unknown message"),
        (b"(" * 100_000, "nested deeper than"),
        (b"(start m r", "never closed"),
        (b"(play m a b c d e)", "PLAY takes a match id and 1 or 3 more arguments"),
    ],
)
async def test_junk_is_answered_busy(player: Any, body: bytes, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    """A text that is no message gets a 200 `busy`, and one line in the log with the reason."""
    answer = await player.post(body, f"Origin: {ORIGIN}")
    assert (answer.status, answer.body) == ("HTTP/1.0 200 OK", b"busy")
    assert CORS.items() <= answer.headers.items()
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert reason in record.message
    assert "\n" not in record.message


async def test_flood_of_junk_is_a_line(
    player: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Further malformed messages of a peer are only counted for a while, whatever is wrong with them."""
    monkeypatch.setattr(sparing_log, "FIRST_PAUSE", 600.0)
    for number in range(12):
        assert (await player.post(b"hello%d" % number)).body == b"busy"
    assert len(caplog.records) == 1


@pytest.mark.parametrize("encoding", ["gzip", "br", "klingon"])
async def test_content_encoding_does_not_matter(player: Any, encoding: str) -> None:
    """No manager compresses: a body is read as it comes, whatever encoding its header claims."""
    assert (await player.post(b"(ping)", f"Content-Encoding: {encoding}")).body == b"ready"


async def test_failing_player_is_busy(player: Any, caplog: pytest.LogCaptureFixture) -> None:
    """An exception in the player is logged, and answered `busy`; the next message is served."""

    async def fail(message: Message) -> Reply:
        raise TextError("broken", TextPosition(1, 1))

    player.answer = fail
    assert (await player.post(b"(play m nil)")).body == b"busy"
    assert (await player.post(b"ping(m7)")).body == b"reply(m7,busy)"
    assert "PLAY from 127.0.0.1 failed" in caplog.text
    assert "broken" in caplog.text


async def test_body_beyond_the_limit_is_refused(player: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A body that is too long is answered `busy` without being kept."""
    answer = await player.post(b"(START m r (" + b"(role r)" * 1_000_000)
    assert (answer.status, answer.body) == ("HTTP/1.0 200 OK", b"busy")
    assert "longer than" in caplog.text


async def test_large_start_does_not_hold_up_others(player: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a rulesheet of more than 1 MB is parsed, other messages are answered."""
    body = b"(START m r (" + b"(foo (bar ?x 12) baz)\n" * 50_000 + b") 10 5)"
    parsing, answered = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def parse_at_leisure(text: bytes) -> tuple[Message, Dialect]:
        if len(text) > 1 << 20:
            loop.call_soon_threadsafe(parsing.set)
            assert answered.wait(120), "no other message is answered meanwhile"
        return parse(text)

    monkeypatch.setattr("protocol.server.parse", parse_at_leisure)
    start = asyncio.create_task(player.post(body))
    await parsing.wait()
    assert (await player.post(b"(ping)")).body == b"ready"
    assert not start.done()
    answered.set()
    assert (await start).body == b"ready"
    assert any(isinstance(message, Start) for message in player.messages)


async def test_messages_are_served_concurrently(player: Any) -> None:
    """A PLAY that is being thought about does not keep INFO waiting."""
    thinking, decided = asyncio.Event(), asyncio.Event()

    async def think(message: Message) -> Reply:
        if isinstance(message, Play):
            thinking.set()
            await decided.wait()
            return MoveReply("a")
        return Ready()

    player.answer = think
    play = asyncio.create_task(player.post(b"(play m nil)"))
    await thinking.wait()
    assert (await player.post(b"(info)")).body == b"ready"
    decided.set()
    assert (await play).body == b"a"


@pytest.fixture
def arrivals(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that the server looks at when a request arrives."""
    clock = Clock()
    monkeypatch.setattr("protocol.server.time", clock)
    # On a loaded machine, the system has had the request for a while.
    monkeypatch.setattr("protocol.server._times", lambda request: (0.0, 0.0))
    return clock


async def test_time_counts_from_the_header(player: Any, arrivals: Clock) -> None:
    """The clock of a message starts when its request arrives, not when the last byte of its body does."""
    reader, writer = await asyncio.open_connection("127.0.0.1", player.port)
    writer.write(b"POST / HTTP/1.0\r\nContent-Length: 12\r\n\r\n(play")
    await arrivals.looked_at.wait()
    arrivals.time = 102.0
    writer.write(b" m nil)")
    await reader.read()
    writer.close()
    (received,) = player.received
    assert received.at == 100.0
    assert received.peer == "127.0.0.1"


async def test_silent_connection_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection without a request is ended; one with a message being answered is not, however long that takes."""
    monkeypatch.setattr("protocol.connections.HEADER_TIMEOUT", 0.1)
    served = ServedPlayer()
    answering = asyncio.Event()

    async def handle(message: Message, received: Any) -> Reply:
        await answering.wait()
        return await served.handle(message, received)

    runner = make_runner(make_app(handle))
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0))
    await web.SockSite(runner, listener).start()
    answered, writer = await asyncio.open_connection(*listener.getsockname())
    writer.write(b"POST / HTTP/1.0\r\nContent-Length: 12\r\n\r\n(play m nil)")
    silent, other = await asyncio.open_connection(*listener.getsockname())
    other.write(b"POST / HTTP/1.0\r\nX-Slow: ")
    assert await silent.read() == b""
    answering.set()
    assert (await answered.read()).endswith(b"(mark 1 2)")
    writer.close()
    other.close()
    await runner.cleanup()


async def test_only_allowed_addresses_are_answered(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others get no answer, and are logged once."""
    monkeypatch.setattr(sparing_log, "FIRST_PAUSE", 600.0)
    served = ServedPlayer()
    runner = make_runner(make_app(served.handle, allow=lambda address: address != "127.0.0.1"))
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0))
    await web.SockSite(runner, listener).start()
    for _ in range(2):
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(b"POST / HTTP/1.0\r\nContent-Length: 12\r\n\r\n(play m nil)")
        assert b" 403 " in (await reader.read()).splitlines()[0]
        writer.close()
    await runner.cleanup()
    assert not served.received
    assert caplog.text.count("127.0.0.1 are refused") == 1


async def test_time_in_the_backlog_counts() -> None:
    """The clock of a message runs while nobody has accepted its connection yet."""
    served = ServedPlayer()
    runner = make_runner(make_app(served.handle))
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0))
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    writer.write(b"POST / HTTP/1.0\r\nContent-Length: 12\r\n\r\n(play m nil)")
    await asyncio.sleep(0.3)
    accepted = time.monotonic()
    await web.SockSite(runner, listener).start()
    await reader.read()
    writer.close()
    await runner.cleanup()
    (received,) = served.received
    assert accepted - received.at > 0.1


def test_round_trip_and_waiting_are_those_of_the_system() -> None:
    """Linux's struct tcp_info has milliseconds since data came at byte 52, the round trip's microseconds at byte 68."""

    class Connection:
        def __init__(self, waited: int) -> None:
            self.info = bytearray(232)
            struct.pack_into("=I", self.info, 52, waited)
            struct.pack_into("=I", self.info, 68, 150_000)

        def getsockopt(self, level: int, option: int, size: int) -> bytes:
            assert (level, option) == (socket.IPPROTO_TCP, socket.TCP_INFO)
            return bytes(self.info[:size])

    for waited, seconds in ((2_500, 2.5), (3_600_000, 60.0)):
        transport = SimpleNamespace(get_extra_info={"socket": Connection(waited)}.get)
        assert server._times(SimpleNamespace(transport=transport)) == (seconds, 0.15)  # type: ignore[arg-type]


async def test_broken_off_request_disturbs_nobody(
    player: Any, arrivals: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """A connection that ends before the body does is logged, and the next one served."""
    _, writer = await asyncio.open_connection("127.0.0.1", player.port)
    writer.write(b"POST / HTTP/1.0\r\nContent-Length: 12\r\n\r\n(play")
    await arrivals.looked_at.wait()
    writer.close()
    assert (await player.post(b"(ping)")).body == b"ready"
    assert player.messages == [Ping()]
    async with asyncio.timeout(120):
        while "broke off" not in caplog.text:
            await asyncio.sleep(0.001)
