"""Matches in a browser: overview, running matches, replays, boards, untrusted names."""

from __future__ import annotations

import json
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest

from agent.record.match import MatchRecord, PlayerError
from agent.search.engine import Opinion, Score
from agent.serving.statistics import Statistics
from agent.web.gallery import Gallery
from games import rulesheets
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from protocol.kif import read_rulesheet
from tests.matches import goals, random_match

from .conftest import PHONE, Course, Windows, served

pytestmark = pytest.mark.asyncio(loop_scope="session")

EVIL = "<script>window.hacked=1</script>"
IMAGE = "<img/src=x:y/onerror=window.hacked=2>"

EVIL_RULES = f"""
(role {IMAGE}) (role {EVIL})
(init (cell 1 1 {EVIL})) (init (cell 1 2 {IMAGE})) (init (cell 2 1 "&amp))
(init (cell 2 2 {EVIL})) (init (turn {IMAGE})) (init ({EVIL} {IMAGE}))
(<= (legal ?r (put ?x {EVIL})) (role ?r) (true (cell ?x ?y ?z)))
(<= (next ?f) (true ?f)) (<= (next (last ?m)) (does {EVIL} ?m))
(<= terminal (true (last ?m)))
(goal {IMAGE} 100) (goal {EVIL} 0)
"""


def write_record(path: Path, source: str, seed: int = 3) -> MatchRecord:
    """Writes the record of a random match."""
    rules = read_rulesheet(source)
    machine = Interpreter(check(rules))
    record = MatchRecord(
        path.stem, f"match.{path.stem}", machine.roles, ("random", "random"), 30, 5, seed=seed, rules=rules
    )
    record.reach(machine.facts(machine.initial()))
    for _, joint_move, state in random_match(machine, random.Random(seed)):
        record.think(0, Opinion(joint_move[0], Score(50.0)), "engine", "")
        record.move(joint_move, [0.25 for _ in machine.roles])
        record.reach(machine.facts(state))
    record.end("finished", goals(machine, state))
    record.blame(PlayerError(machine.roles[0], 1, "play", "late", "no reply within 5 s"))
    path.write_text(json.dumps(record.as_json()))
    return record


async def test_match_is_watched_live_to_its_end(windows: Windows) -> None:
    """An open page shows each move as it is made, the thoughts, the clock, and the result."""
    gallery = Gallery()
    async with served(gallery) as address, windows:
        course = Course(gallery, "tic_tac_toe", rulesheets.text("tic_tac_toe"))
        window = await windows.open(address + course.path)
        await window.see(".match[data-plies='0'][data-ply='0']")
        course.transcript.run_clock(time.monotonic() + 600, 600, 2.0)
        await window.see(".clock:not([hidden])")
        plies = 0
        while not course.machine.terminal(course.state):
            course.think()
            course.step()
            plies += 1
            await window.see(f".match[data-plies='{plies}'][data-ply='{plies}']")
            await window.see(f".moves li:nth-child({plies}) a[aria-current]")
            said = await window.page.locator("#announcer").text_content()
            assert said.startswith(f"Ply {plies}: ")
            if plies == 2:
                await window.page.keyboard.press("ArrowLeft")
                await window.see(".match[data-ply='1'] .thought")
                await window.page.keyboard.press("End")
        marks = await window.page.locator(".diagram [data-square] .x").count()
        assert marks == plies
        course.end()
        await window.see(".match[data-outcome='finished']")
        assert await window.page.locator(".whose").inner_text() == "The match is over"
        goals = [course.machine.goal(course.state, role) for role in (0, 1)]
        assert await window.page.locator(".players .figure").all_inner_texts() == list(map(str, goals))
        await window.see("svg.plot .line.role-0 polyline")


async def test_seven_tabs_show_each_move(windows: Windows) -> None:
    """More tabs than a browser opens connections to a host are loaded, kept up to date, and can fetch more."""
    gallery = Gallery()
    async with served(gallery) as address, windows:
        course = Course(gallery, "tic_tac_toe", rulesheets.text("tic_tac_toe"))
        course.step()
        first = await windows.open(address + course.path)
        tabs = [first, *[await windows.open(address + course.path, beside=first) for _ in range(4)]]
        overviews = [await windows.open(address, beside=first) for _ in range(2)]
        course.step()
        Course(gallery, "tic_tac_toe", rulesheets.text("tic_tac_toe"))
        for tab in tabs:
            await tab.see(".match[data-plies='2'][data-ply='2']")
        for tab in overviews:
            await tab.see(".card:nth-child(2) .thumbnail svg")
        assert [len(tab.sockets) for tab in (*tabs, *overviews)] == [1] * 7
        await tabs[-1].page.keyboard.press("Home")
        await tabs[-1].see(".match[data-ply='0']")
        for tab in (*tabs[1:], *overviews):
            await tab.page.close()


@pytest.mark.e2e
async def test_page_goes_on_where_no_socket_comes_through(windows: Windows) -> None:
    """Without WebSockets a page is up to date some seconds later."""
    gallery = Gallery()
    async with served(gallery) as address, windows:
        course = Course(gallery, "tic_tac_toe", rulesheets.text("tic_tac_toe"))
        window = await windows.open(address + course.path, script="delete window.WebSocket")
        await window.see(".match[data-plies='0']")
        course.step()
        await window.see(".match[data-plies='1'][data-ply='1']")
        course.end()
        await window.see(".match[data-outcome='finished']")


@pytest.mark.e2e
async def test_page_whose_connection_is_cut_off_catches_up(windows: Windows, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pages, of which the server keeps one up to date at a time, both show what happened meanwhile."""
    monkeypatch.setattr("agent.web.site.MOST_STREAMS_OF_PEER", 1)
    gallery = Gallery()
    async with served(gallery) as address, windows:
        course = Course(gallery, "tic_tac_toe", rulesheets.text("tic_tac_toe"))
        pages = [await windows.open(address + course.path) for _ in range(2)]
        for ply in (1, 2):
            course.step()
            for window in pages:
                await window.see(f".match[data-plies='{ply}'][data-ply='{ply}']")


@pytest.mark.e2e
async def test_heading_roles_and_goals_are_those_of_the_game(windows: Windows) -> None:
    """The game's name, the match's beside it; roles in the colours of their pieces; goals beyond 100 in the plot."""
    gallery = Gallery()
    async with served(gallery) as address, windows:
        course = Course(gallery, "connect_four", rulesheets.text("connect_four").replace(" 100)", " 150)"))
        course.transcript.match_id = "match.17"
        course.play(100)
        course.end()
        assert max(course.transcript.goals) == 150
        window = await windows.open(address + course.path)
        await window.see(".diagram svg.board")
        page = window.page
        assert await page.locator("h1").inner_text() == "Connect four match.17"
        assert (await page.locator("h1 small").inner_text()).strip() == "match.17"
        fills = "all => all.map(one => getComputedStyle(one).fill)"
        colours = await page.locator(".players .chip .p").evaluate_all(fills)
        assert colours == ["rgb(197, 55, 44)", "rgb(241, 198, 29)"]
        marks = await page.locator("svg.plot .axis[text-anchor='end']").all_text_contents()
        assert marks == ["0", "75", "150"]
        await window.keep("wide-goals")
        rings = page.locator("svg.plot .goal")
        assert all(0 < at < 180 for at in await rings.evaluate_all("all => all.map(one => one.cy.baseVal.value)"))
        await page.locator(".brand").click()
        await window.see(".card .thumbnail svg")
        assert await page.locator(".card .chip .p").evaluate_all(fills) == colours


@pytest.mark.e2e
async def test_replay_is_stepped_through_by_keys(windows: Windows, tmp_path: Path) -> None:
    """A record is shown step by step with the arrow keys, Home and End; each position has an address of its own."""
    record = write_record(tmp_path / "three.json", rulesheets.text("tic_tac_toe"))
    (tmp_path / "broken.json").write_text('{"game": "half a rec')
    last = len(record.moves)
    async with served(Gallery(), [tmp_path]) as address, windows:
        window = await windows.open(address)
        await (await window.see(".card")).click()
        page = window.page
        await window.see(f".match[data-ply='{last}']")
        assert await page.locator(".card").count() == 0
        marks = page.locator(".diagram [data-square] .x")
        assert await marks.count() == last
        await window.see(".errors li:has-text('late at step 1')")
        assert (await page.locator(".thinking h2").inner_text()).startswith("WHY ")
        for key, ply in (("ArrowLeft", last - 1), ("ArrowLeft", last - 2), ("ArrowRight", last - 1), ("Home", 0)):
            await page.keyboard.press(key)
            await window.see(f".match[data-ply='{ply}']")
            assert await marks.count() == ply
            assert page.url.endswith(f"/{ply}")
            assert (await page.locator(".thought .best").inner_text()).startswith("played ")
        await page.keyboard.press("ArrowLeft")
        await page.keyboard.press("ArrowRight")
        await page.locator("details summary").click()
        await window.see(".match[data-ply='1'] ins.fact.new")
        link = page.url
        await page.keyboard.press("End")
        await window.see(f".match[data-ply='{last}']")
        await page.locator(".moves li:nth-child(2) a").click()
        await window.see(".match[data-ply='2']")
        again = await windows.open(link)
        await again.see(".match[data-ply='1']")
        assert await again.page.locator(".diagram [data-square] .x").count() == 1


async def test_names_of_a_rulesheet_are_text(windows: Windows) -> None:
    """Words of a rulesheet are shown literally, and do nothing."""
    gallery = Gallery()
    async with served(gallery) as address, windows:
        course = Course(gallery, EVIL, EVIL_RULES)
        course.play(1)
        course.end()
        window = await windows.open(address)
        assert EVIL in await (await window.see(".card")).inner_text()
        await window.page.locator(".card").click()
        await window.see(".match[data-ply='1']")
        text = await window.page.locator("main").inner_text()
        assert EVIL in text
        assert IMAGE in text
        assert await window.page.locator("h1").inner_text() == EVIL
        assert await window.page.evaluate("() => window.hacked") is None
        assert await window.page.locator("script").count() == 1
        assert await window.page.locator("main img, main script, main [onerror]").count() == 0
        await window.keep("untrusted-names")


@pytest.mark.e2e
async def test_overview_follows_three_matches(windows: Windows, tmp_path: Path) -> None:
    """Running and finished matches are listed with a picture; one that ends moves over. Above them stands how the
    server is doing."""
    write_record(tmp_path / "connect_four.json", rulesheets.text("connect_four"))
    gallery = Gallery()
    statistics = Statistics()
    statistics.lateness.add(0.25)
    statistics.lateness.add(0.002)
    statistics.margin, statistics.workers_lost = 0.4, 2
    async with served(gallery, [tmp_path], statistics.match_day) as address, windows:
        reversi = Course(gallery, "reversi_holes", rulesheets.text("reversi_holes"))
        reversi.play(14)
        reversi.transcript.say("thinking")
        line = Course(gallery, "breakthrough", rulesheets.text("breakthrough"))
        line.play(9)
        window = await windows.open(address)
        await window.see("section:has(#running-title) .card:nth-child(2) .thumbnail svg")
        await window.see("section:has(#over-title) .card .thumbnail svg")
        assert await window.page.locator(".card").count() == 3
        line.transcript.run_clock(time.monotonic() + 600, 700)
        day = await window.see(".day:has-text('answer due in')")
        told = await day.inner_text()
        assert "250 ms at most; latest 250 ms, 2.0 ms" in told
        assert "400 ms" in told
        assert "processes lost: 2" in told
        assert re.search(r"server \d+ MiB", told)
        assert "Reversi holes\nas black; clocks 30 and 10 s; thinking" in told
        await window.keep("overview")
        line.transcript.end("stopped")
        await window.see("section:has(#over-title) .card:nth-child(2)")
        dark = await windows.open(address, dark=True)
        await dark.see("section:has(#over-title) .card:nth-child(2) .thumbnail svg")
        await dark.keep("overview-dark")


async def show_boards(windows: Windows, *games: tuple[str, str, int, str]) -> None:
    """Shows matches with boards, thoughts and values, in one window; a game is a name, its rules, steps, a picture."""
    gallery = Gallery()
    async with served(gallery) as address, windows:
        window = None
        for game, source, steps, picture in games:
            course = Course(gallery, game, source)
            course.play(steps)
            course.transcript.phase = "thinking"
            course.transcript.run_clock(time.monotonic() + 7, 10, 0.4)
            if window is None:
                window = await windows.open(address + course.path)
            else:
                await window.page.goto(address + course.path)
            await window.see(f".match[data-ply='{steps}'] .diagram svg.board")
            await window.see(".thought .value")
            await window.keep(picture)


@pytest.mark.e2e
async def test_boards_of_own_games(windows: Windows) -> None:
    """Matches of the project's own games, of two players and of one."""
    steps = {"blokbox": 10, "eight_puzzle": 5}
    await show_boards(windows, *((game, rulesheets.text(game), steps[game], game) for game in steps))


@pytest.mark.e2e
async def test_boards_of_other_games(windows: Windows, corpus: Path) -> None:
    """Other authors' games are drawn as well, with letters and with hexagons."""
    steps = {"chess": 12, "hex": 14}
    await show_boards(windows, *((game, (corpus / f"{game}.kif").read_text(), steps[game], game) for game in steps))


@pytest.mark.e2e
async def test_a_proof_says_in_how_many_plies(windows: Windows) -> None:
    """If the plies to the end are known, the page shows them instead of "proven"."""
    gallery = Gallery()
    async with served(gallery) as address, windows:
        course = Course(gallery, "tic_tac_toe", rulesheets.text("tic_tac_toe"))
        move = course.machine.legal(course.state, 0)[0]
        course.transcript.think(0, Opinion(move, Score(100.0, proven=True, plies=5), final=True), "alpha-beta", "")
        window = await windows.open(address + course.path)
        await window.see(".thought .value")
        assert "wins in 5 plies" in await window.page.locator(".thought .value").inner_text()


@pytest.mark.e2e
async def test_phone_and_dark(windows: Windows) -> None:
    """On a phone nothing is wider than the screen; in the dark the page is dark."""
    gallery = Gallery()
    async with served(gallery) as address, windows:
        course = Course(gallery, "reversi", rulesheets.text("reversi"))
        course.play(18)
        window = await windows.open(address + course.path, size=PHONE, dark=True)
        await window.see(".match[data-ply='18'] .diagram svg.board")
        wide, dark = await window.page.evaluate(
            "() => [document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]"
        )
        assert wide <= PHONE["width"]
        assert max(map(int, re.findall(r"\d+", dark)[:3])) < 64
        await window.keep("phone-dark")


@pytest.mark.e2e
async def test_page_is_read_by_landmarks(windows: Windows) -> None:
    """Screen readers find landmarks, names of buttons, the ply in words, and a live region."""
    gallery = Gallery()
    async with served(gallery) as address, windows:
        course = Course(gallery, "tic_tac_toe", rulesheets.text("tic_tac_toe"))
        course.play(2)
        window = await windows.open(address + course.path)
        await window.see(".match[data-ply='2']")
        page: Any = window.page
        for role, name in (
            ("banner", None),
            ("main", None),
            ("navigation", "Replay"),
            ("region", "Position"),
            ("region", "Moves"),
            ("button", "Back"),
            ("slider", "Ply"),
        ):
            found = page.get_by_role(role, name=name) if name else page.get_by_role(role)
            assert await found.count() == 1, (role, name)
        assert await page.get_by_role("slider").get_attribute("aria-valuetext") == "ply 2 of 2"
        assert await page.locator("[aria-live='polite']").count() == 1
        await page.keyboard.press("Tab")
        assert await page.locator(":focus").inner_text() == "Skip to the content"
