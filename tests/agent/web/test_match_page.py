"""The match page in a browser: one tab stop, previews, reasons, own variations of a match that is over."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.record.match import PlayerError
from agent.search.engine import Candidate, Opinion, Score
from agent.web.gallery import Gallery
from games import rulesheets

from .conftest import Course, Window, Windows, make_a_move, served
from .test_pages import write_record
from .test_playing import Table

pytestmark = pytest.mark.asyncio(loop_scope="session")

PIECES = ".diagram [data-square] > .pc"


@contextlib.asynccontextmanager
async def seated(windows: Windows, game: str, *players: str) -> AsyncIterator[tuple[Table, Window, asyncio.Task[None]]]:
    """A match, its page, and its course, once the person there is asked."""
    table = Table(game, players)
    async with table.hosted() as running, windows:
        window = await windows.open(await table.address())
        await window.see(".turn.yours .move")
        yield table, window, running


async def focused(window: Window) -> str | None:
    """The square with the focus."""
    square: str | None = await window.page.evaluate("document.activeElement.dataset.square ?? null")
    return square


async def wait_for(window: Window, count: int, selector: str) -> None:
    """Waits until there are so many elements."""
    counted = "([selector, count]) => document.querySelectorAll(selector).length === count"
    await window.page.wait_for_function(counted, arg=[selector, count])


async def test_board_is_one_tab_stop(windows: Windows) -> None:
    """Arrows move on it, the square keeps the focus from move to move, and the ring is drawn above all squares."""
    async with seated(windows, "breakthrough", "human", "legal") as (_, window, _):
        page = window.page
        assert await page.locator(".diagram [tabindex='0']").count() == 1
        stops = 0
        while await focused(window) is None:
            await page.keyboard.press("Tab")
            stops += 1
        assert stops < 10
        begun = await focused(window)
        await page.keyboard.press("ArrowRight")
        assert await focused(window) != begun
        assert await page.locator(".diagram [tabindex='0']").count() == 1
        ring = page.locator(".diagram svg > :last-child")
        place = await page.evaluate("document.activeElement.getAttribute('transform')")
        assert await ring.get_attribute("transform") == place
        assert "/0" not in page.url
        # A piece, its destination, and the answer.
        await page.keyboard.press("Enter")
        await page.keyboard.press("ArrowUp")
        goal = await focused(window)
        await page.keyboard.press("Enter")
        await window.see(".match[data-ply='2'] .turn.yours")
        assert await focused(window) == goal
        assert await page.locator(".diagram [tabindex='0']").count() == 1


async def test_moves_are_shown_before_they_are_made(windows: Windows) -> None:
    """Pointing at a square or a button shows ghosts of what its move changes; a piece clicked again is let go.

    A button that is being pressed stays when there is news of the match.
    """
    async with seated(windows, "breakthrough", "human", "legal") as (table, window, _):
        page = window.page
        await (await window.see(".diagram .target")).click()
        await window.see(".chooser button:has-text('Choose anew')")
        destination = page.locator(".diagram .target:not(.first)").first
        await destination.hover()
        await wait_for(window, 1, ".ghost")
        assert await page.locator(".leaving").count() == 2
        await page.locator("h1").hover()
        await wait_for(window, 0, ".ghost")
        await page.locator(".chooser .move").first.focus()
        await wait_for(window, 1, ".ghost")
        await window.keep("a-move-before-it-is-made")
        await page.locator(".diagram .first.target").first.click()
        await window.gone(".chooser button:has-text('Choose anew')")
        assert table.record.plies == 0
        await page.locator(".chooser .move").first.hover()
        await page.mouse.down()
        table.record.blame(PlayerError(table.record.roles[1], 0, "start", "late", "no reply within 5 s"))
        await window.see(".errors li")
        await page.mouse.up()
        await window.see(".chooser button:has-text('Choose anew')")


async def test_moves_offered_are_those_of_this_position(windows: Windows) -> None:
    """Buttons of the last turn are gone before the position of this one is drawn."""
    async with seated(windows, "breakthrough", "human", "legal") as (_, window, _):
        page, drawn = window.page, asyncio.Event()

        async def later(route: Any) -> None:
            await drawn.wait()
            await route.continue_()

        await page.route("**/positions/*", later)
        await make_a_move(window, 0)
        await window.see(".match[data-plies='2'] .turn.yours")
        assert await page.locator(".turn .move").count() == 0
        drawn.set()
        await window.see(".match[data-ply='2'] .turn .move")


async def test_reasons_are_those_of_the_move_just_made(windows: Windows) -> None:
    """Visits decide, and so they are shown and in order; values of single visits are chance and are not."""
    gallery = Gallery()
    async with served(gallery) as address, windows:
        course = Course(gallery, "tic_tac_toe", rulesheets.text("tic_tac_toe"))
        first, second, third = course.machine.legal(course.state, 0)[:3]
        looked = (
            Candidate(second, Score(59.0), 30),
            Candidate(first, Score(55.9), 900),
            Candidate(third, Score(100.0), 1),
        )
        course.transcript.think(0, Opinion(first, Score(55.9), True, {"playouts": 931}, looked, (first,)), "tree", "")
        course.step(first, "noop")
        chance = Opinion(second, Score(100.0), True, {"playouts": 13}, (), ())
        course.transcript.think(1, chance, "tree", "")
        course.step("noop", second)
        course.transcript.think(0, Opinion(third, Score(20.0), True, {"playouts": 931}, (), ()), "tree", "")
        window = await windows.open(address + course.path + "/1")
        page = window.page
        await window.see(".thinking .candidates")
        assert (await page.locator(".thinking h2").inner_text()).lower().startswith("why ")
        rows = [await row.locator("td").all_inner_texts() for row in await page.locator(".candidates tbody tr").all()]
        assert [row[1:] for row in rows] == [["900", "55.9"], ["30", "59.0"], ["1", "\u2013"]]
        assert await page.locator(".candidates .chosen").count() == 1
        # The second player's value is left out, and the first one's fell by the second move.
        assert await page.locator(".plot .line").count() == 1
        lost = page.locator(".moves .lost")
        assert await lost.count() == 1
        assert await lost.evaluate("one => one.closest('li').dataset.ply") == "1"


async def test_variations_of_a_match_that_is_over(windows: Windows, tmp_path: Path) -> None:
    """From any position, own moves make variations; those of the match stay on its line; each can be gone to again."""
    record = write_record(tmp_path / "three.json", rulesheets.text("tic_tac_toe"))
    async with served(Gallery(), [tmp_path]) as address, windows:
        window = await windows.open(address)
        await (await window.see(".card")).click()
        page = window.page
        await page.locator(".analysis button", has_text="Analyse").click()
        await page.keyboard.press("Home")
        await window.see(".match[data-ply='0'] .diagram .target")
        _, x, y = record.moves[0][0]
        await page.locator(f".diagram [data-square='{x} {y}']").click()
        await window.see(".match[data-ply='1'] .diagram .target")
        assert await page.locator(".variations li").count() == 0
        made = {f"{x} {y}" for x, y in ((move[1], move[2]) for moves in record.moves[:2] for move in moves if move[1:])}
        free = [f"{x} {y}" for x in "123" for y in "123" if f"{x} {y}" not in made]
        for number, square in enumerate(free[:2], 1):
            await page.locator(f".diagram .target[data-square='{square}']").click()
            await wait_for(window, number, ".variations button")
            await wait_for(window, number + 1, PIECES)
        await window.keep("variations")
        await page.keyboard.press("ArrowLeft")
        await window.see(".variations button:nth-of-type(1)[aria-current]")
        await page.keyboard.press("ArrowLeft")
        await wait_for(window, 1, PIECES)
        await page.locator(".variations button").last.click()
        await window.see(".variations button:nth-of-type(2)[aria-current]")
        await wait_for(window, 3, PIECES)
        assert json.loads((tmp_path / "three.json").read_text())["steps"] == len(record.moves)


async def test_nothing_is_told_before_the_person_has_chosen(windows: Windows) -> None:
    """What another player thinks of choosing at the same time is on the page with the joint move, and not before."""
    async with seated(windows, "rock_paper_scissors", "human", "legal") as (table, window, _):
        page = window.page
        candidates = tuple(Candidate(move, Score(60.0), 500) for move in table.record.last.legal[1])
        table.record.think(1, Opinion(("show", "rock"), Score(60.0), True, {"playouts": 900}, candidates), "tree", "")
        await page.reload()
        await window.see(".turn.yours .move")
        assert not await page.locator(".thinking").is_visible()
        assert "900" not in await page.content()
        await page.locator(".chooser .move").first.click()
        await window.see(".match[data-ply='1'] .thinking .candidates")
        assert "900" in await page.content()


async def test_cards_of_others_are_hidden(windows: Windows) -> None:
    """A person sees its percepts, own moves and card; those of others when the match is over."""
    async with seated(windows, "bluff", "human", "legal", "referee") as (table, window, running):
        page = window.page
        facts = table.record.last.facts
        assert facts is not None
        cards = {fact[1]: fact[2] for fact in facts if fact[0] == "holds"}
        note = await page.locator(".note").inner_text()
        assert note.startswith("You saw: ")
        shown = await page.locator(".facts").inner_text()
        assert f"left {cards['left']}" in shown
        assert str(cards["right"]) not in shown
        await window.keep("hidden-cards")
        await page.get_by_role("button", name="Resign").click()
        await page.get_by_role("button", name="Really resign?").click()
        await window.see(".match[data-outcome='resigned'] .facts")
        await window.see(f".facts :text('right {cards['right']}')")
        await page.close()
        await running
