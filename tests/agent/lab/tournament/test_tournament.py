"""Whole tournaments: resumed, killed, with engines and players over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from agent.cli import main
from agent.commands.options import DIFFERENT, INTERRUPTED, OK, WRONG_INPUT
from agent.errors import InputError
from agent.json_lines import read_lines
from agent.lab.commands import tournament as command_module
from agent.lab.jobs.inline import InlineExecutor
from agent.lab.tournament.log import MatchLog
from agent.lab.tournament.results import MatchResult, read_result
from agent.sheet import load
from games import rulesheets
from tests.agent.commands import INLINE_TOURNAMENT, start_command
from tests.agent.lab.jobs.losing import Loser
from tests.agent.lab.tournament.played import SETTINGS, play
from tests.agent.lab.tournament.played import tournament as run_series
from tests.agent.terminal import shown_on_a_terminal
from tests.ports import refusing_port
from tests.processes import children_of, runs, until

ROOT = Path(__file__).resolve().parents[4]

RACE = """
(role {first}) (role {second})
(init (at {first} 0)) (init (at {second} 0)) (init (ply 0))
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (succ 7 8)
(<= (legal ?r (step ?n)) (role ?r) (size ?n))
(size 0) (size 1)
(<= (next (at ?r ?x)) (does ?r (step 0)) (true (at ?r ?x)))
(<= (next (at ?r ?y)) (does ?r (step 1)) (true (at ?r ?x)) (succ ?x ?y))
(<= (next (ply ?m)) (true (ply ?n)) (succ ?n ?m))
(<= terminal (true (ply {plies})))
(<= (goal ?r 100) (true (at ?r ?x)) (true (at ?s ?y)) (distinct ?r ?s) (ahead ?x ?y))
(<= (goal ?r 50) (true (at ?r ?x)) (true (at ?s ?x)) (distinct ?r ?s))
(<= (goal ?r 0) (true (at ?r ?x)) (true (at ?s ?y)) (distinct ?r ?s) (ahead ?y ?x))
(<= (ahead ?x ?y) (succ ?y ?x))
(<= (ahead ?x ?y) (succ ?z ?x) (ahead ?z ?y))
"""
"""Both step at once, by 0 or 1; the one further ahead at the end wins."""


@pytest.fixture
def games(tmp_path: Path) -> list[str]:
    """Two small rulesheets."""
    files = []
    for plies in (3, 6):
        file = tmp_path / f"race_{plies}.kif"
        file.write_text(RACE.format(first=f"first{plies}", second=f"second{plies}", plies=plies))
        files.append(str(file))
    return files


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands play their matches in this process; another one takes seconds to start."""
    monkeypatch.setattr(command_module, "executor", lambda *_: InlineExecutor())


@pytest.mark.e2e
@pytest.mark.usefixtures("inline")
def test_killed_and_resumed_it_has_the_table_of_an_uninterrupted_one(tmp_path: Path, games: list[str]) -> None:
    """A tournament that was killed, with half a line in its log, ends with the same table; its workers end with it."""
    command = ["tournament", *games, "--players", "random:1,legal", "--rounds", "4", "--opening", "1", "--seed", "5"]
    whole, resumed, log = tmp_path / "whole.json", tmp_path / "resumed.json", tmp_path / "log"
    assert main([*command, "--json", str(whole)]) == OK

    process = subprocess.Popen(
        [sys.executable, "-m", "agent.cli", *command, "--jobs", "1", "--log", str(log)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    with process.stderr:
        until(lambda: process.poll() is not None or (log.exists() and log.read_bytes().count(b"\n") >= 4))
        assert process.poll() in (None, OK), process.stderr.read().decode()
        children = children_of(process.pid)
        process.kill()
        process.wait(120)
        assert b"Traceback" not in process.stderr.read()
    until(lambda: not any(map(runs, children)))
    before = log.read_text().splitlines(keepends=True)
    # Had it been so quick as to play on to its end, this would still be the middle.
    before = before[:12]
    log.write_text("".join(before[:-1]) + before[-1][:50])

    assert main([*command, "--log", str(log), "--json", str(resumed)]) == OK
    assert json.loads(resumed.read_text()) == json.loads(whole.read_text())
    after = log.read_text().splitlines(keepends=True)
    # Nothing is played again.
    assert after[: len(before) - 1] == before[:-1]
    pairings = [(row["game"], row["round"], *row["seats"]) for row in map(json.loads, after)]
    assert len(pairings) == len(set(pairings)) == 16


def test_rounds_players_and_games_may_be_added(tmp_path: Path, games: list[str]) -> None:
    """A log counts for a larger tournament, and for a smaller one."""
    log = tmp_path / "log"

    def run(players: list[str], games: list[str], rounds: int) -> int:
        return len(run_series(players, games, rounds=rounds, log=log).results)

    assert run(["random", "legal"], games[:1], 1) == 2
    assert run(["random", "legal", "x=random:4"], games[:2], 2) == 24
    assert len(log.read_text().splitlines()) == 24
    assert run(["random", "legal"], games[1:2], 1) == 2
    assert len(log.read_text().splitlines()) == 24
    with pytest.raises(InputError, match="random was random there, and is legal now"):
        run(["legal", "random=legal"], games[:1], 1)
    Path(games[0]).write_text(Path(games[0]).read_text() + "; changed\n")
    with pytest.raises(InputError, match="the rules of race_3 have changed"):
        run(["random", "legal"], games[:1], 1)


def test_match_that_is_lost_twice_is_missing_from_the_table(tmp_path: Path, games: list[str]) -> None:
    """The table counts the lost match; the same tournament with the same log plays it."""
    log = tmp_path / "log"
    standings = run_series(["random", "legal"], games, executor=Loser(), log=log)
    assert (len(standings.results), standings.lost) == (3, 1)
    assert standings.as_json(SETTINGS, 1)["matches_lost"] == 1
    standings = run_series(["random", "legal"], games, log=log)
    assert (len(standings.results), standings.lost) == (4, 0)


def test_matches_of_a_round_share_their_opening(games: list[str]) -> None:
    """Matches of a round have one opening; other rounds have others."""
    found = run_series(["random", "legal"], games[1:], replace(SETTINGS, opening_plies=2), rounds=5).results
    openings = {(result.round, str(result.opening)) for result in found}
    assert len(openings) == 5
    assert len({opening for _, opening in openings}) > 1
    assert {len(result.opening) for result in found} == {2}


@pytest.mark.e2e
def test_engines_and_players_over_http_mix() -> None:
    """Engines play agents over HTTP."""
    result = play(load("tic_tac_toe"), "agent", "montecarlo@0.01")
    assert result.outcome == "finished"
    assert result.errors == []
    assert result.goals[0] is not None
    assert result.goals[0] >= 50


def test_missing_player_is_unreachable() -> None:
    """A player that is gone loses no match: its errors are counted."""
    with refusing_port() as port:
        result = play(load("tic_tac_toe"), "montecarlo@0.01", f"gone=http://127.0.0.1:{port}")
    assert result.outcome == "finished"
    assert {(error["seat"], error["kind"]) for error in result.errors} == {(1, "unreachable")}


def test_agents_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    """A killed tournament leaves no agent behind."""
    script = (
        "from agent.refereeing.agent_process import AgentProcess\n"
        "import time\n"
        "agent = AgentProcess()\n"
        "print(agent._process.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        agent = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    process.wait(120)
    until(lambda: not runs(agent))


@pytest.mark.usefixtures("inline")
def test_match_without_a_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A match that stalls is counted apart, and has its own exit status."""
    file = tmp_path / "dead_end.kif"
    file.write_text(
        "(role a) (init (f 1)) (<= (legal a go) (true (f 1))) (<= (next (f 2)) (does a go))\n"
        "(<= terminal (true (f 3))) (goal a 0)"
    )
    assert main(["tournament", str(file), "--players", "legal", "--jobs", "1"]) == DIFFERENT
    assert "1 matches have no result" in capsys.readouterr().out


def test_bar_and_table_on_a_terminal(games: list[str]) -> None:
    """A terminal shows progress, time left, each match, and a table with lines."""
    shown = shown_on_a_terminal("-c", INLINE_TOURNAMENT + "sys.exit(status)", games[0], "--players", "random,legal")
    assert " left" in shown
    assert "2/2" in shown
    assert "race_3, round 1: first3 random" in shown
    assert "───" in shown


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ("--players robot,legal", "robot: a player is"),
        ("--jobs 100000", "cores are wanted"),
        ("tic_tac_toe", "same name"),
        ("--players legal,gone={gone}", "gone: no player answers at {gone}"),
        ("--log {notes}", "not a log"),
        ("--log {log} --seed 7", "a log of another series, seed is 0 instead of 7"),
        ("--players native@0.1,legal --jobs 1", "native@0.1, tic_tac_toe: the native engine does not play this game"),
        ("--players native+1@0.1,legal --jobs 1", "the native engine searches without helpers"),
    ],
)
def test_wrong_input(
    more: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    """Unknown and missing players, games of one name, too many cores and other files; files stay as they are."""
    if "native" in more:
        request.getfixturevalue("inline")
    names = {"notes": str(tmp_path / "notes"), "log": str(tmp_path / "log")}
    (tmp_path / "notes").write_text("notes\n")
    settings = replace(SETTINGS, seed=0, opening_plies=0, start_clock=30, play_clock=5)
    row = MatchResult("tic_tac_toe", 1, ["a"], ["a"], "", ["a"], "stalled", [], [], [], [], 1.0)
    MatchLog(tmp_path / "log", settings.as_json(), read_result).append(asdict(row))
    before = [path.read_text() for path in sorted(tmp_path.iterdir())]
    with refusing_port() as port:
        names["gone"] = f"http://127.0.0.1:{port}"
        command = ["tournament", "--players", "random,legal", "tic_tac_toe", *more.format_map(names).split()]
        assert main(command) == WRONG_INPUT
    assert error.format_map(names) in capsys.readouterr().err
    assert [path.read_text() for path in sorted(tmp_path.iterdir())] == before


DAMAGES: dict[str, tuple[Callable[[list[bytes]], bytes], str]] = {
    "zeros at the end": (lambda lines: b"".join(lines) + bytes(200), ""),
    "half a line, and zeros": (lambda lines: b"".join(lines) + lines[1][:40] + bytes(9), ""),
    "no last line break": (lambda lines: b"".join(lines)[:-1], ""),
    "byte order mark": (lambda lines: b"\xef\xbb\xbf" + b"".join(lines), ""),
    "zeros in the middle": (lambda lines: bytes(9).join(lines), ""),
    "first line cut": (lambda lines: lines[0][:40] + b"\n" + lines[1], "damaged in line 1: "),
    "other bytes in a line": (lambda lines: lines[0] + lines[1].replace(b"random", b"r\xff"), "damaged in line 2: "),
}
"""Kinds of damage to a log of two lines, and what is told of them."""


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.usefixtures("inline")
def test_a_damaged_log_is_gone_on_with(damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Only the match of a damaged line is played again, and the line is named; nothing else is lost."""
    change, told = DAMAGES[damage]
    log = tmp_path / "log"
    command = ["tournament", "tic_tac_toe", "--players", "random,legal", "--log", str(log)]
    assert main(command) == OK
    before = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(change(before))
    assert main([*command, "--rounds", "2"]) == OK
    assert f"{log}: {told}" in caplog.text if told else not caplog.text
    rows = [row for _, row in read_lines(log.read_bytes()) if row is not None]
    assert sorted((row["round"], row["seats"][0]) for row in rows) == [
        *((number, seat) for number in (1, 2) for seat in ("legal", "random"))
    ]
    kept = [json.loads(line) for line in before]
    # A match that is played again may come out the same, down to its times.
    assert all(row in rows for row in (kept if not told else [kept["line 1" in told]]))


@pytest.mark.usefixtures("inline")
def test_games_have_files_of_any_name(tmp_path: Path) -> None:
    """Also names that are no text to this system: they are spelled with escapes."""
    sheet, table = tmp_path / "caf\udce9.kif", tmp_path / "table.csv"
    sheet.write_text(rulesheets.text("tic_tac_toe"))
    assert main(["tournament", str(sheet), "--players", "random,legal", "--csv", str(table)]) == OK
    assert r"average_caf\udce9" in table.read_text()


@pytest.mark.usefixtures("inline")
def test_logs_of_release_0_1_are_gone_on_with(tmp_path: Path) -> None:
    """They lack the settings that came later."""
    log = tmp_path / "log"
    command = ["tournament", "tic_tac_toe", "--players", "random,legal", "--log", str(log)]
    assert main(command) == OK
    before = log.read_text()
    assert '"balanced": false, ' in before
    log.write_text(before.replace('"balanced": false, ', ""))
    assert main([*command, "--rounds", "2"]) == OK
    assert len(log.read_text().splitlines()) == 2 * len(before.splitlines())


@pytest.mark.usefixtures("inline")
def test_command_prints_points_and_proofs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command shows points and proofs, also as JSON; proofs end turns, whatever the clock."""
    result = tmp_path / "result.json"
    command = "tournament tic_tac_toe --players a=general@600,b=general@600 --balanced --opening 3 --jobs 1 --json"
    assert main([*command.split(), str(result)]) == OK
    shown = capsys.readouterr().out
    assert "moving first" in shown
    assert "proven from ply" in shown
    data = json.loads(result.read_text())
    assert data["opening_plies"] == 3
    assert data["balanced"]
    for line in data["table"]:
        assert line["wins"] + line["draws"] + line["losses"] == 2
        assert line["turns"]["never_proven"] == 0


@pytest.mark.e2e
def test_ctrl_c_ends_everything(tmp_path: Path) -> None:
    """Ctrl-C, which a terminal sends to all processes, ends command and workers, without a traceback."""
    log = tmp_path / "log"
    arguments = f"tournament tic_tac_toe --players random,legal --rounds 50000 --jobs 1 --log {log}".split()
    process = start_command(*arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    with process.stderr:
        until(lambda: process.poll() is not None or log.exists())
        assert process.poll() is None, process.stderr.read()
        children = children_of(process.pid)
        assert children
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(120) == INTERRUPTED
        told = process.stderr.read()
        assert told.endswith(f"the same command goes on from {log}\ninterrupted\n")
        assert "Traceback" not in told
    until(lambda: not any(map(runs, children)))
