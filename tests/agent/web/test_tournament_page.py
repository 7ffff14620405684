"""The page of a tournament: its table while it runs, replays of its matches, and the same from its log."""

from __future__ import annotations

import json
import random
import re
import signal
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from agent.cli import main
from agent.commands.options import OK, WRONG_INPUT
from agent.lab.commands import tournament
from agent.lab.jobs.inline import InlineExecutor
from agent.lab.tournament.contenders import Contender, parse_contenders
from agent.lab.tournament.logged import read_tournament
from agent.lab.tournament.results import MatchResult, Settings, digest
from agent.lab.tournament.series import schedule
from agent.lab.tournament.showing import TournamentPage
from agent.lab.tournament.standings import Standings
from agent.lab.tournament.watching import WatchedTournament
from agent.sheet import Sheet, load
from games.gdl.interpreter.machine import Interpreter
from protocol.kif import write
from tests.matches import goals, random_match

from .conftest import PHONE, Windows, start_replay
from .test_pages import EVIL, EVIL_RULES, IMAGE

SETTINGS = Settings(seed=3, opening_plies=1, start_clock=30, play_clock=5, scramble="none", cores=1)
CONTENDERS = parse_contenders(["quick=general@0.2", "random", "slow=general@2"], ["general"])

NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


def play(sheet: Sheet, number: int, seats: tuple[str, ...], errors: int = 0) -> MatchResult:
    """Plays a random match; the player of the first role makes `errors` errors."""
    machine = Interpreter(sheet.checked)
    plies = list(random_match(machine, random.Random(f"{sheet.name} {number} {seats}")))
    moves = [[write(move) for move in joint_move] for _, joint_move, _ in plies]
    roles = [write(role) for role in machine.roles]
    return MatchResult(
        sheet.name,
        number,
        list(seats),
        [next(one.spec for one in CONTENDERS if one.label == seat) for seat in seats],
        digest(sheet),
        roles,
        "finished",
        goals(machine, plies[-1][-1]),
        moves[:1],
        moves[1:],
        [{"seat": 0, "role": roles[0], "step": 2, "request": "play", "kind": "late", "detail": "x"}] * errors,
        1.5,
    )


def write_log(path: Path, results: list[MatchResult], sources: dict[str, str]) -> None:
    """Writes a tournament's log, with the rules in the first match of each game."""
    waiting = dict(sources)
    with path.open("w") as file:
        for result in results:
            row = {**SETTINGS.as_json(), **asdict(result), "rulesheet": waiting.pop(result.game, "")}
            file.write(json.dumps(row) + "\n")


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.e2e
async def test_table_is_followed_while_a_tournament_runs(windows: Windows) -> None:
    """Each match is counted on the open page; a cell leads to its matches, and they to their replays."""
    sheets = [load("tic_tac_toe"), load("connect_four")]
    pairings = schedule(CONTENDERS, sheets, 2)
    by_name = {sheet.name: sheet for sheet in sheets}
    results = [
        play(by_name[pairing.game], pairing.round, pairing.seats, errors=number == 3)
        for number, pairing in enumerate(pairings)
    ]
    watched = WatchedTournament(CONTENDERS, SETTINGS)
    with watched.served(0) as address:
        async with windows:
            window = await windows.open(address)
            page = window.page
            await window.see(".state:has-text('setting up')")
            watched.begins(sheets, len(results), results[:2])
            await window.see(".tournament[data-played='2'] .standings tr[data-player='slow']")
            for result in results[2:-4]:
                watched.ended(result, "here")
            await window.see(f".tournament[data-played='{len(results) - 4}'] .played")
            text = await page.locator(".state").inner_text()
            assert text.startswith(f"{len(results) - 4} of {len(results)} matches, ")
            assert text.endswith(" left")
            assert await page.locator("progress").get_attribute("value") == str(len(results) - 4)
            await window.keep("tournament-running")
            for result in results[-4:]:
                watched.ended(result, "here")
            watched.over()
            await window.see(".tournament[data-running='false'] .played")
            assert await page.locator(".standings tbody tr").count() == len(CONTENDERS)
            table = watched.page.view()["table"]
            for row, line in enumerate(table, 1):
                shown = await page.locator(f".standings tbody tr:nth-child({row})").inner_text()
                assert line["player"] in shown
                assert f"{line['wins']} {line['draws']} {line['losses']}" in shown
                numbers = [float(number) for number in NUMBER.findall(shown.replace("\u2212", "-"))]
                figures = [(line["goals"][name], 0.06) for name in ("average", "low", "high")]
                for figure, tolerance in figures + [(one, 0.6) for one in line["elo"].values()]:
                    assert any(abs(number - figure) < tolerance for number in numbers), (figure, shown)
            assert "1 late" in await page.locator(".standings").inner_text()
            await window.see(f".played tbody tr:nth-child({len(results)})")
            await window.keep("tournament")
            await page.locator(f".crosstable tbody tr:has-text('{table[0]['player']}') td:nth-child(3) button").click()
            await window.gone(f".played tbody tr:nth-child({len(results)})")
            assert await page.locator(".played tbody tr").count() == 8
            assert "tic_tac_toe" not in await page.locator(".played").inner_text()
            await page.locator(".played tbody tr a").first.click()
            played = [one for one in results if one.game == "connect_four" and table[0]["player"] in one.seats][-1]
            await window.see(f".match[data-ply='{len(played.opening) + len(played.moves)}'] .diagram svg.board")
            goals = await page.locator(".players .figure").all_inner_texts()
            assert goals == [str(goal) for goal in played.goals]
            await page.keyboard.press("Home")
            await window.see(".match[data-ply='0']")
            await page.locator(".brand").click()
            await (await window.see("section:has(#tournaments-title) .card")).click()
            await window.see(".standings")
            phone = await windows.open(address, size=PHONE, dark=True)
            await phone.see(f".played tbody tr:nth-child({len(results)})")
            assert await phone.page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
            await phone.keep("tournament-phone-dark")


@pytest.mark.e2e
@pytest.mark.asyncio(loop_scope="session")
async def test_names_in_a_tournament_are_text(windows: Windows, tmp_path: Path) -> None:
    """Names of games, roles and players are shown literally, and do nothing."""
    contenders = parse_contenders([f"http://{IMAGE}", "random"], [])
    file = tmp_path / "evil.kif"
    file.write_text(EVIL_RULES)
    sheet = load(str(file))
    result = MatchResult(
        EVIL, 1, [one.label for one in contenders], [one.spec for one in contenders], digest(sheet),
        [IMAGE, EVIL], "stalled", [], [], [], [], 1.0,
    )  # fmt: skip
    watched = WatchedTournament(contenders, SETTINGS)
    with watched.served(0) as address:
        async with windows:
            watched.page.games = [EVIL]
            watched.page.planned = 2
            watched.ended(result, "here")
            watched.over()
            window = await windows.open(address)
            text = await (await window.see(".played tbody tr")).inner_text()
            assert EVIL in text
            assert IMAGE in text
            assert IMAGE in await window.page.locator(".standings").inner_text()
            assert await window.page.evaluate("() => window.hacked") is None
            assert await window.page.locator("main img, main script, main [onerror]").count() == 0


@pytest.mark.parametrize("ask", [TournamentPage.view, TournamentPage.summary])
def test_page_shows_one_moment(
    ask: Callable[[TournamentPage], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finished tournament has all its matches, even if the last one ends while the page is computed."""
    sheet = load("tic_tac_toe")
    *first, last = [play(sheet, pairing.round, pairing.seats) for pairing in schedule(CONTENDERS, [sheet], 1)]
    watched = WatchedTournament(CONTENDERS, SETTINGS)
    watched.begins([sheet], len(first) + 1, first)

    class EndsMeanwhile(Standings):
        def __init__(self, contenders: Sequence[Contender], games: Sequence[str], results: Sequence[MatchResult]):
            if watched.page.running:
                watched.ended(last, "here")
                watched.over()
            super().__init__(contenders, games, results)

    monkeypatch.setattr("agent.lab.tournament.showing.Standings", EndsMeanwhile)
    for running, played in [(True, len(first)), (False, len(first) + 1)]:
        shown = ask(watched.page)
        assert (shown["running"], shown["played"]) == (running, played)
        if "table" in shown:
            assert sum(line["goals"]["seats"] for line in shown["table"]) == 2 * played


@pytest.mark.e2e
def test_log_is_shown_by_replay(tmp_path: Path) -> None:
    """A folder with a log: table, matches and positions are served; a line that was cut off does not matter."""
    sheet = load("tic_tac_toe")
    results = [play(sheet, pairing.round, pairing.seats) for pairing in schedule(CONTENDERS, [sheet], 1)]
    log = tmp_path / "matches.jsonl"
    write_log(log, results, {"tic_tac_toe": sheet.source})
    before = log.read_bytes() + b'{"seed": 3, "open'
    log.write_bytes(before)
    with start_replay(tmp_path) as process:
        assert process.stdout is not None
        link = re.search(r"1 tournament: (http://127\.0\.0\.1:\d+)/#/tournament/(\S+)", process.stdout.readline())
        assert link is not None

        def get(path: str) -> dict[str, object]:
            with urllib.request.urlopen(f"{link[1]}/page/{path}", timeout=600) as response:
                data: dict[str, object] = json.load(response)
            return data

        view = get(f"tournaments/{link[2]}")
        assert view["played"] == len(results)
        assert not view["running"]
        listed = get(f"tournaments/{link[2]}/matches?player=random")
        assert listed["count"] == 4
        matches = listed["matches"]
        assert isinstance(matches, list)
        match = get(f"matches/{matches[0]['key']}")
        assert match["plies"] == matches[0]["plies"]
        assert get(f"matches/{matches[0]['key']}/positions/3")["known"]
        process.send_signal(signal.SIGINT)
        assert process.wait(600) == OK
    assert log.read_bytes() == before


def test_log_of_a_command_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of `tournament --log` is shown with all its replays, also after the tournament was resumed."""
    monkeypatch.setattr(tournament, "executor", lambda *_: InlineExecutor())
    log = tmp_path / "matches.jsonl"
    command = ["tournament", "tic_tac_toe", "--players", "random,legal", "--log", str(log)]
    assert main([*command, "--rounds", "1"]) == OK
    assert main([*command, "--rounds", "2"]) == OK
    assert sum("rulesheet" in json.loads(line) for line in log.read_text().splitlines()) == 1
    page = read_tournament(log)
    assert page is not None
    listed = page.matches(None, None)
    assert listed["count"] == 4
    for match in listed["matches"]:
        transcript = page.find(match["key"])
        assert transcript is not None
        assert len(transcript.positions) == match["plies"] + 1
        assert all(position.facts for position in transcript.positions)
        assert transcript.goals == [seat["goal"] for seat in match["seats"]]


@pytest.mark.parametrize("damaged", ['{"seed": 3}', '{"seed": 3, "openi', "\0\0"])
def test_matches_beside_damage_are_shown(damaged: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A damaged line is told by its number; byte order marks, zeros and half a line at the end are not worth a word."""
    log = tmp_path / "matches.jsonl"
    write_log(log, [play(load("tic_tac_toe"), number, ("random", "quick")) for number in (1, 2)], {})
    first, second = log.read_text().splitlines(keepends=True)
    log.write_text(f"\ufeff{first}{damaged}\n{second}{second[:50]}\0\0")
    page = read_tournament(log)
    assert page is not None
    assert page.matches(None, None)["count"] == 2
    assert (f"{log}: damaged in line 2: " in caplog.text) == (damaged != "\0\0")


def test_logs_that_cannot_be_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other files are no logs; illegal moves, or missing rules, leave a match without a replay."""
    sheet = load("tic_tac_toe")
    result = play(sheet, 1, ("random", "quick"))
    log = tmp_path / "matches.jsonl"
    write_log(log, [result], {})
    page = read_tournament(log)
    assert page is not None
    assert page.matches(None, None)["matches"][0]["key"] is None
    result.moves[0][0] = "(fly 1)"
    write_log(log, [result], {"tic_tac_toe": sheet.source})
    page = read_tournament(log)
    assert page is not None
    key = page.matches(None, None)["matches"][0]["key"]
    assert page.find(key) is None
    assert page.find("other") is None
    line = json.loads(log.read_text())
    for wrong in (
        {"goals": [100, "x"]},
        {"goals": [1]},
        {"seconds": True},
        {"turns": ["x"]},
        {"errors": [{"seat": 2}]},
    ):
        log.write_text(json.dumps({**line, **wrong}) + "\n")
        assert read_tournament(log) is None
    log.write_text('{"a": 1}\n')
    assert read_tournament(log) is None
    assert main(["replay", str(log)]) == WRONG_INPUT
    assert "neither a record" in capsys.readouterr().err
