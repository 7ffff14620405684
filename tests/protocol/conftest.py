"""Fixtures of the protocol's tests: a served player, requests spelled byte for byte, recorded conversations."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web

from protocol.kif import read_rulesheet
from protocol.messages import Abort, Aborted, Done, Info, Message, MoveReply, Play, Ready, Reply, Status, Stop
from protocol.server import Received, make_app, make_runner
from protocol.terms import Term

MAX_BODY = 6 << 20

ORIGIN = "https://gamemaster.example"
"""Origin of a manager that is a page, which the served player answers."""


@dataclass(frozen=True)
class HttpReply:
    """A reply taken apart: status line, headers (names in lower case) and body."""

    status: str
    headers: dict[str, str]
    body: bytes


async def textbook(message: Message) -> Reply:
    """What every player answers."""
    match message:
        case Info():
            return Status("Test")
        case Play():
            return MoveReply(("mark", "1", "2"))
        case Stop():
            return Done()
        case Abort():
            return Aborted()
        case _:
            return Ready()


class ServedPlayer:
    """A player behind a real port, which keeps what it receives; `answer` makes its replies."""

    port: int

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.received: list[Received] = []
        self.answer: Callable[[Message], Awaitable[Reply]] = textbook

    async def handle(self, message: Message, received: Received) -> Reply:
        self.messages.append(message)
        self.received.append(received)
        return await self.answer(message)

    async def send(self, request: bytes) -> HttpReply:
        """Send bytes as they are and read to the end of the stream, which the server has to close."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            data = await asyncio.wait_for(reader.read(), 120)
        finally:
            writer.close()
        head, _, body = data.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        return HttpReply(status, {name.lower(): value for name, value in headers.items()}, body)

    async def post(self, body: bytes, *headers: str, version: str = "1.0", path: str = "/") -> HttpReply:
        """POST as the Java managers do: no Host, a Content-Length."""
        lines = (f"POST {path} HTTP/{version}", *headers, f"Content-Length: {len(body)}", "", "")
        return await self.send("\r\n".join(lines).encode() + body)


@pytest.fixture
async def player() -> AsyncIterator[ServedPlayer]:
    """A player that is being served."""
    served = ServedPlayer()
    runner = make_runner(make_app(served.handle, max_body=MAX_BODY, origins=[ORIGIN], knows="known".__eq__))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    served.port = runner.addresses[0][1]
    yield served
    await runner.cleanup()


@dataclass(frozen=True)
class Sheet:
    """A rulesheet of the corpus: its text, and the rules read from it."""

    name: str
    text: bytes
    rules: tuple[Term, ...]


@pytest.fixture(scope="session")
def sheets(corpus: Path) -> list[Sheet]:
    """A fifth of the rulesheets of the corpus."""
    files = sorted(corpus.glob("*.kif"))[::5]
    return [Sheet(file.name, text := file.read_bytes(), read_rulesheet(text)) for file in files]


@dataclass(frozen=True)
class Recorded:
    """One request of a recorded conversation: the file, the message's name and the bytes."""

    source: str
    kind: str
    request: bytes

    @property
    def body(self) -> bytes:
        return self.request.partition(b"\r\n\r\n")[2]


def recorded_requests(folder: Path) -> list[Recorded]:
    """All requests of the recorded conversations in a folder, byte for byte."""
    requests = []
    for file in sorted(folder.glob("*.txt")):
        for block in re.split(r"^### ", file.read_bytes().decode("latin-1"), flags=re.MULTILINE):
            title, _, text = block.partition("\n")
            found = re.fullmatch(r"\+[\d.]+ conn\d+ REQUEST (\w+) #\d+.*", title)
            if found:
                head, _, body = text.replace("\\r\n", "\r\n").partition("\r\n\r\n")
                request = f"{head}\r\n\r\n{body.rstrip(chr(10))}"
                requests.append(Recorded(file.stem, found[1], request.encode("latin-1")))
    return requests


@pytest.fixture(scope="session")
def recorded(wire: Path) -> list[Recorded]:
    """All requests of the recorded conversations."""
    return recorded_requests(wire)
