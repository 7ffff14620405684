"""The program in folders, as users and with streams that are not its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from agent.cli import REQUIRED, main
from agent.commands.options import INTERRUPTED, OK, UNREAD, WRONG_INPUT
from agent.kernels.progress import prepare
from agent.record.match import MatchRecord
from agent.refereeing.hosting import Printer
from agent.search.kernel_groups import playing
from games.child_process import module_environment
from games.kernel_cache import cache_folder
from tests.agent.surroundings import (
    ROOT,
    STRANGER,
    as_stranger,
    environment,
    folder_for_all,
    give_to_stranger,
    installed,
    trapped,
)
from tests.processes import PATIENCE, until

MATCH = ("match", "tic_tac_toe", "--players", "agent,random", "--play-clock", "1", "--start-clock", "2")
TOURNAMENT = ("tournament", "tic_tac_toe", "--players", "legal,random", "--rounds", "1", "--jobs", "1")


def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end."""
    return subprocess.run(command, text=True, timeout=2 * PATIENCE, check=False, **options)


# ----------------------------------------------------------------------------------------------------- current folder


@pytest.mark.e2e
@pytest.mark.parametrize("command", [MATCH, TOURNAMENT], ids=["match", "tournament"])
def test_nothing_of_the_current_folder_is_imported(command: tuple[str, ...], tmp_path: Path) -> None:
    """No process imports an `agent.py` or `random.py` of the user's, whichever way it is started."""
    (tmp_path / "bin").mkdir()
    fallen = trapped(tmp_path)
    assert run([installed(tmp_path / "bin"), *command], cwd=tmp_path, env=environment()).returncode == OK
    assert not fallen.exists()


def test_children_do_without_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty part of `PYTHONPATH`, which stands for the current folder, is not passed on."""
    monkeypatch.setenv("PYTHONPATH", ":/one::/two:")
    children = module_environment()
    assert children["PYTHONPATH"] == f"{ROOT}:/one:/two"
    assert children["PYTHONSAFEPATH"] == "1"


# -------------------------------------------------------------------------------------------------------- other users


@pytest.mark.parametrize("home", [None, "", "relative", "/root"])
def test_help_needs_no_home(home: str | None) -> None:
    """A user without an entry and without a home of its own is helped like any other."""
    with folder_for_all() as folder:
        changed = {"HOME": home, "NUMBA_CACHE_DIR": None, "TMPDIR": str(folder)}
        command = [*as_stranger(), sys.executable, "-m", "agent.cli", "--help"]
        result = run(command, cwd=ROOT, env=environment(**changed), capture_output=True)
    assert (result.returncode, result.stderr) == (OK, "")


@pytest.mark.e2e
def test_server_of_a_user_who_can_write_nothing_becomes_available() -> None:
    """Kernels are kept among temporary files, one line says so, and the page for machines finds nothing wrong."""
    prepare(playing()).close()
    with folder_for_all() as folder:
        result, journal, log = folder / "serve.json", folder / "journal", folder / "log"
        kernels = folder / f"ggp-agent-{STRANGER}"
        shutil.copytree(cache_folder(), kernels / cache_folder().name)
        give_to_stranger(kernels)
        fallen = trapped(folder)
        (folder / "bin").mkdir()
        program = installed(folder / "bin")
        changed = {"HOME": None, "NUMBA_CACHE_DIR": "/root/kernels", "TMPDIR": str(folder), "XDG_STATE_HOME": None}
        command = [*as_stranger(), program, "serve", "--port", "0", "--journal", str(journal), "--json", str(result)]
        with (
            open(log, "wb") as file,
            subprocess.Popen(command, cwd=folder, env=environment(**changed), stderr=file) as server,
        ):
            until(lambda: result.exists() and result.read_text().endswith("}\n"), log.read_text)
            page = f"http://localhost:{json.loads(result.read_text())['port']}/healthz"
            health: dict[str, Any] = {}

            def is_available() -> bool:
                health.update(json.load(urllib.request.urlopen(page, timeout=PATIENCE)))
                return bool(health["available"])

            until(is_available, log.read_text, 0.1)
            server.terminate()
        assert (health["status"], health["problems"]) == ("ok", [])
        assert log.read_text().count("cannot be written by this user alone: compiled kernels are kept in") == 1
        assert "compiling" not in log.read_text()
        assert not fallen.exists()


# ------------------------------------------------------------------------------------------------------------ streams


@pytest.mark.e2e
@pytest.mark.parametrize(
    "command",
    [
        ("match", "tic_tac_toe", "--players", "random,legal"),
        TOURNAMENT,
        ("lab", "bench", "tic_tac_toe", "--seconds", "0.1"),
        ("lab", "conform", str(ROOT / "games" / "rulesheets")),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_command_ends_quietly_when_nobody_reads_on(command: tuple[str, ...]) -> None:
    """`| head` ends a command without a traceback, with the status of a broken pipe."""
    prepare(playing()).close()
    process = subprocess.Popen(
        [sys.executable, "-m", "agent.cli", *command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    told = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(PATIENCE) == UNREAD
    assert "Traceback" not in told
    assert "BrokenPipe" not in told


def test_match_that_nobody_watches_on_leaves_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was played until nobody read on is in the record."""

    def cut_off(self: Printer, record: MatchRecord) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(Printer, "stepped", cut_off)
    record = tmp_path / "record.json"
    assert main(["match", "tic_tac_toe", "--players", "legal,legal", "--record", str(record)]) == INTERRUPTED
    assert len(json.loads(record.read_text())["moves"]) == 1


@pytest.mark.parametrize(
    ("command", "closed"),
    [(("--help",), (0,)), (("--help",), (1,)), (("--help",), (2,)), (("validate", "tic_tac_toe"), (0, 1, 2))],
)
def test_streams_may_be_closed(command: tuple[str, ...], closed: tuple[int, ...], tmp_path: Path) -> None:
    """A command that is started without some of its streams does its work, and writes to no other file instead."""
    streams = [f"{number}>&-" for number in closed]
    line = " ".join(["exec", sys.executable, "-m", "agent.cli", *command, *streams])
    result = run(["sh", "-c", line], cwd=ROOT, capture_output=True)
    assert result.returncode == OK
    assert result.stderr == ""
    assert bool(result.stdout) == (1 not in closed)


@pytest.mark.e2e
def test_server_needs_no_streams(tmp_path: Path) -> None:
    """Supervisor, server and workers run where all streams are closed, as some service managers leave them."""
    result = tmp_path / "serve.json"
    line = f"exec {sys.executable} -m agent.cli serve --host 127.0.0.1 --port 0 --json {result} 0<&- 1>&- 2>&-"
    with subprocess.Popen(["sh", "-c", line], cwd=ROOT) as server:
        until(lambda: result.exists() and result.read_text().endswith("}\n"))
        page = f"http://127.0.0.1:{json.loads(result.read_text())['port']}/healthz"
        until(lambda: json.load(urllib.request.urlopen(page, timeout=PATIENCE))["available"], pause=0.1)
        server.terminate()
    assert server.returncode == OK


def test_rulesheet_comes_from_a_pipe(tmp_path: Path) -> None:
    """A pipe is read once, by whichever part of a command wants its rules first."""
    result = tmp_path / "bench.json"
    ours, theirs = os.pipe()
    os.write(theirs, (ROOT / "games" / "rulesheets" / "tic_tac_toe.kif").read_bytes())
    os.close(theirs)
    assert main(["lab", "bench", f"/dev/fd/{ours}", "--seconds", "0", "--json", str(result)]) == OK
    os.close(ours)
    assert json.loads(result.read_text())["rows"]


# ---------------------------------------------------------------------------------------------------------- elsewhere


def test_other_systems_are_told_in_a_sentence() -> None:
    """Without Linux, the program says so, whatever else it would have lacked."""
    code = "import sys; sys.platform = 'darwin'; import agent.cli"
    result = run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
    assert (result.returncode, result.stderr) == (1, "ggp-agent runs on Linux only, and this is darwin\n")


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A Python without one of the packages of others is told before anything fails for want of it."""
    monkeypatch.setitem(sys.modules, "clingo", None)
    assert main(["validate", "tic_tac_toe"]) == WRONG_INPUT
    assert "lacks clingo: install" in capsys.readouterr().err


def test_packages_and_versions_are_those_of_the_project() -> None:
    """All dependencies are looked for, and the classifiers name the versions of Python that pip takes."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [name.partition(">")[0].replace("-", "_") for name in project["dependencies"]] == list(REQUIRED)
    least, most = (int(bound.rpartition(".")[2]) for bound in project["requires-python"].split(","))
    named = [text.rpartition("3.")[2] for text in project["classifiers"] if "Python :: 3." in text]
    assert named == list(map(str, range(least, most)))
