"""A person plays at the page: by clicking, by the list of moves, with hints and taking back."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Sequence

import aiohttp
import pytest

from agent.errors import InputError
from agent.refereeing.hosting import Hosting
from agent.refereeing.house_players import RandomMove
from agent.refereeing.referee import MatchWatcher
from agent.web.access import TOKEN_HEADER
from agent.web.transcript import Transcript
from games import rulesheets
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from games.machine import State, StateMachine, Term
from protocol.kif import read_rulesheet
from tests.agent.playing.hidden_games import BLIND_TIC_TAC_TOE, CARDS

from .conftest import Window, Windows, told

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Table:
    """A match between a person and a house player, and its page."""

    def __init__(
        self, game: str, players: tuple[str, ...], human_clock: float | None = None, port: int = 0, source: str = ""
    ) -> None:
        rules = read_rulesheet(source or rulesheets.text(game))
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
    await (await window.see(f"[data-square].choice[aria-label^='{chr(96 + x)}{y}:']")).click()


@pytest.mark.e2e
async def test_game_is_won_by_clicks(windows: Windows) -> None:
    """Clicking squares wins tic-tac-toe against a player that takes the first cell that is free."""
    table = Table("tic_tac_toe", ("human", "legal"))
    async with table.hosted() as running, windows:
        window = await windows.open(await table.address())
        # It takes 1 1, then 1 2, and does not stop three in the last column.
        for y, plies in ((1, 2), (2, 4)):
            await window.see(f".match[data-plies='{plies - 2}'] .turn.yours")
            await click_cell(window, 3, y)
            await window.see(f".match[data-plies='{plies}'] .turn.yours")
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
async def test_person_chooses_while_players_get_ready(windows: Windows) -> None:
    """A person may move while another player takes its time for START, and sees its clock then."""

    async def be_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(be_silent, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        table = Table("tic_tac_toe", ("human", f"http://127.0.0.1:{port}"))
        async with table.hosted(), windows:
            window = await windows.open(await table.address())
            await click_cell(window, 2, 2)
            await window.see(".clock:not([hidden])")
            assert "the start clock runs" in await window.page.inner_text(".phase")
            waits = table.record.view()["waits"]
            assert [(role, wait["for"], wait["clock"]["total"]) for role, wait in waits.items()] == [
                (1, "gets ready", 600)
            ]
            await window.page.close()


@pytest.mark.e2e
async def test_moves_are_narrowed_argument_by_argument(windows: Windows) -> None:
    """With many moves the list asks for one argument after the other; a square narrows as well, and Escape forgets."""
    table = Table("breakthrough", ("human", "random"))
    async with table.hosted(), windows:
        window = await windows.open(await table.address())
        page = window.page
        await window.see(".turn.yours .buttons .move")
        many = len(table.machine.legal(table.machine.initial(), 0))
        assert many > 14
        assert await page.locator(".buttons .move").count() < many
        await page.locator(".buttons .move").first.click()
        await window.see(".chooser button:has-text('Choose anew'):not([hidden])")
        await page.keyboard.press("Escape")
        await window.gone(".chooser button:has-text('Choose anew')")
        await window.see("[data-square].choice")
        choices = await page.locator("[data-square].choice").count()
        await page.locator("[data-square].choice").first.focus()
        await page.keyboard.press("Enter")
        await window.see(".chooser button:has-text('Choose anew'):not([hidden])")
        assert await page.locator("[data-square].choice").count() < choices
        # The piece's destinations are marked now.
        assert await page.locator("[data-square].choice:not(.first) .o:visible").count() > 0
        left = await page.locator(".buttons .move").count()
        assert 1 < left < many
        await page.locator(".buttons .move").last.click()
        await window.see(".match[data-plies='2'] .turn.yours")
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


async def test_what_a_person_may_not_know_stays_hidden() -> None:
    """The page gets percepts, own moves and what follows from them; everything once the match is over."""
    table = Table("cards", ("human", "legal", "referee"), source=CARDS)
    async with table.hosted() as running, aiohttp.ClientSession() as session:
        root, match, headers = await asked(table, session)
        session.headers.update(headers)
        found = await told(session, root, table.record.key)
        facts = table.record.states[1]
        (own,) = (fact[2] for fact in facts if fact[:2] == ("has", "player"))
        (other,) = (fact[2] for fact in facts if fact[:2] == ("has", "dealer"))
        assert f'"percepts": {{"0": ["(dealt {own})"]}}'.encode() in found
        assert f"has player {own}".encode() in found
        assert b'"moves": ["wait", null, null]' in found
        assert b"once the match is over" in found
        for hidden in (f"dealer {other}", "(deal ", f"dealt {other}", f"player {other}"):
            assert hidden.encode() not in found
        async with session.ws_connect(f"{match}") as socket:
            view = await socket.receive_json()
            assert (view["eyes"], view["seat"]["hint"], view["steps"][1]["states"]) == (0, False, 2)
            await (await session.post(f"{match}/move", json={"ply": 1, "role": 0, "move": "bet"})).read()
            while view["outcome"] == "running":
                view = await socket.receive_json()
            # The page may go on with what it has from before.
            assert view["steps"][1]["moves"] == ["wait", "wait", f"(deal {own} {other})"]
            found = await told(session, root, table.record.key)
            assert f"has dealer {other}".encode() in found
            assert b'"states": [[' in found
        await running


async def test_two_people_at_one_page_see_what_their_roles_know() -> None:
    """The page has the eyes of the one who is asked; taken cells are what each has been told."""
    table = Table("blind", ("human", "human"), source=BLIND_TIC_TAC_TOE)
    async with table.hosted(), aiohttp.ClientSession() as session:
        root, match, headers = await asked(table, session)
        session.headers.update(headers)
        shown = []
        for ply, (role, cell) in enumerate([(0, 5), (1, 5), (1, 1)], 1):
            move = {"ply": ply - 1, "role": role, "move": f"(try {cell})"}
            await (await session.post(f"{match}/move", json=move)).read()
            while (view := await (await session.get(match)).json())["seat"] is None or view["plies"] < ply:
                await asyncio.sleep(0.01)
            found = await told(session, root, table.record.key, f"/{table.record.key}/positions/{ply}")
            marks = set(re.findall(r"\(mark . .\)", found.decode()))
            shown.append((view["eyes"], view["steps"][ply]["moves"], view["steps"][ply]["states"], marks))
    assert shown == [
        (1, [None, "wait"], 9, set()),
        (1, [None, "(try 5)"], 1, {"(mark 5 x)"}),
        (0, ["wait", None], 8, {"(mark 5 x)"}),
    ]


@pytest.mark.parametrize("other", ["random", "silent"])
async def test_person_takes_back_and_resigns_while_others_think(monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    """Nobody has to wait for an answer to get out, or for START of who gets ready."""

    async def think(player: RandomMove, legal: Sequence[Term], state: State) -> Term:
        return legal[0] if len(legal) == 1 else await asyncio.Event().wait()

    async def be_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    monkeypatch.setattr(RandomMove, "choose", think)
    silent = await asyncio.start_server(be_silent, "127.0.0.1", 0)
    if other == "silent":
        other = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}"
    table = Table("tic_tac_toe", ("human", other))
    async with silent, table.hosted() as running, aiohttp.ClientSession() as session:
        _, match, headers = await asked(table, session)
        session.headers.update(headers)

        async def post(action: str, **data: object) -> None:
            async with session.post(f"{match}/{action}", json={"role": 0, **data}) as response:
                assert response.status == 200

        await post("move", ply=0, move="(mark 2 2)")
        if other == "random":
            for move in ("(mark 1 1)", "(mark 1 2)"):
                while not table.record.moves:
                    await asyncio.sleep(0.01)
                await post("undo", ply=1)
                await asked(table, session)
                assert table.record.moves == []
                await post("move", ply=0, move=move)
        await post("resign")
        await running
    assert (table.record.outcome, table.record.resigned) == ("resigned", 0)


async def test_port_that_is_taken_is_said() -> None:
    """If the page cannot be served, the command fails with a reason before the match begins."""
    table = Table("tic_tac_toe", ("human", "legal"))
    async with table.hosted():
        port = int((await table.address()).split(":")[2].partition("/")[0])
        with pytest.raises(InputError, match=f"port {port}"):
            await Table("tic_tac_toe", ("human", "legal"), port=port).hosting.run()
