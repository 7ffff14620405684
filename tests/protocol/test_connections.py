"""What connections may hold, through real sockets. All of 127.0.0.0/8 is this machine: there are several peers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from protocol import connections, sparing_log
from protocol.messages import Dialect, Message, Play, Start, parse

MANAGER, NEIGHBOUR, OTHER = "127.0.0.1", "127.0.0.2", "127.0.0.3"

LARGE = 50_000
"""Bytes of a message that a thread parses."""


@pytest.fixture(autouse=True)
def _little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for thirteen connections without data, four of a peer; for three large messages, one of a peer."""
    monkeypatch.setattr(connections, "HEADER_TIMEOUT", 600.0)
    monkeypatch.setattr(sparing_log, "FIRST_PAUSE", 600.0)
    monkeypatch.setattr(connections, "MOST_HELD", 13 * connections.CONNECTION_BYTES)
    monkeypatch.setattr(connections, "MOST_HELD_BY_PEER", 4 * connections.CONNECTION_BYTES + 8192)


class Sender:
    """A connection that sends bit by bit."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.send = writer.write
        self.close = writer.close

    def begin(self, body: bytes, missing: int = 0) -> None:
        """Sends a message, of which some bytes are missing."""
        self.send(b"POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % (len(body) + missing) + body)

    async def answer(self) -> bytes:
        """Returns the body of the answer; empty where the connection was closed instead."""
        try:
            return (await asyncio.wait_for(self._reader.read(), 60)).partition(b"\r\n\r\n")[2]
        except ConnectionError:
            return b""


class Senders:
    """The connections of a test."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.all: list[Sender] = []

    async def connect(self, address: str) -> Sender:
        """Connects from an address."""
        self.all.append(Sender(*await asyncio.open_connection("127.0.0.1", self._port, local_addr=(address, 0))))
        return self.all[-1]

    async def begin(self, address: str, body: bytes, missing: int = 0) -> Sender:
        """Connects, and sends a message, of which some bytes are missing."""
        sender = await self.connect(address)
        sender.begin(body, missing)
        return sender


@pytest.fixture
async def senders(player: Any) -> AsyncIterator[Senders]:
    """Connections to the player, closed in the end."""
    found = Senders(player.port)
    yield found
    for sender in found.all:
        sender.close()


def start(length: int = LARGE) -> bytes:
    """Returns a START of some length."""
    return b"(START other r (" + b"(f)" * (length // 3) + b") 1 1)"


async def test_oldest_silent_connections_make_room(senders: Senders, caplog: pytest.LogCaptureFixture) -> None:
    """Of more connections than there is room for, those are closed that have waited longest; one line says so."""
    silent = [await senders.connect(NEIGHBOUR) for _ in range(7)]
    for sender in silent[:3]:
        assert await sender.answer() == b""
    for sender in silent[3:]:
        sender.begin(b"(ping)")
        assert await sender.answer() == b"ready"
    assert caplog.text.count("too much memory") == 1


async def test_peers_do_not_take_each_others_room(senders: Senders) -> None:
    """A manager's message that was begun before goes on while a neighbour opens connections."""
    begun = await senders.begin(MANAGER, b"(pin", missing=2)
    for _ in range(20):
        await senders.connect(NEIGHBOUR)
    begun.send(b"g)")
    assert await begun.answer() == b"ready"


async def test_all_peers_together_have_a_bound(senders: Senders) -> None:
    """Beyond the bound of all, the oldest connection of any peer gives way, and the newest message is answered."""
    silent = [await senders.connect(f"127.0.1.{number}") for number in range(15)]
    newest = await senders.begin(MANAGER, b"(ping)")
    assert await newest.answer() == b"ready"
    assert await silent[2].answer() == b""
    silent[-1].begin(b"(ping)")
    assert await silent[-1].answer() == b"ready"


@pytest.mark.parametrize("line", [b"POST / HTTP/1.0\r\nContent-Length: 900000\r\n\r\n", b"GET /"])
async def test_slow_large_messages_give_way(senders: Senders, line: bytes) -> None:
    """Large messages that trickle in, in a body or a request line, keep no START of the same peer from being read."""
    slow = [await senders.connect(MANAGER) for _ in range(2)]
    for sender in slow:
        sender.send(line + b"(" * 40_000)
    await slow[0].answer()
    assert await (await senders.begin(MANAGER, start())).answer() == b"ready"
    assert await slow[1].answer() == b""


class Held:
    """A connection that has brought a whole message."""

    task = None
    force_close = staticmethod(lambda: None)

    def __init__(self, kilobytes: int, seconds: float, peer: str = NEIGHBOUR) -> None:
        self.size = kilobytes << 10
        self.since = asyncio.get_running_loop().time() - seconds
        self.peer = peer
        self.held = 0


@pytest.mark.parametrize("peers", [1, 9])
async def test_flood_of_the_largest_messages_drops_no_usual_one(monkeypatch: pytest.MonkeyPatch, peers: int) -> None:
    """A rulesheet that waits for the parser stays, whether the flood comes from its own address or from many."""
    monkeypatch.setattr(connections, "MOST_HELD", 8 << 20)
    monkeypatch.setattr(connections, "MOST_HELD_BY_PEER", 8 << 20)
    flooded: Any = connections.Connections()
    sheet = Held(54, seconds=5.0)
    flood = [Held(1 << 10, seconds=1.0, peer=f"{NEIGHBOUR}{number % peers or ''}") for number in range(20)]
    for one in (sheet, *flood):
        flooded.open(one)
        flooded.count(one, one.size)
    assert [one.size >> 10 for one in flooded.waiting] == [54, *[1 << 10] * 7]
    assert list(flooded.waiting)[1:] == flood[-7:]


class Parser:
    """The parser of messages, which takes its time with long ones of one match."""

    def __init__(self, slow: bytes) -> None:
        self._slow = slow
        self.busy = asyncio.Event()
        self.go_on = threading.Event()
        self._loop = asyncio.get_running_loop()
        self.lengths: list[int] = []

    def __call__(self, body: bytes) -> tuple[Message, Dialect]:
        if len(body) > 1 << 14:
            self.lengths.append(len(body))
            if self._slow in body[:20]:
                self._loop.call_soon_threadsafe(self.busy.set)
                assert self.go_on.wait(120)
        return parse(body)


async def test_known_matches_pass_long_messages_of_others(
    player: Any, senders: Senders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long PLAY of a running match is read while a START is, and others wait behind that."""
    parser = Parser(b"START")
    monkeypatch.setattr("protocol.server.parse", parser)
    first = await senders.begin(NEIGHBOUR, start())
    await parser.busy.wait()
    second = asyncio.create_task((await senders.begin(OTHER, start())).answer())
    play = b"( PLAY known ((f " + b"x " * (LARGE // 2) + b")) )"
    assert await (await senders.begin(MANAGER, play)).answer() == b"(mark 1 2)"
    assert [type(message) for message in player.messages] == [Play]
    assert len(parser.lengths) == 2
    parser.go_on.set()
    assert (await first.answer(), await second) == (b"ready", b"ready")


async def test_waiting_message_that_gives_way_is_not_read(
    player: Any, senders: Senders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long messages that wait for the parser are dropped for new ones; they are neither kept nor parsed."""
    parser = Parser(b"(START slow")
    monkeypatch.setattr("protocol.server.parse", parser)
    first = await senders.begin(OTHER, start().replace(b"other", b"slow"))
    await parser.busy.wait()
    waiting = [await senders.begin(NEIGHBOUR, start(LARGE - 300 * number)) for number in range(3)]
    assert await waiting[0].answer() == await waiting[1].answer() == b""
    parser.go_on.set()
    assert await waiting[2].answer() == await first.answer() == b"ready"
    assert len(parser.lengths) == 2
    assert [type(message) for message in player.messages] == [Start, Start]


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_network_of_one_machine_is_one_peer(address: str, peer: str) -> None:
    """Machines have as many addresses of IPv6 as they like, in one network of 64 bits."""
    assert connections.group_of(address) == peer
