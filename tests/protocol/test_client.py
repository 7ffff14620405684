"""Tests of the manager's HTTP side against players of all kinds."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from protocol.client import ClientError, Late, Malformed, PlayerClient, Unreachable, _Exchange, says_available
from protocol.messages import Info, Message, Play, Reply, Start

PLAY = Play("m.1", (("mark", "1", "2"), "noop"))


class FakePlayer:
    """Answers each connection with the same bytes, or never; keeps the last request."""

    def __init__(self, reply: bytes, *, close: bool = True) -> None:
        self.reply = reply
        self.close = close
        self.request = b""
        self.port = 0

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.request = await reader.read(10_000)
            writer.write(self.reply)
            if not self.close:
                await reader.read()
        finally:
            writer.close()


@asynccontextmanager
async def fake_player(reply: bytes, *, close: bool = True) -> AsyncIterator[FakePlayer]:
    fake = FakePlayer(reply, close=close)
    server = await asyncio.start_server(fake.connected, "127.0.0.1", 0)
    async with server:
        fake.port = server.sockets[0].getsockname()[1]
        yield fake


async def ask(fake: FakePlayer, message: Message = PLAY, *, timeout: float = 120.0, **options: Any) -> Any:
    async with PlayerClient(f"http://127.0.0.1:{fake.port}", connect_timeout=120.0, **options) as client:
        return await client.send(message, timeout=timeout)


@pytest.mark.parametrize(
    ("reply", "close", "term"),
    [
        (b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nnoop", False, "noop"),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 12\r\n\r\n( mark 3 4 )", True, ("mark", "3", "4")),
        (b"HTTP/1.0 200 OK\r\n\r\n(mark 3 4)\n", True, ("mark", "3", "4")),
        (b"HTTP/1.1 500 Oops\r\nContent-Type: text/html\r\n\r\nnoop", True, "noop"),
    ],
)
async def test_reads_replies(reply: bytes, close: bool, term: object) -> None:
    """A reply is read by its length or to the end of the stream, whatever its status."""
    async with fake_player(reply, close=close) as fake:
        answer = await ask(fake)
    assert answer.term == term
    assert answer.seconds >= 0


@pytest.mark.parametrize(
    ("style", "sender", "body"),
    [
        ("ggp-base", b"Sender: GAMESERVER", b"( PLAY m.1 (( mark 1 2 ) noop ) )"),
        ("dresden", b"Sender: Gamecontroller", b"(PLAY m.1 ((mark 1 2) noop))"),
        ("infix", b"Sender: GAMESERVER", b"play(m.1,[mark(1,2),noop])"),
    ],
)
async def test_speaks_as_managers_do(style: str, sender: bytes, body: bytes) -> None:
    """A request has the text, the version and the headers of the manager whose style it has."""
    async with fake_player(
        b"HTTP/1.0 200 OK\r\n\r\nreply(m7,noop)" if style == "infix" else b"HTTP/1.0 200 OK\r\n\r\nnoop"
    ) as fake:
        answer = await ask(fake, style=style, name="someone")
    assert answer.term == "noop"
    head, _, text = fake.request.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST / HTTP/1.0"
    assert {sender, b"Receiver: someone", b"Accept: text/delim", b"Content-Type: text/acl"} <= set(lines)
    assert f"Content-Length: {len(body)}".encode() in lines
    assert text == body


@pytest.mark.parametrize(
    "reply",
    [b"", b"HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\nnoop", b"HTTP/1.0 200 OK\r\n\r\nnoop"],
    ids=["nothing", "incomplete", "without end"],
)
async def test_late_players(reply: bytes) -> None:
    """A reply that is not complete in time is late, also one whose end never comes."""
    async with fake_player(reply, close=False) as fake:
        before = time.monotonic()
        with pytest.raises(Late) as caught:
            await ask(fake, timeout=0.1)
    assert 0.09 < caught.value.seconds <= time.monotonic() - before


async def test_unreachable_players() -> None:
    """A port where nobody listens is unreachable, and so is an address that is none."""
    with socket.socket() as silent:
        # Taken, so that nobody else can listen there meanwhile.
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        for url in (f"http://127.0.0.1:{port}", f"127.0.0.1:{port}", "http://"):
            async with PlayerClient(url) as client:
                with pytest.raises(Unreachable):
                    await client.send(Info(), timeout=120.0)


@pytest.mark.parametrize("reply", [b"", b"HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\nnoop"])
async def test_broken_connections(reply: bytes) -> None:
    """A connection that ends before the reply does is unreachable, not late."""
    async with fake_player(reply) as fake:
        with pytest.raises(Unreachable):
            await ask(fake)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", ""),
        (b"HTTP/1.0 200 OK\r\n\r\n(mark 1", "(mark 1"),
        (b"HTTP/1.0 200 OK\r\n\r\nnoop noop", "noop noop"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nnoop\r\n0\r\n\r\n", "noop"),
        (b"junk\r\n\r\n", ""),
    ],
)
async def test_malformed_replies(body: bytes, text: str) -> None:
    """A reply that is not exactly one term, or that managers cannot read, is malformed and kept."""
    async with fake_player(body) as fake:
        with pytest.raises(Malformed) as caught:
            await ask(fake)
    assert isinstance(caught.value, ClientError)
    assert caught.value.text == text


@pytest.mark.parametrize("style", ["ggp-base", "dresden", "infix"])
async def test_client_and_server_understand_each_other(player: Any, style: Any) -> None:
    """What the client sends is what the player receives, several messages at a time."""
    start = Start("m", "r", (("role", "r"), ("<=", ("p", "?X"), ("q", "?X"))), 10, 5)
    async with PlayerClient(f"http://127.0.0.1:{player.port}", style=style) as client:
        answers = await asyncio.gather(*(client.send(message, timeout=120) for message in (start, PLAY)))
    assert [answer.term for answer in answers] == ["ready", ("mark", "1", "2")]
    assert start in player.messages
    assert PLAY in player.messages


async def test_waits_count_from_the_connect(player: Any) -> None:
    """The measured time is that of the exchange: all of the player's, and none from before or after."""
    thinking = 0.0

    async def slowly(message: Message) -> Reply:
        nonlocal thinking
        begin = time.monotonic()
        await asyncio.sleep(0.05)
        thinking = time.monotonic() - begin
        return await type(player)().answer(message)

    player.answer = slowly
    async with PlayerClient(f"http://127.0.0.1:{player.port}") as client:
        before = time.monotonic()
        answer = await client.send(PLAY, timeout=120)
        assert thinking <= answer.seconds <= time.monotonic() - before


async def test_time_before_the_connect_is_not_the_players() -> None:
    """A connection that takes long costs the player nothing."""
    exchange = _Exchange(time.monotonic() - 1e6)
    assert exchange.elapsed() >= 1e6
    async with asyncio.timeout(600) as exchange.limit:
        exchange.seconds = 600.0
        exchange.connect()
    assert exchange.elapsed() < 1e6


@pytest.mark.parametrize(
    ("reply", "available"),
    [
        ("available", True),
        ("( ( name Agent ) ( status AVAILABLE ) )", True),
        ("ready", True),
        ("busy", False),
        ("((name agent) (status unavailable))", False),
        ("", False),
    ],
)
def test_knows_who_is_available(reply: str, available: bool) -> None:
    """In each of the forms in which players answer INFO."""
    assert says_available(reply) is available
