"""The lobby in a browser: from a click on a card to the result, rulesheets written and mended, several matches."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from games import rulesheets
from tests.agent.commands import start_command

from .conftest import Window, Windows, make_a_move

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.e2e]

NARROW = {"width": 360, "height": 740}

STICKS = """
(role first) (role second)
(init (left 4)) (init (turn first))
(follows first second) (follows second first)
(less 4 3) (less 3 2) (less 2 1) (less 1 0)
(hand left) (hand right)
(<= (legal ?r (take ?hand)) (true (turn ?r)) (hand ?hand))
(<= (legal ?r wait) (follows ?r ?other) (true (turn ?other)))
(<= (next (left ?n)) (true (left ?m)) (less ?m ?n))
(<= (next (turn ?r)) (follows ?r ?other) (true (turn ?other)))
(<= terminal (true (left 0)))
(<= (goal ?r 0) (true (turn ?r)))
(<= (goal ?r 100) (follows ?r ?other) (true (turn ?other)))
"""
"""Who takes the last stick, with either hand, wins: the second role."""

LINES = [{(x, y) for y in (1, 2, 3)} for x in (1, 2, 3)] + [{(x, y) for x in (1, 2, 3)} for y in (1, 2, 3)]
LINES += [{(1, 1), (2, 2), (3, 3)}, {(1, 3), (2, 2), (3, 1)}]


GIVEN = STICKS.replace("(left 4)", "(left 3)")
"""The sheet that the command is given."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def address(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Runs `ggp-agent play` for all tests, with a sheet; yields the address. Ctrl-C ends it."""
    folder = tmp_path_factory.mktemp("lobby")
    sheet = folder / "sticks.kif"
    sheet.write_text(GIVEN)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(folder))
        process = start_command("play", str(sheet), "--no-browser", "--port", "0")
    with process:
        try:
            assert process.stdout is not None
            line = await asyncio.to_thread(process.stdout.readline)
            found = re.search(r"http://\S+", line)
            assert found is not None, line
            yield found[0].partition("#")[0]
        finally:
            process.send_signal(signal.SIGINT)
            await asyncio.to_thread(process.wait, 60)


async def set_up(window: Window, game: str, *players: str) -> None:
    """Begins a match by the form of a game's card; `players` are as the form names them."""
    await (await window.see(f".game[data-game='{game}'] button:has-text('Set up')")).click()
    await choose_players(window, *players)


async def choose_players(window: Window, *players: str) -> None:
    """Fills in the form of a match, and begins it."""
    for place, player in enumerate(players):
        await (await window.see(f"dialog .seat-row >> nth={place}")).locator("select").select_option(label=player)
    await window.page.get_by_role("button", name="Begin").click()
    await window.see(".match[data-outcome='running']")


async def next_turn(window: Window, plies: int) -> int | None:
    """Waits until the person is asked after a ply; returns the newest ply, None where the match is over."""
    waited = await window.page.wait_for_function(
        "plies => { const match = document.querySelector('.match'), now = Number(match?.dataset.plies);"
        " if (!match?.dataset.outcome) return false; if (match.dataset.outcome !== 'running') return { plies: null };"
        " return now > plies && match.querySelector('.turn.yours') ? { plies: now } : false; }",
        arg=plies,
    )
    found: dict[str, int | None] = await waited.json_value()
    return found["plies"]


async def moves(window: Window) -> list[tuple[int, ...]]:
    """Reads the squares of the moves made so far, as numbers of their columns and rows."""
    texts = await window.page.locator(".moves code").all_inner_texts()
    return [(ord(text[0]) - ord("a") + 1, int(text[1:])) for text in texts]


def good_cell(own: set[tuple[int, ...]], others: set[tuple[int, ...]]) -> tuple[int, ...]:
    """Returns a cell that completes a line, stops one, or is central."""
    free = [(x, y) for x in (2, 1, 3) for y in (2, 1, 3) if (x, y) not in own | others]
    for marks in (own, others):
        for cell in free:
            if any(cell in line and line - {cell} <= marks for line in LINES):
                return cell
    return next((cell for cell in free if sum(cell) % 2 == 0), free[0])


async def seen_at_the_end(window: Window) -> list[str]:
    """Reads the squares and pieces of the last position, and the colours of the roles."""
    match = window.page.locator(".match")
    await window.see(f".match[data-ply='{await match.get_attribute('data-plies')}']")
    squares = window.page.locator(".diagram [data-square]")
    seen: list[str] = await squares.evaluate_all(
        "all => all.map(one => one.dataset.square + one.querySelector('.pc')?.innerHTML)"
    )
    return [*seen, str(await match.get_attribute("style"))]


async def test_a_match_is_won_from_the_lobby(windows: Windows, address: str, tmp_path: Path) -> None:
    """From a game's card to the result, again until it is won; the record is saved, and opened again."""
    async with windows:
        window = await windows.open(address)
        page = window.page
        await set_up(window, "tic_tac_toe", "You", "Random moves")
        while True:
            plies = await next_turn(window, -1)
            while plies is not None:
                made = await moves(window)
                x, y = good_cell(set(made[::2]), set(made[1::2]))
                await page.get_by_role("button", name=f"{'abc'[x - 1]}{y}", exact=True).click()
                plies = await next_turn(window, plies)
            verdict = await (await window.see(".whose")).inner_text()
            if verdict == "You won.":
                break
            assert verdict in ("You lost.", "It is a draw.")
            await page.get_by_role("button", name="Again").click()
            await window.see(".match[data-outcome='running']")
        assert await page.locator(".players .figure").all_inner_texts() == ["100", "0"]
        drawn = await seen_at_the_end(window)
        assert await page.locator(".diagram svg.board .x").count() >= 3
        await window.keep("lobby-match-won")
        async with page.expect_download() as saved:
            await (await window.see("a:has-text('Save the match')")).click()
        record = await (await saved.value).path()
        await page.locator(".brand").click()
        await window.see("section:has(#over-title) .card")
        async with page.expect_file_chooser() as chooser:
            await page.get_by_role("button", name="Open a file").click()
        again = tmp_path / "again.json"
        again.write_bytes(record.read_bytes())
        await (await chooser.value).set_files(again)
        await window.see(".match[data-outcome='finished'] .diagram svg.board")
        assert await page.locator(".whose").inner_text() == "You won."
        assert await seen_at_the_end(window) == drawn


async def test_a_sheet_is_mended_and_played(windows: Windows, address: str) -> None:
    """Pasted rules with an error show its line and a caret; mended, they are drawn, and played by keyboard. The text
    outlasts a reload."""
    async with windows:
        window = await windows.open(f"{address}#/sheet")
        page = window.page
        wrong = STICKS.replace("(next (left ?n))", "(next (left ?lost))")
        await page.get_by_label("Rulesheet").fill(wrong)
        await window.see(".sheet[data-state='wrong']")
        line = next(number for number, text in enumerate(wrong.splitlines(), 1) if "?lost" in text)
        told = await page.locator(".diagnostics li").first.inner_text()
        assert f"line {line}, column" in told
        assert "nothing binds ?lost" in told
        lines = (await page.locator(".diagnostics pre").first.text_content()).splitlines()
        assert lines[0] == wrong.splitlines()[line - 1]
        assert lines[0][lines[1].index("^") :].startswith("?lost")
        assert await page.get_by_role("button", name="Play").is_disabled()
        await window.keep("lobby-diagnostics")
        await page.get_by_role("button", name=f"line {line}").click()
        assert await page.evaluate("document.activeElement.selectionStart") == wrong.index("?lost")
        await page.get_by_label("Rulesheet").fill(STICKS)
        await window.see(".sheet[data-state='well'] .position :is(.facts, svg.board)")
        await page.reload()
        await window.see(".sheet[data-state='well']")
        assert await page.get_by_label("Rulesheet").input_value() == STICKS
        await page.get_by_role("button", name="Set up").focus()
        await page.keyboard.press("Enter")
        await window.see("dialog")
        await choose_players(window, "Random moves", "You")
        for plies in (1, 3):
            await window.see(f".match[data-plies='{plies}'] .turn.yours")
            await page.get_by_role("button", name="take left").focus()
            await page.keyboard.press("Enter")
        await window.see(".match[data-outcome='finished']")
        assert await page.locator(".whose").inner_text() == "You won."


async def test_two_matches_at_once(windows: Windows, address: str) -> None:
    """Two pages play two games at the same time; a reload and a third page go on with either."""
    async with windows:
        games = {"three_way_line": 3, "breakthrough": 2}
        pages = []
        for game, roles in games.items():
            window = await windows.open(address)
            await set_up(window, game, "You", *["Random moves"] * (roles - 1))
            pages.append(window)
        for turn in range(2):
            for window, roles in zip(pages, games.values(), strict=True):
                await make_a_move(window, turn * roles)
        await pages[0].page.reload()
        await pages[0].see(".match[data-plies='6'] .turn.yours")
        watching = await windows.open(address)
        await watching.see("section:has(#running-title) .card.live:nth-child(2) .thumbnail svg")
        await watching.keep("lobby-two-matches")
        # The card of a running match ends it, after asking; what is refused is said on the card that was pressed.
        extra = await windows.open(address)
        await set_up(extra, "tic_tac_toe", "You", "Random moves")
        begin = "data => fetch('/page/lobby/matches', { method: 'POST', body: JSON.stringify(data) }).then(it => it.ok)"
        assert await extra.page.evaluate(begin, {"name": "nim", "players": ["human", "random"]})
        await watching.page.locator(".game[data-game='breakthrough'] .play").click()
        refused = await watching.see(".game[data-game='breakthrough'] .trouble:not(:empty)")
        assert "which is the most: end one first" in await refused.inner_text()
        watching.problems[:] = [problem for problem in watching.problems if "409" not in problem]
        card = watching.page.locator(".card.live:has-text('Tic tac toe')")
        await card.get_by_role("button", name="End").click()
        await card.get_by_role("button", name="Really end?").click()
        await watching.gone(".card.live:has-text('Tic tac toe')")
        await extra.see(".match:not([data-outcome='running'])")
        await watching.page.locator(".card.live:has-text('Breakthrough')").click()
        await watching.page.wait_for_function("() => document.title.includes('Breakthrough')")
        await make_a_move(watching, 4)
        await pages[1].see(".match[data-plies='6']")
        await pages[1].page.get_by_role("button", name="Resign").click()
        await pages[1].page.get_by_role("button", name="Really resign?").click()
        await watching.see(".match[data-outcome='resigned']")
        assert await watching.page.locator(".whose").inner_text() == "You resigned."
        await pages[0].see(".match[data-outcome='running'] .turn.yours")
        assert await watching.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_reversi_is_taken_back_in_mid_game(windows: Windows, address: str) -> None:
    """One click on the card begins a match against the agent, whose native engine goes on after taking back."""
    async with windows:
        window = await windows.open(address)
        page = window.page
        await window.see(".game[data-game='reversi'] .play")
        await page.get_by_label("By time").check()
        await page.get_by_label("Seconds per move").fill("1")
        await page.get_by_label("Seconds per move").blur()
        await page.get_by_role("button", name="Play Reversi", exact=True).click()
        plies = await next_turn(window, -1)
        while plies is not None and plies < 12:
            await make_a_move(window, plies)
            plies = await next_turn(window, plies)
        assert plies is not None
        before = plies
        await page.get_by_role("button", name="Take back").click()
        await window.gone(f".match[data-plies='{before}']")
        plies = await next_turn(window, -1)
        assert plies is not None
        assert plies <= before - 2
        assert await page.locator(".moves li").count() == plies
        since, found = plies - 1, False
        # A busy machine may need a few moves until the engine is ready for the position taken back to.
        while not found and plies is not None:
            await make_a_move(window, plies)
            plies = await next_turn(window, plies)
            found = await native(window, since)
        assert found


async def native(window: Window, since: int) -> bool:
    """Returns whether the agent's thoughts after a ply are those of its engine for games like Reversi."""
    reasons = await window.page.evaluate(
        "async since => { const key = location.hash.split('/')[2];"
        " const { steps } = await (await fetch(`/page/matches/${key}`)).json();"
        " return steps.slice(since + 1).flatMap(step => Object.values(step.thinking)).map(one => one.reason); }",
        since,
    )
    return any("behave like Reversi" in reason for reason in reasons)


async def test_a_bench_is_watched_and_stopped(windows: Windows, address: str) -> None:
    """A bench of two sheets fills a table and plots while it runs, goes on in another page, and stops by a click."""
    async with windows:
        window = await windows.open(address)
        page = window.page
        await (await window.see(".game[data-game='tic_tac_toe'] button:has-text('Bench')")).click()
        form = page.get_by_role("dialog")
        await form.get_by_label("Matches").fill("900")
        await form.get_by_label("Seconds per move").fill("0.01")
        await form.get_by_role("combobox").select_option("name:three_way_line")
        await page.get_by_role("button", name="Begin").click()
        await window.see(".bench[data-done='false']:not([data-matches='0']) .figures-table tbody tr")
        await window.see(".bench .plots svg.plot polyline")
        other = await windows.open(page.url, beside=window)
        await other.see(".bench[data-done='false'] .figures-table tbody tr")
        heads = await page.locator(".figures-table thead th").all_inner_texts()
        assert heads == ["Figure", "Tic tac toe", "Three way line", "Difference"]
        await window.see(".bench .state:has-text('left')")
        rows = page.locator(".figures-table tbody tr")
        assert await rows.count() == await rows.locator(".definition cite").count()
        await window.keep("lobby-bench")
        await other.page.get_by_role("button", name="Stop").click()
        await window.see(".bench[data-done='true']")
        assert "stopped" in await page.locator(".state").inner_text()
        await page.locator(".brand").click()
        await window.see("section:has(#benches-title) .card:has-text('Tic tac toe')")


async def test_lobby_on_a_phone_and_in_the_dark(windows: Windows, address: str) -> None:
    """Every own game has a card with its first position, twenty with those given, and begins by one key; variants stand
    on one card; a search by `/` finds games; nothing is wider than a narrow screen."""
    async with windows:
        window = await windows.open(address, size=NARROW)
        page = window.page
        variants = await window.see("select[aria-label='Variant of Reversi']:has(option:nth-child(4))")
        await window.gone("text=The games are being set up")
        names = await page.locator(".game[data-game]").evaluate_all("all => all.map(one => one.dataset.game)")
        assert len(names) == 20
        others = {"reversi_holes", "reversi_keep_turn", "reversi_tally"}
        assert {*names} | others == {*rulesheets.names()}
        assert await page.locator(".lobby h2:visible").all_inner_texts() == [
            heading.upper()
            for heading in ("From the command line", "For two", "For three and more", "For one", "Not all is seen")
        ]
        await variants.select_option(label="Four cells are blocked")
        await window.see(".game[data-game='reversi_holes'] h3:text-is('Reversi holes')")
        await page.keyboard.press("Escape")
        await page.locator("main").focus()
        await page.keyboard.press("/")
        await page.keyboard.type("TOWERS of")
        assert await page.locator(".game[data-game]:visible h3").all_inner_texts() == ["Hanoi"]
        await page.keyboard.press("Enter")
        assert await page.evaluate("document.activeElement.textContent") == "Play Hanoi"
        await page.get_by_label("Search games").press("Escape")
        assert await page.locator(".game[data-game]:visible").count() == 20
        assert await page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
        await window.keep("lobby-phone")
        await page.locator(".game.given a").click()
        await window.see(".sheet[data-state='well']")
        assert await page.get_by_label("Rulesheet").input_value() == GIVEN
        assert await page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
        await window.keep("lobby-sheet-phone")
        await page.get_by_role("button", name="Bench").click()
        await window.see("dialog")
        await window.keep("lobby-bench-form-phone")
        dark = await windows.open(address, dark=True)
        await dark.see(".game .thumbnail svg")
        await dark.keep("lobby-dark")
        await dark.page.get_by_role("button", name="Play Tic tac toe", exact=True).press("Enter")
        await make_a_move(dark, 0)
        assert await next_turn(dark, 0) == 2
        assert "agent, normal" in await dark.page.locator(".players").inner_text()
        await dark.keep("lobby-match-dark")
        await dark.page.locator(".turn").get_by_role("button", name="End").click()
        await dark.page.get_by_role("button", name="End this match?").click()
        await dark.see(".match[data-outcome='aborted']")
