"""A short soak: a few matches, with faults, against a real server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from subprocess import PIPE
from types import SimpleNamespace

import pytest

from agent.sheet import load
from games.gdl.interpreter.machine import Interpreter
from protocol.compose import Style, compose
from protocol.messages import Play, parse
from protocol.terms import fold_keywords
from tests.instruments.soak import SoakMatch, SoakOptions, SoakReport, soak
from tests.instruments.soak_faults import FAULTS, NEIGHBOUR, SLOW_BODIES, Undo
from tests.instruments.soak_server import HOOKS, SoakServer, proportional
from tests.ports import refusing_port

QUICK = ("server killed", "worker killed", "worker segmentation fault", "journal torn", "half a message", "junk")
"""Faults that cost a turn no more than the start of a process."""


@pytest.mark.e2e
def test_matches_survive_faults() -> None:
    """Every match is hit by a fault; no move is illegal. Clocks are long enough for any machine, as turns of this game
    are answered as soon as they are proven."""
    heard: list[int] = []
    options = SoakOptions(
        games=("tic_tac_toe",),
        turns=24,
        seconds=3000.0,
        at_once=2,
        start_clock=30,
        play_clock=30,
        faults=1.0,
        faults_of=QUICK,
        seed=3,
    )
    report = soak(options, lambda report: heard.append(report.matches))
    assert report.turns >= 24
    assert report.illegal == 0, report.illegal_moves
    assert report.late == 0
    assert report.faults
    assert heard
    assert json.loads(json.dumps(report.as_json()))["turns"] == report.turns


@pytest.mark.e2e
def test_soak_that_is_ended_reports_what_it_has() -> None:
    """SIGTERM ends the soak after the current turn, with its figures; the handler is restored."""
    before = signal.getsignal(signal.SIGTERM)
    options = SoakOptions(("tic_tac_toe",), turns=100_000, seconds=3000.0, at_once=1, start_clock=30, play_clock=30)
    report = soak(options, lambda report: signal.raise_signal(signal.SIGTERM))
    assert report.matches >= 1
    assert 0 < report.turns < 100
    assert signal.getsignal(signal.SIGTERM) is before


def test_faults_are_inflicted_and_mended(tmp_path: Path) -> None:
    """Each fault sets its signal, limit or file, on a process that stands in for server and worker."""
    worker = subprocess.Popen([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"], stdout=PIPE)
    assert worker.stdout is not None
    worker.stdout.readline()
    journal = tmp_path / "journal"
    journal.mkdir()
    (journal / "m.jsonl").write_text("{}\n")
    server = SimpleNamespace(pid=worker.pid, workers=[worker.pid], journal=journal, port=0)
    rng = Random(1)

    async def inflict(name: str) -> Undo | None:
        return await FAULTS[name].inflict(server, rng)  # type: ignore[arg-type]

    async def course() -> None:
        mend = await inflict("disk full")
        assert resource.prlimit(worker.pid, resource.RLIMIT_FSIZE)[0] == 1
        assert mend is not None
        mend()
        assert resource.prlimit(worker.pid, resource.RLIMIT_FSIZE) == resource.getrlimit(resource.RLIMIT_FSIZE)
        await inflict("worker out of memory")
        assert 0 < resource.prlimit(worker.pid, resource.RLIMIT_DATA)[0] < 1 << 30
        mend = await inflict("journal gone")
        assert journal.is_file()
        assert await inflict("journal gone") is None
        assert mend is not None
        mend()
        await inflict("journal torn")
        assert (journal / "m.jsonl").read_text() == '{}\n{"moves": ["le'
        # Nobody listens: whoever sends half a message does not care.
        await inflict("half a message")
        await inflict("junk")
        await inflict("worker segmentation fault")

    with refusing_port() as port:
        server.port = port
        asyncio.run(course())
    assert worker.wait(120) == -signal.SIGSEGV
    worker.stdout.close()


def test_hostile_neighbour_comes_and_goes(tmp_path: Path) -> None:
    """It sends large bodies slowly, matches with turn numbers far ahead, and looks at records that it has broken."""
    server = SoakServer.__new__(SoakServer)
    server.records = tmp_path
    heads: Counter[str] = Counter()
    open_connections = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal open_connections
        open_connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            text = await reader.readuntil(b"\r\n\r\n")
            large = b"Length: 1048576" in text
            if not large and b"GET" not in text:
                text += await reader.read(1000)
            known = re.findall(rb"Length: 1048576|GET \S+|(?:START|PLAY|STOP|ABORT)(?= hostile)|999999999", text)
            heads.update(found.decode() for found in known)
            while large and await reader.read(1 << 16):
                pass
            writer.write(b"HTTP/1.0 200 OK\r\n\r\n{}")
        writer.close()
        open_connections -= 1

    async def course() -> None:
        listener = await asyncio.start_server(answer, "127.0.0.1", 0)
        server.port = listener.sockets[0].getsockname()[1]
        fault = FAULTS[NEIGHBOUR]
        move_out = await fault.inflict(server, Random(2))
        assert move_out is not None
        assert await fault.inflict(server, Random(2)) is None
        wanted = {"GET /page/matches", "START", "PLAY", "STOP", "ABORT", "999999999"}
        while not (wanted <= heads.keys() and heads["Length: 1048576"] >= SLOW_BODIES):
            await asyncio.sleep(0.01)
        assert list(tmp_path.glob("broken-*.json"))
        move_out()
        while open_connections:
            await asyncio.sleep(0.01)
        second = await fault.inflict(server, Random(2))
        assert second is not None
        second()
        await asyncio.sleep(0)
        listener.close()

    asyncio.run(course())


def test_processes_of_a_server_hang_and_jump_on_request(tmp_path: Path) -> None:
    """The hooks make processes hang, and the time of day jump."""
    (tmp_path / "sitecustomize.py").write_text(HOOKS)
    code = (
        "import os, signal, time; real = time.time; moved = [];"
        " [(os.kill(os.getpid(), signal.SIGUSR2), moved.append(round((time.time() - real()) / 3600))) for _ in 'abc'];"
        " print(moved, flush=True); os.kill(os.getpid(), signal.SIGUSR1); print('goes on', flush=True)"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=PIPE, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert child.stdout is not None
    assert child.stdout.readline() == b"[1, -1, 0]\n"
    child.kill()
    assert child.stdout.read() == b""
    child.wait()
    child.stdout.close()


def test_managers_play_as_theirs_do() -> None:
    """ggp-base's manager replaces an illegal move by a random one, Dresden's by the first; both scramble."""
    sheet = load("tic_tac_toe")
    styles: tuple[Style, ...] = ("ggp-base", "dresden")
    for style in styles:
        for seed in range(6):
            match = SoakMatch("m", style, Interpreter(sheet.checked), sheet.rulesheet, Random(seed))
            start = match.start(30, 15)
            read, _ = parse(compose(start, style))
            assert read == replace(start, rules=fold_keywords(start.rules))
            assert match.message(Play) == Play("m", None)
            assert match.read("((") is None
            assert match.read("(no such move)") is None
            first = [match.machine.legal(match.state, role)[0] for role in range(2)]
            match.advance(None)
            message = match.message(Play)
            assert isinstance(message, Play)
            assert message.moves is not None
            assert len(message.moves) == 2
            if style == "dresden":
                assert match._last is not None
                assert match._last[match._role] == first[match._role]


def test_figures_of_a_report() -> None:
    """The figures have quantiles of lateness and the longest outage."""
    report = SoakReport(turns=4, lateness=[0.3, 0.1, 0.2, 0.4], outages=[0.5, 0.25], memory=[10, 14, 12], together=20)
    figures = report.as_json()
    assert figures["lateness"] == {"median": 0.3, "99%": 0.4, "99.9%": 0.4, "max": 0.4}
    assert figures["outages"] == {"count": 2, "longest": 0.5}
    assert figures["memory"] == {"first": 10, "last": 12, "most": 14}
    assert figures["together"] == {"most": 20, "bound": 0, "processes": 0}
    assert SoakReport().as_json()["memory"] is None
    assert proportional(os.getpid()) > 1 << 20
