"""A person plays at the page: by clicking, by the list of moves, with hints and taking back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import aiohttp
import pytest

from agent.errors import InputError
from agent.refereeing.hosting import Hosting
from agent.refereeing.referee import MatchWatcher
from agent.web.access import TOKEN_HEADER
from agent.web.transcript import Transcript
from games import rulesheets
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from games.machine import StateMachine
from protocol.kif import read_rulesheet

from .conftest import Window, Windows

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Table:
    """A match between a person and a house player, and its page."""

    def __init__(self, game: str, players: tuple[str, ...], human_clock: float | None = None, port: int = 0) -> None:
        rules = read_rulesheet(rulesheets.text(game))
        self.machine: StateMachine = Interpreter(check(rules))
        self.record = Transcript(
            game, f"match.{game}", self.machine.roles, players, 600, 600, seed=1, rules=rules, key=game
        )
        self.opened: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.hosting = Hosting(self.machine, (), self.record, MatchWatcher(), port, human_clock, self._take)

    def _take(self, text: str) -> None:
        if text.startswith("play here: ") and not self.opened.done():
            self.opened.set_result(text.removeprefix("play here: "))

    async def address(self) -> str:
        """Waits for the address of the page."""
        return await self.opened

    @contextlib.asynccontextmanager
    async def hosted(self) -> AsyncIterator[asyncio.Task[None]]:
        """Runs the match; it ends with the context at the latest."""
        running = asyncio.create_task(self.hosting.run())
        try:
            yield running
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def asked(table: Table, session: aiohttp.ClientSession) -> tuple[str, str, dict[str, str]]:
    """Waits until a person is asked; returns the addresses of page and match, and the headers of who may act."""
    link, _, key = (await table.address()).partition("#/match/")
    root, _, token = link.partition("/?token=")
    match, headers = f"{root}/page/matches/{key}", {TOKEN_HEADER: token, "Origin": root}
    while (await (await session.get(match, headers=headers)).json())["seat"] is None:
        await asyncio.sleep(0.01)
    return root, match, headers


async def click_cell(window: Window, x: int, y: int) -> None:
    """Clicks a cell by its label."""
    await (await window.see(f"[data-square].choice[aria-label^='{x} {y}:']")).click()


@pytest.mark.e2e
async def test_game_is_won_by_clicks(windows: Windows) -> None:
    """Clicking squares wins tic-tac-toe against a player that takes the first cell that is free."""
    table = Table("tic_tac_toe", ("human", "legal"))
    async with table.hosted() as running, windows:
        window = await windows.open(await table.address())
        # It takes 1 1, then 1 2, and does not stop three in the last column.
        for y, plies in ((1, 2), (2, 4)):
            await window.see(f".match[data-plies='{plies - 2}'] .seat:not([hidden])")
            await click_cell(window, 3, y)
            await window.see(f".match[data-plies='{plies}'] .seat:not([hidden])")
        await window.keep("a-person-plays")
        await click_cell(window, 3, 3)
        await window.see(".match[data-outcome='finished']")
        assert await window.page.locator(".players .figure").all_inner_texts() == ["100", "0"]
        await window.page.close()
        await running
    assert table.record.outcome == "finished"
    assert table.record.goals == [100, 0]
    assert table.record.errors == []


@pytest.mark.e2e
async def test_board_is_there_while_players_get_ready(windows: Windows) -> None:
    """A person sees the first position and the start clock while another player takes its time for START."""

    async def be_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(be_silent, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        table = Table("tic_tac_toe", ("human", f"http://127.0.0.1:{port}"))
        async with table.hosted(), windows:
            window = await windows.open(await table.address())
            await window.see(".boards [data-square]")
            await window.see(".clock:not([hidden])")
            assert "the start clock runs" in await window.page.inner_text(".phase")
            await window.page.close()


@pytest.mark.e2e
async def test_moves_are_narrowed_argument_by_argument(windows: Windows) -> None:
    """With many moves the list asks for one argument after the other; a square narrows as well, and Escape forgets."""
    table = Table("breakthrough", ("human", "random"))
    async with table.hosted(), windows:
        window = await windows.open(await table.address())
        page = window.page
        await window.see(".seat:not([hidden]) .buttons .move")
        many = len(table.machine.legal(table.machine.initial(), 0))
        assert many > 14
        assert await page.locator(".buttons .move").count() < many
        await page.locator(".buttons .move").first.click()
        await window.see(".actions button:has-text('Choose anew'):not([hidden])")
        await page.keyboard.press("Escape")
        await window.gone(".actions button:has-text('Choose anew')")
        await window.see("[data-square].choice")
        choices = await page.locator("[data-square].choice").count()
        await page.locator("[data-square].choice").first.focus()
        await page.keyboard.press("Enter")
        await window.see(".actions button:has-text('Choose anew'):not([hidden])")
        assert await page.locator("[data-square].choice").count() < choices
        # The piece's destinations are marked now.
        assert await page.locator("[data-square].choice:not(.first) .o:visible").count() > 0
        left = await page.locator(".buttons .move").count()
        assert 1 < left < many
        await page.locator(".buttons .move").last.click()
        await window.see(".match[data-plies='2'] .seat:not([hidden])")
        assert table.record.errors == []


async def test_person_with_a_clock_loses_a_move() -> None:
    """When a person's clock is over, a random move is made, and the match goes on."""
    table = Table("tic_tac_toe", ("human", "legal"), human_clock=0.01)
    await table.hosting.run()
    assert table.record.outcome == "finished"
    assert {(error.role, error.kind) for error in table.record.errors} == {("x", "late")}


async def test_nobody_else_can_move() -> None:
    """Moves need the page's token, its own origin, a name of this machine, and to be legal and in turn."""
    table = Table("tic_tac_toe", ("human", "legal"))
    async with table.hosted(), aiohttp.ClientSession() as session:
        root, match, good = await asked(table, session)
        move = {"ply": 0, "role": 0, "move": "(mark 1 1)"}

        async def post(data: object, headers: dict[str, str], action: str = "move") -> int:
            async with session.post(f"{match}/{action}", json=data, headers=headers) as response:
                return response.status

        assert await post(move, {}) == 403
        assert await post(move, {"Origin": root}) == 403
        assert await post(move, {**good, TOKEN_HEADER: "guess"}) == 403
        assert await post(move, {**good, "Origin": "http://evil.example"}) == 403
        assert await post(move, {**good, "Host": "evil.example"}) == 403
        assert await post([1], good) == 400
        assert await post({**move, "move": "(mark 4 4)"}, good) == 409
        assert await post({**move, "ply": 1}, good) == 409
        assert await post({**move, "role": 1}, good) == 409
        assert await post(move, good, "undo") == 409
        assert await post(move, good, "castle") == 409
        assert table.record.moves == []
        assert await post(move, good) == 200
        while not table.record.moves:
            await asyncio.sleep(0.01)
        assert table.record.moves[0][0] == ("mark", "1", "1")


async def test_person_who_resigns_ends_the_match() -> None:
    """The record says who; it has no goals, as the rules give none."""
    table = Table("tic_tac_toe", ("human", "legal"))
    async with table.hosted() as running, aiohttp.ClientSession() as session:
        _, match, headers = await asked(table, session)
        for role, status in ((1, 409), (7, 409), (-1, 409), (0, 200)):
            async with session.post(f"{match}/resign", json={"role": role}, headers=headers) as response:
                assert response.status == status
        await running
    record = table.record.as_json()
    assert (record["outcome"], record["resigned"], record["goals"]) == ("resigned", 0, [])


async def test_port_that_is_taken_is_said() -> None:
    """If the page cannot be served, the command fails with a reason before the match begins."""
    table = Table("tic_tac_toe", ("human", "legal"))
    async with table.hosted():
        port = int((await table.address()).split(":")[2].partition("/")[0])
        with pytest.raises(InputError, match=f"port {port}"):
            await Table("tic_tac_toe", ("human", "legal"), port=port).hosting.run()
