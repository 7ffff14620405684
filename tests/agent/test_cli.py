"""The command line: results, errors, exit statuses."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest

from agent.checking import describe
from agent.cli import LABORATORY, main, make_parser
from agent.commands.options import INTERRUPTED, OK, WRONG_INPUT, default_memory, usable_memory
from agent.kernels import progress
from agent.refereeing import agent_process
from agent.serving.clock import SILENCE_SECONDS
from protocol.compose import compose
from protocol.messages import LONGEST_CLOCK, Start, parse
from tests.connection_games import labelled_hex

ROOT = Path(__file__).resolve().parents[2]

FILE = "FILE"
"""Stands for a file in a parametrised command."""

VALID = """(role a)
(init (f 1))
(legal a go)
(<= (next (f ?x)) (true (f ?x)))
(<= terminal (true (f 1)))
(goal a 100)
"""


def write(folder: Path, text: str) -> str:
    """Writes a sheet to a file; returns its name."""
    file = folder / "sheet.kif"
    file.write_text(text)
    return str(file)


def fails(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Returns the message of a command that refuses its input."""
    assert main(arguments) == WRONG_INPUT
    return capsys.readouterr().err


def test_names_in_errors_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """They come from others; an error keeps its lines."""
    message = fails(["inspect", "\x1b[2J\n=x.kif"], capsys)
    assert "\\x1b[2J\n=x.kif: no such file" in message
    assert "\x1b" not in message


def test_help_comes_at_once_and_names_all_commands() -> None:
    """`--help` loads nothing heavy and lists every command."""
    command = [sys.executable, "-X", "importtime", "-m", "agent.cli", "--help"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in ("serve", "match", "replay", "tournament", "ping", "inspect", "validate", "lab"):
        assert f"\n    {name}" in shown.stdout
    loaded = {line.rsplit("|", 1)[-1].strip() for line in shown.stderr.splitlines()}
    assert loaded.isdisjoint({"numba", "numpy", "aiohttp", "clingo"})


def test_lab_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """`lab --help` names each of them."""
    with pytest.raises(SystemExit) as exit_info:
        main(["lab", "--help"])
    assert exit_info.value.code == OK
    shown = capsys.readouterr().out
    for name in ("bench", "conform", "ladder"):
        assert f"\n    {name}" in shown


@pytest.mark.parametrize(
    ("game", "players", "told"),
    [
        ("tic_tac_two", "random,random", ["tic_tac_two: no such file", "tic_tac_toe"]),
        ("reversy", "legal,legal", ["did you mean reversi?"]),
        ("tic_tac_toe", "random", ["takes 2 players (x, o)"]),
        ("tic_tac_toe", "random,random,random", ["takes 2 players (x, o)"]),
        ("tic_tac_toe", "robot,random", ["robot: a player is"]),
    ],
)
def test_match_says_what_is_wrong_with_its_arguments(
    game: str, players: str, told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Unknown games with what there is, a wrong number of players with the roles, unknown kinds of players."""
    message = fails(["match", game, "--players", players], capsys)
    assert all(part in message for part in told)


def test_memory_is_in_the_users_folder_for_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder can be named, or left out; measuring commands have none."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for command in (["serve"], ["match", "tic_tac_toe", "--players", "agent,agent"]):

        def memory(*more: str, command: list[str] = command) -> object:
            return make_parser().parse_args([*command, *more]).memory

        assert memory() == tmp_path / "ggp-agent" / "memory"
        assert memory("--memory", "here") == Path("here")
        assert memory("--no-memory") is None
    for command in (["tournament", "chess", "--players", "legal"], ["lab", "bench"]):
        assert not hasattr(make_parser().parse_args(command), "memory")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert default_memory() == Path.home() / ".local" / "state" / "ggp-agent" / "memory"
    monkeypatch.setenv("HOME", "relative")
    assert default_memory() is None
    monkeypatch.setattr(Path, "home", partial(_no_home, Path))
    assert default_memory() is None


def _no_home(kind: type[Path]) -> Path:
    raise RuntimeError("could not determine home directory")


@pytest.mark.parametrize("wanted", [True, False])
def test_match_tells_its_agents_what_to_remember(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: bool) -> None:
    """The agent's process gets the folder, or the option for none."""
    given: list[list[str]] = []

    class Process:
        """A process that has ended."""

        pid = os.getpid()

        def __init__(self, work: str, token: str, *arguments: str, **options: object) -> None:
            given.append(list(arguments))

        def end(self, number: int, seconds: float) -> None:
            """Nothing."""

    monkeypatch.setattr(agent_process, "ChildProcess", Process)
    with agent_process.AgentProcess(tmp_path if wanted else None):
        pass
    expected = ["--memory", str(tmp_path)] if wanted else ["--no-memory"]
    assert given[0][-len(expected) :] == expected
    assert str(make_parser().parse_args(given[0]).memory) == (str(tmp_path) if wanted else "None")
    with agent_process.AgentProcess(patient=True, level="easy"):
        pass
    assert [make_parser().parse_args(arguments).level for arguments in given] == [None, "easy"]
    patience = [make_parser().parse_args(arguments).silence for arguments in given]
    assert patience == [SILENCE_SECONDS, agent_process.LONG_SECONDS]


@pytest.mark.parametrize(
    "command",
    [
        ["inspect", FILE],
        ["tournament", FILE, "--players", "general@1,tree@1"],
        ["lab", "bench", FILE],
        ["lab", "conform", FILE, "--native"],
    ],
)
def test_mistakes_are_told_before_kernels_are_compiled(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A syntax error comes with its place, the line and a caret, before kernels are compiled, which takes a while."""
    monkeypatch.setattr(progress, "prepare", lambda groups: pytest.fail("compiled"))
    file = write(tmp_path, "(role a)\n  (init (f 1)\n")
    message = fails([file if word == FILE else word for word in command], capsys).splitlines()
    assert message[0].startswith(f"{file}:2:3: error: ")
    assert message[1:] == ["      (init (f 1)", "      ^"]


def test_meaningless_rules_show_their_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rules without a meaning are shown like syntax errors."""
    file = write(tmp_path, VALID + "(<= (p ?x) (true (f ?x)) (not (p ?x)))\n(<= (next (p ?x)) (p ?x))\n")
    message = fails(["match", file, "--players", "random"], capsys).splitlines()
    assert message[0].startswith(f"{file}:7:6: error: ")
    assert message[2] == "         ^"


def test_random_role_takes_no_player_in_any_case(tmp_path: Path) -> None:
    """A role `RANDOM` is played by the referee, as one named `random` is."""
    file = write(tmp_path, VALID.replace("(role a)", "(role a)\n(role RANDOM)\n(legal RANDOM wait)"))
    result = tmp_path / "result.json"
    assert main(["match", file, "--players", "legal", "--json", str(result)]) == OK
    assert json.loads(result.read_text())["players"] == ["legal", "referee"]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("http://localhost:9147", "http://localhost:9147", True),
        ("http://localhost:9147", "http://127.0.0.1:9147/", True),
        ("http://HOST", "http://host:80", True),
        ("https://host", "http://host", False),
        ("http://127.0.0.1:9147", "http://127.0.0.2:9147", False),
        ("http://localhost:9147/a", "http://localhost:9147/b", False),
        ("http://host:99999", "http://host:99998", False),
    ],
)
def test_one_server_takes_one_seat_of_a_match(
    first: str, second: str, same: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both roles have the same match id, so one server cannot play both; what differs may be two servers."""
    message = fails(["match", "tic_tac_toe", "--players", f"{first},{second},legal"], capsys)
    assert (f"{first} is there twice" if same else "takes 2 players") in message


@pytest.mark.parametrize("clock", ["0", "-1", "soon", str(LONGEST_CLOCK + 1)])
@pytest.mark.parametrize("option", ["--start-clock", "--play-clock"])
def test_senseless_clock(option: str, clock: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A clock that is no positive number of seconds, or more than a player takes, is refused by the parser."""
    with pytest.raises(SystemExit) as exit_info:
        main(["match", "tic_tac_toe", "--players", "random,random", option, clock])
    assert exit_info.value.code == WRONG_INPUT
    assert option in capsys.readouterr().err


def test_managers_longest_clock_is_the_players() -> None:
    """What `match` and `tournament` can send as a clock, START takes."""
    for command in ("match", "tournament"):
        clocks = ["--start-clock", str(LONGEST_CLOCK), "--play-clock", str(LONGEST_CLOCK)]
        options = make_parser().parse_args([command, "tic_tac_toe", "--players", "random,random", *clocks])
        start = Start("m", "x", (("role", "x"),), options.start_clock, options.play_clock)
        assert parse(compose(start))[0] == start


def test_match_prints_the_game_and_writes_both_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A match shows its board and result, and leaves the same record in both files."""
    result, record = tmp_path / "result.json", tmp_path / "record.json"
    arguments = ["match", "tic_tac_toe", "--players", "random,legal", "--scramble", "dresden"]
    assert main([*arguments, "--json", str(result), "--record", str(record)]) == OK
    shown = capsys.readouterr().out
    assert re.search(r"step 1   x [abc][123] ", shown)
    assert "3  . . .\n2  . . .\n1  . . .\n   a b c" in shown
    assert "result: x (random) " in shown
    data = json.loads(result.read_text())
    assert data == json.loads(record.read_text())
    assert data["scramble"] == "dresden"
    assert len(data["goals"]) == 2


@pytest.mark.e2e
def test_agent_does_not_lose_a_match_it_can_hold(tmp_path: Path) -> None:
    """The agent, in its own process, plays a match against the first legal move without an error and does not lose."""
    result = tmp_path / "result.json"
    arguments = ["match", "tic_tac_toe", "--players", "agent,legal", "--start-clock", "600", "--play-clock", "600"]
    assert main([*arguments, "--scramble", "ggp-base", "--json", str(result)]) == OK
    data = json.loads(result.read_text())
    assert data["errors"] == []
    assert data["goals"][0] >= 50


def test_result_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A result file in a folder that does not exist is an error, not a traceback."""
    file = tmp_path / "missing" / "result.json"
    assert str(file) in fails(["lab", "bench", "tic_tac_toe", "--seconds", "0", "--json", str(file)], capsys)


def test_bench_has_a_row_per_game_and_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The benchmark measures circuit and interpreter of each game."""
    result = tmp_path / "bench.json"
    assert (
        main(["lab", "bench", "tic_tac_toe", write(tmp_path, VALID), "--seconds", "0.1", "--json", str(result)]) == OK
    )
    rows = json.loads(result.read_text())["rows"]
    assert [(row["game"], row["engine"]) for row in rows] == [
        (game, engine) for game in ("tic_tac_toe", "sheet") for engine in ("circuit", "interpreter")
    ]
    assert rows[0]["transitions_per_s"] > rows[0]["playouts_per_s"] > 0
    assert all(row["setup_cpu_seconds"] >= 0 for row in rows)
    assert "transitions/s" in capsys.readouterr().out


def test_bench_and_inspect_say_where_searches_use_fewer_facts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Playouts are measured on the lean game, and its size is told beside that of the whole one."""
    monkeypatch.setattr(describe, "PLAYOUT_SECONDS", 0.05)
    sheet, result = write(tmp_path, labelled_hex()), tmp_path / "result.json"
    assert main(["lab", "bench", sheet, "--seconds", "0.1", "--json", str(result)]) == OK
    assert [row["lean"] for row in json.loads(result.read_text())["rows"]] == [True, False]
    assert "lean circuit" in capsys.readouterr().out
    assert main(["inspect", sheet, "--json", str(result)]) == OK
    size = json.loads(result.read_text())["size"]
    assert size["facts_searched"] < size["facts"] / 4
    assert size["edges_searched"] < size["circuit_edges"] / 2


def test_native_rules_are_compared_with_the_circuit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Native rules of one sheet are compared; other games, and several, are refused."""
    result = tmp_path / "result.json"
    assert main(["lab", "conform", "--native", "reversi", "--positions", "300", "--json", str(result)]) == OK
    assert "recognised as reversi" in capsys.readouterr().out
    assert json.loads(result.read_text())["positions"] >= 300
    assert "not a game of a native family" in fails(["lab", "conform", "--native", "tic_tac_toe"], capsys)
    assert "takes one rulesheet" in fails(["lab", "conform", "reversi", "blokbox", "--native"], capsys)


def test_inspect_describes_a_sheet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`inspect` shows roles, kind, machine and engine."""
    monkeypatch.setattr(describe, "PLAYOUT_SECONDS", 0.05)
    result = tmp_path / "inspect.json"
    assert main(["inspect", "rock_paper_scissors", "--json", str(result)]) == OK
    data = json.loads(result.read_text())
    assert data["roles"] == ["left", "right"]
    assert data["kind"] == "2 players, simultaneous moves"
    assert data["machine"] == "circuit"
    assert data["family"] is None
    assert set(data["refusals"]) == {"Reversi", "Blokbox"}
    assert data["symmetries"]["order"] == 6
    assert data["parts"]["count"] == 1
    assert data["sample_match"]["positions"][0]["ply"] == 0
    assert data["warnings"] == []
    shown = capsys.readouterr().out
    assert "simultaneous" in shown
    assert "not recognised as Reversi: a role has 3 moves" in shown
    assert "left and right exchanged" in shown


def test_inspect_tells_why_there_is_no_circuit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of this program is told from a sheet that is too large."""
    monkeypatch.setattr(describe, "PLAYOUT_SECONDS", 0.05)
    monkeypatch.setattr("games.gdl.compile.build_circuit", lambda program: {}["no such thing"])
    result = tmp_path / "inspect.json"
    assert main(["inspect", "rock_paper_scissors", "--json", str(result)]) == OK
    data = json.loads(result.read_text())
    assert data["machine"] == "interpreter"
    fault = "split: an error of this program: KeyError: 'no such thing'"
    assert fault in data["faults"]
    assert fault in data["no_circuit"]
    shown = capsys.readouterr().out
    assert f"error: {fault}" in shown
    assert f"no circuit: {fault}" in shown


def test_validate_warns_of_constants_with_and_without_parentheses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are one here, and two to some; a sheet that spells them one way has no warning."""
    sheet = tmp_path / "sheet.kif"
    text = (
        "(role a) (init (done)) (legal a (go)) (<= (next (done)) (true DONE)) (goal a 100) (<= terminal (true (done)))"
    )
    sheet.write_text(text.replace("DONE", "done"))
    main(["validate", str(sheet)])
    warning = "sheet.kif:1:17: warning: (done) is read as `done`: some engines take them for two"
    assert warning in capsys.readouterr().out
    sheet.write_text(text.replace("DONE", "(done)"))
    main(["validate", str(sheet)])
    assert "1 rulesheets: 1 well" in capsys.readouterr().out


def test_port_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    """A taken port is an error that names it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"127.0.0.1:{port}: " in fails(["serve", "--host", "127.0.0.1", "--port", str(port)], capsys)
        assert f"port {port}: " in fails(["serve", "--port", str(port)], capsys)


@pytest.mark.parametrize("option", ["--journal", "--records", "--memory"])
def test_folder_that_cannot_be_written(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that cannot be made is named before the server starts."""
    (tmp_path / "file").touch()
    message = fails(["serve", "--port", "0", option, str(tmp_path / "file" / "folder")], capsys)
    assert message == f"{tmp_path}/file/folder: Not a directory\n"


def test_default_memory_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A user who can write nothing has no memory, and a line says so."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert usable_memory(default_memory()) is None
    assert "what is learnt of games is not kept" in caplog.text


def test_interrupted_match_leaves_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a match with its own exit status, and what was played is in the record."""
    record = tmp_path / "record.json"

    def interrupt(player: socket.socket) -> None:
        """Presses Ctrl-C once the player is sent something, which is never answered."""
        with player.accept()[0] as connection:
            connection.recv(1)
            os.kill(os.getpid(), signal.SIGINT)
            while connection.recv(4096):
                pass

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with socket.create_server(("127.0.0.1", 0)) as player:
            thread = threading.Thread(target=interrupt, args=(player,))
            thread.start()
            address = f"http://127.0.0.1:{player.getsockname()[1]}"
            clocks = ["--start-clock", "600", "--play-clock", "600"]
            command = ["match", "tic_tac_toe", "--players", f"random,{address}", *clocks, "--record", str(record)]
            assert main(command) == INTERRUPTED
            thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    data = json.loads(record.read_text())
    assert data["outcome"] == "aborted"
    assert data["moves"] == []


def test_quiet_prints_errors_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --quiet the result is the same, and errors are printed."""
    result = tmp_path / "result.json"
    assert main(["match", "tic_tac_toe", "--players", "random,legal", "--quiet", "--json", str(result)]) == OK
    assert json.loads(result.read_text())["steps"] >= 5
    assert capsys.readouterr() == ("", "")
    assert "robot: a player is" in fails(["match", "tic_tac_toe", "--players", "robot,legal", "-q"], capsys)
    print("heard again")
    assert capsys.readouterr().out == "heard again\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh", "fish"])
def test_completion_knows_all_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The script names every command, and completes files where one is wanted."""
    with pytest.raises(SystemExit) as exit_info:
        main(["--print-completion", shell])
    assert exit_info.value.code == 0
    script = capsys.readouterr().out
    names = [command.__name__.rpartition(".")[2] for command in LABORATORY]
    assert all(
        name in script for name in ("serve", "match", "replay", "tournament", "ping", "inspect", "validate", *names)
    )
    files = {"bash": "inspect_pos_0_COMPGEN=_shtab_compgen_files", "zsh": "_files", "tcsh": "/f/"}
    assert (files | {"fish": "__fish_complete_path"})[shell] in script


def test_version_is_the_distributions(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` prints what is installed."""
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"ggp-agent {version('ggp-agent')}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", "there is no option `prot`; did you mean `port`?"),
        ("config = 'other.toml'", "there is no option `config`"),
        ("port = true", "`port` is a text or a number"),
        ("port = [1, 2]", "`port` is one value"),
        ("page = 1", "`page` is true or false"),
        ("[serve]\nport = 1", "there is no option `serve`"),
        ("port == 1", "at line 1"),
    ],
)
def test_mistakes_in_a_configuration_are_told(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the file's name; so is a file that is not there."""
    file = tmp_path / "serve.toml"
    assert f"{file}: No such file" in fails(["serve", "--config", str(file)], capsys)
    assert "\\x1b[2J.toml: No such file" in fails(["serve", "--config", "\x1b[2J.toml"], capsys)
    file.write_text(text)
    told = fails(["serve", f"--config={file}"], capsys)
    assert told.startswith(f"{file}: ")
    assert message in told


def test_abbreviated_names_of_a_configuration_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """It would be read too late."""
    with pytest.raises(SystemExit):
        main(["serve", "--conf", "serve.toml"])
    assert "write --config in full" in capsys.readouterr().err
