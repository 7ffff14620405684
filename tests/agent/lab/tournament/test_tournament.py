"""Whole tournaments: resumed, killed, with engines and players over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agent.cli import main
from agent.commands.options import DIFFERENT, INTERRUPTED, OK, WRONG_INPUT
from agent.errors import InputError
from agent.json_lines import read_lines
from agent.lab.commands import tournament as command_module
from agent.lab.jobs.inline import InlineExecutor
from agent.lab.tournament.contenders import parse_contenders
from agent.lab.tournament.engine_player import ENGINES
from agent.lab.tournament.matches import MatchPlayer
from agent.lab.tournament.results import MatchResult, Pairing, Settings
from agent.lab.tournament.series import run_tournament
from agent.sheet import load
from games import rulesheets
from tests.agent.commands import INLINE_TOURNAMENT, start_command
from tests.agent.lab.jobs.losing import Loser
from tests.agent.terminal import shown_on_a_terminal
from tests.ports import refusing_port
from tests.processes import children_of, runs, until

ROOT = Path(__file__).resolve().parents[4]
SETTINGS = Settings(seed=3, opening_plies=1, start_clock=600, play_clock=600, scramble="none", cores=1)

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
    """Four small rulesheets."""
    files = []
    for plies in range(3, 7):
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
    players = "random:1,random:2,legal"
    command = ["tournament", *games, "--players", players, "--rounds", "2", "--opening", "1", "--seed", "5"]
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
        until(lambda: process.poll() is not None or (log.exists() and log.read_bytes().count(b"\n") >= 8))
        assert process.poll() in (None, OK), process.stderr.read().decode()
        children = children_of(process.pid)
        process.kill()
        process.wait(120)
        assert b"Traceback" not in process.stderr.read()
    until(lambda: not any(map(runs, children)))
    before = log.read_text().splitlines(keepends=True)
    # Had it been so quick as to play on to its end, this would still be the middle.
    before = before[:20]
    log.write_text("".join(before[:-1]) + before[-1][:50])

    assert main([*command, "--log", str(log), "--json", str(resumed)]) == OK
    assert json.loads(resumed.read_text()) == json.loads(whole.read_text())
    after = log.read_text().splitlines(keepends=True)
    # Nothing is played again.
    assert after[: len(before) - 1] == before[:-1]
    pairings = [(row["game"], row["round"], *row["seats"]) for row in map(json.loads, after)]
    assert len(pairings) == len(set(pairings)) == 48


def test_rounds_players_and_games_may_be_added(tmp_path: Path, games: list[str]) -> None:
    """A log counts for a larger tournament, and for a smaller one."""
    log = tmp_path / "log"

    def run(players: list[str], games: list[str], rounds: int) -> int:
        contenders = parse_contenders(players, list(ENGINES))
        standings = run_tournament(contenders, games, SETTINGS, rounds=rounds, executor=InlineExecutor(), log=log)
        return len(standings.results)

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
    contenders = parse_contenders(["random", "legal"], list(ENGINES))
    standings = run_tournament(contenders, games[:2], SETTINGS, rounds=1, executor=Loser(), log=log)
    assert (len(standings.results), standings.lost) == (3, 1)
    assert standings.as_json(SETTINGS, 1)["matches_lost"] == 1
    standings = run_tournament(contenders, games[:2], SETTINGS, rounds=1, executor=InlineExecutor(), log=log)
    assert (len(standings.results), standings.lost) == (4, 0)


def test_matches_of_a_round_share_their_opening(games: list[str]) -> None:
    """Matches of a round have one opening; other rounds have others."""
    contenders = parse_contenders(["random", "legal"], list(ENGINES))
    settings = Settings(seed=3, opening_plies=2, start_clock=600, play_clock=600, scramble="none", cores=1)
    sheet = load(games[3])
    player = MatchPlayer(settings, {c.label: c for c in contenders}, {sheet.name: sheet})
    openings = []
    for number in range(1, 9):
        first, second = (
            next(player.play(Pairing(sheet.name, number, seats))).opening
            for seats in (("random", "legal"), ("legal", "random"))
        )
        assert first == second
        assert len(first) == 2
        openings.append(str(first))
    assert len(set(openings)) > 1


def play(players: list[str], *seats: str) -> MatchResult:
    """Plays a match of tic-tac-toe."""
    contenders = parse_contenders(players, list(ENGINES))
    sheet = load("tic_tac_toe")
    with closing(MatchPlayer(SETTINGS, {c.label: c for c in contenders}, {sheet.name: sheet})) as player:
        return next(player.play(Pairing(sheet.name, 1, seats)))


@pytest.mark.e2e
def test_engines_and_players_over_http_mix() -> None:
    """Engines play agents over HTTP."""
    result = play(["agent", "montecarlo@0.01"], "agent", "montecarlo@0.01")
    assert result.outcome == "finished"
    assert result.errors == []
    assert result.goals[0] is not None
    assert result.goals[0] >= 50


def test_missing_player_is_unreachable() -> None:
    """A player that is gone loses no match: its errors are counted."""
    with refusing_port() as port:
        result = play(["montecarlo@0.01", f"gone=http://127.0.0.1:{port}"], "montecarlo@0.01", "gone")
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
    assert "left:" in shown
    assert "2/2" in shown
    assert "race_3, round 1: first3 random" in shown
    assert "───" in shown


@pytest.mark.usefixtures("inline")
def test_engine_that_does_not_play_a_game(capsys: pytest.CaptureFixture[str]) -> None:
    """The message names engine and game."""
    assert main(["tournament", "tic_tac_toe", "--players", "native@0.1,legal", "--jobs", "1"]) == WRONG_INPUT
    assert "native@0.1, tic_tac_toe: the native engine does not play this game" in capsys.readouterr().err
    assert main(["tournament", "reversi", "--players", "native+1@0.1,legal", "--jobs", "1"]) == WRONG_INPUT
    assert "the native engine searches without helpers" in capsys.readouterr().err


def test_address_without_a_player(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing player is found before anything is played."""
    log = tmp_path / "log"
    with refusing_port() as port:
        address = f"http://127.0.0.1:{port}"
        command = ["tournament", "tic_tac_toe", "--players", f"legal,gone={address}", "--log", str(log)]
        assert main(command) == WRONG_INPUT
    assert f"gone: no player answers at {address}" in capsys.readouterr().err
    assert not log.exists()


def test_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unknown players, games of one name, too many cores and other files are wrong input."""
    command = ["tournament", "tic_tac_toe", "--players", "random,legal"]
    assert main([*command[:3], "robot,legal"]) == WRONG_INPUT
    assert "robot: a player is" in capsys.readouterr().err
    assert main([*command, "--jobs", "100000"]) == WRONG_INPUT
    assert "cores are wanted" in capsys.readouterr().err
    assert main(["tournament", "tic_tac_toe", "tic_tac_toe", "--players", "random,legal"]) == WRONG_INPUT
    assert "same name" in capsys.readouterr().err
    (tmp_path / "log").write_text("notes\n")
    assert main([*command, "--log", str(tmp_path / "log")]) == WRONG_INPUT
    assert "not a log" in capsys.readouterr().err
    assert (tmp_path / "log").read_text() == "notes\n"


@pytest.mark.usefixtures("inline")
def test_log_of_another_series(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log with other settings is wrong input, and stays as it is."""
    command = ["tournament", "tic_tac_toe", "--players", "random,legal"]
    assert main([*command, "--log", str(tmp_path / "log")]) == OK
    before = (tmp_path / "log").read_text()
    assert main([*command, "--log", str(tmp_path / "log"), "--seed", "7"]) == WRONG_INPUT
    assert "a log of another series, seed is 0 instead of 7" in capsys.readouterr().err
    assert (tmp_path / "log").read_text() == before


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
    assert [row for row in rows if row in kept] == (kept if not told else [kept["line 1" in told]])


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
