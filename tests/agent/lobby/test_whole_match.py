"""`ggp-agent play` from its first line to Ctrl-C, as a page uses it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import resource
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent.processes import descendants
from agent.web.access import TOKEN_HEADER
from agent.web.records import record_key
from games import rulesheets
from tests.agent.commands import Command, start_command
from tests.explosion import EXPLOSION
from tests.processes import runs, until

pytestmark = pytest.mark.e2e


class Lobby:
    """A running lobby."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def post(self, path: str, data: dict[str, Any]) -> dict[str, Any]:
        """Posts as the page does."""
        async with self.session.post(path, json=data) as response:
            assert response.status == 200, await response.text()
            answer: dict[str, Any] = await response.json()
            return answer

    async def get(self, path: str) -> dict[str, Any]:
        """Returns the data at a path."""
        async with self.session.get(path) as response:
            assert response.status == 200, await response.text()
            answer: dict[str, Any] = await response.json()
            return answer

    async def begin(self, *players: str, **options: object) -> str:
        """Begins a match of tic-tac-toe; returns its key."""
        match = {"name": "tic_tac_toe", "players": players, "seconds": 1, **options}
        return str((await self.post("/page/lobby/matches", match))["key"])

    async def outcome(self, key: str) -> str:
        """Returns how a match has ended, once the overview says that it has: its own page may say so earlier."""
        outcome = "running"
        while outcome == "running":
            await asyncio.sleep(0.05)
            outcomes = {match["key"]: match["outcome"] for match in (await self.get("/page/matches"))["matches"]}
            outcome = outcomes[key]
        return outcome

    async def news(self, key: str) -> AsyncIterator[dict[str, Any]]:
        """Yields the views of a match that its page gets."""
        async with self.session.ws_connect(f"/page/matches/{key}", max_msg_size=1 << 24) as socket:
            async for message in socket:
                yield message.json()

    async def asked(self, key: str) -> dict[str, Any]:
        """Waits until a person is asked; returns the view."""
        async with contextlib.aclosing(self.news(key)) as news:
            async for view in news:
                if view["seat"]:
                    return view
        raise AssertionError("nobody is asked")

    async def act(self, key: str, action: str, view: dict[str, Any], **more: object) -> dict[str, Any]:
        """Does what the person of a view may do."""
        return await self.post(
            f"/page/matches/{key}/{action}", {"ply": view["plies"], "role": view["seat"]["role"], **more}
        )

    async def play_on(self, key: str) -> dict[str, Any]:
        """Plays the first legal moves until the match is over, for every person; returns the last view."""
        async with contextlib.aclosing(self.news(key)) as news:
            async for view in news:
                if view["outcome"] != "running":
                    return view
                if view["seat"]:
                    await self.act(key, "move", view, move=view["seat"]["moves"][0])
        raise AssertionError("the match has no end")


@contextlib.asynccontextmanager
async def connected(process: Command) -> AsyncIterator[Lobby]:
    """Connects to a lobby that has been started, with its token."""
    assert process.stdout is not None
    link = (await asyncio.to_thread(process.stdout.readline)).split()[2].partition("#")[0]
    address, token = link.split("/?token=")
    async with aiohttp.ClientSession(address, headers={TOKEN_HEADER: token}) as session:
        yield Lobby(session)


@contextlib.asynccontextmanager
async def lobby_of(*arguments: str, opens: bool = False) -> AsyncIterator[Lobby]:
    """Runs the command, which opens a browser or not; afterwards Ctrl-C ends it and all of its processes."""
    process = start_command("play", "--port", "0", *arguments, *(() if opens else ("--no-browser",)))
    try:
        async with connected(process) as lobby:
            yield lobby
        children = descendants(process.pid)
        assert children
    finally:
        process.send_signal(signal.SIGINT)
        await asyncio.to_thread(process.wait)
        process.stdout.close()
    assert process.returncode == 0
    await asyncio.to_thread(until, lambda: not any(map(runs, children)))


async def test_browser_is_opened_with_the_given_sheet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address is printed in any case; a page there gets the sheet's text."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    browser, opened, sheet = tmp_path / "browser", tmp_path / "opened", tmp_path / "my game.kif"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", str(browser))
    sheet.write_text("(role me)")
    async with lobby_of(str(sheet), opens=True) as lobby:
        assert (await lobby.get("/page/lobby"))["given"] == {"name": "my game", "text": "(role me)"}
        await asyncio.to_thread(until, opened.exists)
        await asyncio.to_thread(until, lambda: opened.read_text().endswith("#/sheet/my%20game\n"))


async def test_match_is_played_through_the_lobby(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once, taking back, the result and its record, the other side, resigning, a sheet of one's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    async with lobby_of() as lobby:
        first, second = await lobby.begin("human", "random"), await lobby.begin("random", "random")
        view = await lobby.asked(first)
        assert view["again"]
        await lobby.act(first, "move", view, move="(mark 2 2)")
        view = await lobby.asked(first)
        assert view["plies"] == 2
        await lobby.act(first, "undo", view)
        view = await lobby.asked(first)
        assert view["plies"] == 0
        assert (await lobby.play_on(second))["outcome"] == "finished"
        view = await lobby.play_on(first)
        assert view["outcome"] == "finished"
        assert view["errors"] == []
        # The page goes on with the record, under the same key.
        async with contextlib.aclosing(lobby.news(first)) as news:
            view = await anext(news)
            while not view["steps"]:
                view = await anext(news)
            assert view["goals"]
        record = await lobby.get(f"/page/matches/{first}/record")
        assert record["outcome"] == "finished"
        swapped = (await lobby.post(f"/page/matches/{first}/swap", {}))["key"]
        view = await lobby.asked(swapped)
        assert view["players"] == ["random", "human"]
        await lobby.act(swapped, "resign", view)
        view = await lobby.play_on(swapped)
        assert (view["outcome"], view["resigned"], view["goals"]) == ("resigned", 1, [])
        again = (await lobby.post(f"/page/matches/{swapped}/again", {}))["key"]
        own = await lobby.begin("human", "human", name="mine/../x", text=rulesheets.text("tic_tac_toe"))
        assert (await lobby.play_on(own))["outcome"] == "finished"
        await lobby.post(f"/page/matches/{again}/stop", {})
        assert {await lobby.outcome(key) for key in (first, second, own)} == {"finished"}
        assert await lobby.outcome(swapped) == "resigned"
        # One that runs at the end is kept, too.
        last = await lobby.begin("human", "random")
        await lobby.asked(last)
    kept = [record["outcome"] for record in read(tmp_path / "ggp-agent" / "records")]
    assert sorted(kept).count("finished") == 3
    assert kept.count("resigned") == 1
    assert kept.count("aborted") >= 1


async def test_match_is_stopped_wherever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While its process starts, while a player gets ready, while one thinks, and while a person is asked."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    ignored = b""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            request = await reader.readuntil(b"(")
            request += await reader.read(1 << 16)
            if ignored in request:
                await reader.read()
            writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/acl\r\nContent-Length: 5\r\n\r\nready")
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    player = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with lobby_of() as lobby:
        for message, players, phase in (
            (b"START", (player, "random"), "the match is set up"),
            (b"START", (player, "random"), "the players get ready: the start clock runs"),
            (b"START", ("human", player), "waiting for your move"),
            (b"PLAY", (player, "random"), "the players are asked"),
        ):
            ignored = message
            key = await lobby.begin(*players, seconds=600)
            async with contextlib.aclosing(lobby.news(key)) as news:
                async for view in news:
                    if view["phase"] == phase:
                        break
            await lobby.post(f"/page/matches/{key}/stop", {})
            assert await lobby.outcome(key) == "aborted"
            view = await lobby.get(f"/page/matches/{key}")
            assert (view["outcome"], view["errors"]) == ("aborted", [])
    server.close()


async def test_an_agent_thinks_about_any_position_of_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after other moves. A new question ends the one before; what cannot be thought about is said."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    async with lobby_of() as lobby:
        key = await lobby.begin("random", "random")
        assert (await lobby.play_on(key))["outcome"] == "finished"
        plies = (await lobby.get(f"/page/matches/{key}"))["plies"]

        def thoughts(**query: object) -> Any:
            return lobby.session.ws_connect(f"/page/matches/{key}/thoughts", params={**query})

        async with thoughts(ply=0) as first:
            told = await first.receive_json()
            assert told.get("role") == 0, told
            assert re.fullmatch(r"\(mark \d \d\)", told["thinking"]["move"])
            # Three in a row are one move away.
            line = json.dumps([["(mark 1 1)", None], [None, "(mark 2 1)"], ["(mark 1 2)", None], [None, "(mark 2 2)"]])
            async with thoughts(ply=0, line=line) as second:
                while "done" not in told:
                    last, told = told, await second.receive_json()
                assert (last["role"], last["thinking"]["move"], last["thinking"]["value"]) == (0, "(mark 1 3)", 100)
            while "done" not in (told := await first.receive_json()):
                assert told["role"] == 0
        # A match begins there, too: four marks are made already.
        begun = await lobby.begin("random", "random", record=key, ply=0, line=json.loads(line))
        view = await lobby.play_on(begun)
        assert view["outcome"] == "finished"
        assert view["plies"] <= 5
        wrong = {"name": "x", "players": ["random", "random"], "record": key, "ply": 99, "line": []}
        async with lobby.session.post("/page/lobby/matches", json=wrong) as response:
            assert (response.status, "not known" in await response.text()) == (400, True)
        for query, why in (({"ply": plies}, "over here"), ({"ply": 99}, "not known"), ({"line": "[[]]"}, "2 moves")):
            async with thoughts(**query) as socket:
                assert why in (await socket.receive_json())["error"]


async def test_rules_that_explode_stay_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Match and bench end with a sentence for the person, long before they have taken the machine's memory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    before = resource.getrlimit(resource.RLIMIT_DATA)
    # What a process may have is the machine's memory, unless it is bounded: each gets an eighth of it.
    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, before[1]))
    try:
        async with lobby_of() as lobby:
            key = await lobby.begin("random", "random", name="boom", text=EXPLOSION)
            view = await lobby.play_on(key)
            assert view["outcome"] == "aborted"
            detail = "the rules cannot go on: a position takes more memory than there is for a match"
            assert [(error["role"], error["detail"]) for error in view["errors"]] == [("referee", detail)]
            record = await lobby.get(f"/page/matches/{key}/record")
            assert (record["steps"], [error["detail"] for error in record["errors"]]) == (0, [detail])
            # Those of others are measured to the end within the same bounds.
            compared = {"name": "tic_tac_toe"}
            bench = {"name": "boom", "text": EXPLOSION, "matches": 12, "seconds": 0.02, "compare": compared}
            key = (await lobby.post("/page/lobby/benches", bench))["key"]
            async with lobby.session.ws_connect(f"/page/benches/{key}", max_msg_size=1 << 24) as socket:
                while not (view := await socket.receive_json())["done"]:
                    pass
            assert re.fullmatch(r"these rules cannot be played: more than \d+ MiB of memory", view["errors"][0])
            assert view["errors"][1] is None, view["errors"]
            assert view["reports"][1]["matches"] == 12
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


async def test_lobby_that_is_killed_leaves_records_and_nothing_else(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each match is written as it goes; temporary folders and processes go with the lobby."""
    # The path of a socket has 107 characters at most.
    temporary = tmp_path_factory.mktemp("t")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(temporary))
    records = tmp_path / "ggp-agent" / "records"
    with start_command("play", "--port", "0", "--no-browser") as process:
        async with connected(process) as lobby:
            for _ in range(2):
                key = await lobby.begin("human", "random")
                view = await lobby.asked(key)
                await lobby.act(key, "move", view, move="(mark 2 2)")
            await lobby.post("/page/lobby/benches", {"name": "tic_tac_toe", "matches": 9, "seconds": 9})
            await asyncio.to_thread(until, lambda: [record["steps"] for record in read(records)] == [2, 2])
            # Of a running match it is not what is shown.
            assert {match["outcome"] for match in (await lobby.get("/page/matches"))["matches"]} == {"running"}
            for path in records.glob("*.json"):
                key = record_key(path, json.loads(path.read_text())["match_id"])
                async with lobby.session.get(f"/page/matches/{key}/record") as response:
                    assert response.status == 404
            children = descendants(process.pid)
            process.kill()
            await asyncio.to_thread(process.wait)
    await asyncio.to_thread(until, lambda: not any(map(runs, children)))
    assert [record["outcome"] for record in read(records)] == ["aborted", "aborted"]
    assert [path for path in temporary.iterdir() if "cores" not in path.name] == []


def read(folder: Path) -> list[dict[str, Any]]:
    """The records in a folder."""
    return [json.loads(path.read_text()) for path in folder.glob("*.json")]
