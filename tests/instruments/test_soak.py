"""A short soak: a few matches, with faults, against a real server."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from agent.commands.options import OK
from tests.instruments import soak_faults
from tests.instruments.__main__ import instrument
from tests.instruments.soak import SoakReport
from tests.instruments.soak_faults import FAULTS, NEIGHBOUR, Undo
from tests.instruments.soak_server import HOOKS, proportional

QUICK = ("server killed", "worker killed", "worker segmentation fault", "journal torn", "half a message", "junk")
"""Faults that cost a turn no more than the start of a process."""


@pytest.mark.e2e
@pytest.mark.parametrize("ended", [False, True])
def test_matches_survive_faults(ended: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every match is hit by a fault, and no reply is illegal or late. Clocks are long enough for any machine, as turns
    of this game are answered as soon as they are proven. SIGTERM ends the soak with the figures of its matches."""
    if ended:
        monkeypatch.setattr("agent.console.shows_progress", lambda: bool(signal.raise_signal(signal.SIGTERM)))
    file, turns = tmp_path / "report.json", 100_000 if ended else 24
    options = f"tic_tac_toe --turns {turns} --seconds 3000 --start-clock 30 --play-clock 30 --faults 1 --seed 3".split()
    chosen = [word for fault in QUICK for word in ("--fault", fault)]
    assert instrument(["soak", *options, *chosen, "--json", str(file)]) == OK
    report = json.loads(file.read_text())
    assert report["illegal"] == report["late"] == 0, report
    assert report["matches"] >= 1
    assert sum(report["faults"].values()) >= 1
    assert report["memory"]["most"] > 1 << 20
    assert report["turns"] < 50 if ended else report["turns"] >= 24 and report["server"]


def test_faults_are_inflicted_and_mended(tmp_path: Path) -> None:
    """Each fault sets its signal, limit or file, on a process that stands in for server and worker."""
    command = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert worker.stdout is not None
    worker.stdout.readline()
    journal = tmp_path / "journal"
    journal.mkdir()
    (journal / "m.jsonl").write_text("{}\n")
    server: Any = SimpleNamespace(pid=worker.pid, workers=[worker.pid], journal=journal)

    async def inflict(name: str) -> Undo:
        return await FAULTS[name](server, Random(1)) or (lambda: None)

    async def course() -> None:
        mend = await inflict("disk full")
        assert resource.prlimit(worker.pid, resource.RLIMIT_FSIZE)[0] == 1
        mend()
        assert resource.prlimit(worker.pid, resource.RLIMIT_FSIZE) == resource.getrlimit(resource.RLIMIT_FSIZE)
        await inflict("worker out of memory")
        assert 0 < resource.prlimit(worker.pid, resource.RLIMIT_DATA)[0] < 1 << 30
        mend = await inflict("journal gone")
        assert journal.is_file()
        mend()
        await inflict("journal torn")
        assert (journal / "m.jsonl").read_text() == '{}\n{"moves": ["le'
        await inflict("worker segmentation fault")

    asyncio.run(course())
    assert worker.wait(120) == -signal.SIGSEGV
    worker.stdout.close()


def test_hostile_neighbour_comes_and_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sends large bodies and junk slowly, holds its conversations, and looks at records that it has broken."""
    heard = set[str]()

    async def get(path: str) -> None:
        heard.add(path)

    async def send_bytes(server: object, *pieces: bytes, pause: float = 0.0, wait: float = 0.0) -> None:
        words = b"".join(pieces).partition(b"\r\n\r\n")[2].decode().split(maxsplit=2)
        heard.add(" ".join(words[:2]) if wait else f"{words[0]} {sum(map(len, pieces)) >> 10} KiB")
        await asyncio.sleep(0)

    monkeypatch.setattr(soak_faults, "_send_bytes", send_bytes)
    server: Any = SimpleNamespace(url="", port=0, records=tmp_path, get=get)

    async def course() -> None:
        for _ in range(2):
            move_out = await FAULTS[NEIGHBOUR](server, Random(2))
            assert move_out is not None
            assert await FAULTS[NEIGHBOUR](server, Random(2)) is None
            async with asyncio.timeout(60):
                while len(heard) < 14:
                    await asyncio.sleep(0.01)
            move_out()

    asyncio.run(course())
    assert heard >= {"(START million", "(START held-1", "/page/matches", "(PLAY 1024 KiB", "junk 17 KiB"}
    assert list(tmp_path.glob("broken-*.json"))


def test_processes_of_a_server_hang_and_jump_on_request(tmp_path: Path) -> None:
    """The hooks make processes hang, and the time of day jump."""
    (tmp_path / "sitecustomize.py").write_text(HOOKS)
    code = (
        "import os, signal, time; real = time.time; moved = [];"
        " [(os.kill(os.getpid(), signal.SIGUSR2), moved.append(round((time.time() - real()) / 3600))) for _ in 'abc'];"
        " print(moved, flush=True); os.kill(os.getpid(), signal.SIGUSR1); print('goes on', flush=True)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"[1, -1, 0]\n"
        child.kill()
        assert child.stdout.read() == b""


def test_figures_of_a_report() -> None:
    """The figures have quantiles of lateness and the longest outage."""
    figures = SoakReport(lateness=[0.3, 0.1, 0.2, 0.4], outages=[0.5, 0.25], memory=[10, 14, 12]).as_json()
    assert figures["lateness"] == {"median": 0.3, "99%": 0.4, "99.9%": 0.4, "max": 0.4}
    assert figures["outages"] == {"count": 2, "longest": 0.5}
    assert figures["memory"] == {"first": 10, "last": 12, "most": 14}
    assert SoakReport().as_json()["memory"] is None
    assert proportional(os.getpid()) > 1 << 20
