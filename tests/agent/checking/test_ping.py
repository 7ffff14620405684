"""`ggp-agent ping` against good and bad players, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agent.checking import ping as ping_module
from agent.checking import ping_wire
from agent.checking.ping import PingReport, ping
from agent.cli import main
from agent.commands.options import DIFFERENT, WRONG_INPUT
from agent.sheet import load
from games.gdl.interpreter.machine import Interpreter
from protocol.scramble import make_scrambler
from tests.agent.house_players import house_player


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets bounds that no slow machine exceeds."""
    for name in ("INFO_SECONDS", "PATIENCE", "START_CLOCK", "PLAY_CLOCK"):
        monkeypatch.setattr(ping_module, name, 600)
    monkeypatch.setattr(ping_module, "SLOW_MILLISECONDS", 1e9)
    monkeypatch.setattr(ping_wire, "PATIENCE", 600.0)
    monkeypatch.setattr(ping_wire, "CLOSING_SECONDS", 600.0)


Answer = Callable[[bytes], bytes]
"""Maps a request with its headers to the bytes of the reply."""


@contextlib.asynccontextmanager
async def served(answer: Answer, *, close: bool = True) -> AsyncIterator[str]:
    """Serves answers; yields the address. Connections stay open where `close` is False."""
    done = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.partition(b":")[2]) for line in request.lower().splitlines() if line.startswith(b"content-length")
        )
        writer.write(answer(request + await reader.readexactly(length)))
        await writer.drain()
        if not close:
            await done.wait()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        done.set()
        server.close()
        await server.wait_closed()


def reply(text: str, *headers: str, status: str = "200 OK") -> bytes:
    """Returns a reply with a length."""
    lines = [f"HTTP/1.0 {status}", f"Content-Length: {len(text)}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n" + text).encode()


def levels(report: PingReport) -> dict[str, str]:
    """Returns the worst finding about each subject."""
    found: dict[str, str] = {}
    for finding in report.findings:
        if found.get(finding.about) != "problem":
            found[finding.about] = finding.level
    return found


async def test_house_player_is_well() -> None:
    """A good player, match included, gets no advice, but that pages in a browser have to be named."""
    machine = Interpreter(load("tic_tac_toe").checked)
    async with house_player("legal", machine, make_scrambler("none"), 0) as url:
        report = await ping(url, round_trips=3, play=True)
    assert report.well
    (about_browsers,) = (finding for finding in report.findings if finding.level != "good" or finding.advice)
    assert (about_browsers.about, about_browsers.level) == ("CORS", "note")
    assert "--browser ORIGIN" in about_browsers.advice
    assert len(report.milliseconds) == 3
    assert {"reachable", "HTTP", "INFO", "latency", "framing", "connection", "CORS", "infix", "START"} <= set(
        levels(report)
    )
    assert levels(report)["turn 4"] == "good"


async def test_atom_without_cors_is_enough_for_most() -> None:
    """The oldest form of player gets notes, but no problem."""
    async with served(lambda request: reply("available")) as url:
        report = await ping(url, round_trips=1)
    assert report.well
    assert levels(report)["INFO"] == "good"
    assert levels(report)["CORS"] == "note"


async def test_connection_that_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """An open connection is a problem: one manager takes the reply for late."""
    monkeypatch.setattr(ping_wire, "CLOSING_SECONDS", 0.05)
    async with served(lambda request: reply("available"), close=False) as url:
        report = await ping(url, round_trips=1)
    assert not report.well
    assert levels(report)["connection"] == "problem"


async def test_chunks() -> None:
    """A chunked reply is a problem: most managers cannot read it."""
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\navailable\r\n0\r\n\r\n"
    async with served(lambda request: chunked) as url:
        report = await ping(url, round_trips=1)
    assert levels(report)["framing"] == "problem"


async def test_reply_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply with neither a length nor an end of the connection is a problem."""
    monkeypatch.setattr(ping_module, "PATIENCE", 0.05)
    async with served(lambda request: b"HTTP/1.0 200 OK\r\n\r\navailable", close=False) as url:
        report = await ping(url, round_trips=1)
    # On a machine so busy that not even the header came in time, it is as good as silent.
    assert levels(report) == {"reachable": "problem"}


@pytest.mark.parametrize(
    ("answer", "about", "level", "advice"),
    [
        (reply("busy"), "INFO", "note", "wait until it has finished"),
        (reply("((name X) (status busy))"), "INFO", "note", "wait until it has finished"),
        (reply("((("), "INFO", "problem", "available"),
        (reply("((name X))"), "INFO", "note", "status"),
        (reply("no", status="403 Forbidden"), "HTTP", "problem", "--allow"),
        (reply("no", status="404 Not Found"), "HTTP", "problem", "address"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "reachable", "problem", "something else"),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\navail", "reachable", "problem", "log"),
        (b"", "reachable", "problem", "log"),
    ],
)
async def test_what_is_wrong_comes_with_advice(answer: bytes, about: str, level: str, advice: str) -> None:
    """Each defect has its level and its advice."""
    async with served(lambda request: answer) as url:
        report = await ping(url, round_trips=1)
    assert levels(report)[about] == level
    assert report.well == (level != "problem")
    assert any(advice in finding.advice for finding in report.findings if finding.about == about)


async def test_illegal_move_is_noticed() -> None:
    """An illegal move is a problem, and the match goes on."""

    def answer(request: bytes) -> bytes:
        return reply("(mark 9 9)" if b"PLAY" in request else "ready" if b"START" in request else "available")

    async with served(answer) as url:
        report = await ping(url, round_trips=1, play=True)
    assert levels(report)["turn 1"] == levels(report)["turn 4"] == "problem"
    assert levels(report)["START"] == "good"


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unreachable player has advice and exit status 1; a wrong address is wrong input."""
    with socket.socket() as silent:
        # Taken, so that nobody else can listen there meanwhile.
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert main(["ping", address, "--json", str(tmp_path / "ping.json")]) == DIFFERENT
    shown = capsys.readouterr().out
    assert f"nothing listens on {address}" in shown
    assert "start the player" in shown
    data = json.loads((tmp_path / "ping.json").read_text())
    assert data["url"] == f"http://{address}"
    assert not data["well"]
    assert data["findings"][0]["level"] == "problem"
    assert main(["ping", "ftp://host"]) == WRONG_INPUT
    assert "one looks like http://localhost:9147" in capsys.readouterr().err
