"""The lobby's side of HTTP: games, checks of rulesheets, records, bounds, and who may ask."""

from __future__ import annotations

import asyncio
import io
import ipaddress
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from yarl import URL

from agent.lobby import matches, site
from agent.lobby.benches import kept_benches
from agent.lobby.checker import Checker
from agent.lobby.child import Child
from agent.lobby.site import LobbySite
from agent.web.access import TOKEN_HEADER, Access
from agent.web.hosting import serve_here
from agent.web.transcript import Transcript
from games import rulesheets
from games.child_process import Bounds
from protocol import infix, kif

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENDLESS = """
(role a) (n 0) (legal a go) (goal a 0) (<= terminal (true (f 0)))
(d 0) (d 1) (d 2) (d 3) (d 4) (d 5) (d 6) (d 7) (d 8) (d 9)
(<= (init (f ?a ?b ?c ?d ?e ?f ?g ?h)) (d ?a) (d ?b) (d ?c) (d ?d) (d ?e) (d ?f) (d ?g) (d ?h))
"""
"""Rules with 10^8 facts in the first position."""


TOKEN = "token"


class Page:
    """The page in a browser, without the browser."""

    def __init__(self, address: str, session: aiohttp.ClientSession, records: Path) -> None:
        self.address = address
        self.records = records
        self.session = session

    async def get(self, path: str, **headers: str) -> Any:
        """Returns the JSON data at a path."""
        async with self.session.get(self.address + path, headers=headers) as response:
            assert response.status == 200, await response.text()
            return await response.json()

    async def post(self, path: str, data: object, expected: int = 200, **headers: str) -> Any:
        """Posts JSON data as the page does; returns the answer's, or its text where another status is expected."""
        given = {"Origin": self.address, **headers}
        body = io.BytesIO(json.dumps(data).encode())
        async with self.session.post(self.address + path, data=body, headers=given) as response:
            assert response.status == expected, await response.text()
            return await response.json() if expected == 200 else await response.text()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Page]:
    """The page of a lobby without matches."""
    records, folder = tmp_path_factory.mktemp("records"), tmp_path_factory.mktemp("folder")
    lobby = LobbySite(records, folder, access=Access(token=TOKEN), given=("own", "(role me)"), ahead=False)
    async with serve_here(lobby) as address, aiohttp.ClientSession(headers={TOKEN_HEADER: TOKEN}) as session:
        yield Page(address, session, records)


async def test_every_own_game_has_a_card(page: Page) -> None:
    """With its roles, the first sentence about it, what it is a variant of, and its first position drawn."""
    while (lobby := await page.get("/page/lobby"))["drawing"]:
        await asyncio.sleep(0.01)
    games = {game["name"]: game for game in lobby["games"]}
    assert sorted(games) == rulesheets.names()
    assert games["tic_tac_toe"]["sentence"] == "Tic-tac-toe: three in a line on a 3 by 3 board."
    assert games["tic_tac_toe"]["roles"] == ["x", "o"]
    variants = {name: game["variant"] for name, game in games.items() if game["variant_of"] == "reversi"}
    assert variants.keys() == {"reversi_holes", "reversi_keep_turn", "reversi_tally"}
    assert variants["reversi_holes"] == "four cells are blocked"
    assert [name for name, game in games.items() if game["hidden"]] == ["bluff"]
    assert games["bluff"]["roles"] == ["left", "right"]
    assert all(game["picture"]["known"] and game["sentence"].endswith(".") for game in games.values())
    assert games["reversi"]["picture"]["svg"][0].startswith("<svg")
    assert lobby["given"] == {"name": "own", "text": "(role me)"}
    assert 0 <= lobby["kernels"]["ready"] <= lobby["kernels"]["of"]
    assert (await page.get("/page/lobby/sheets/reversi"))["text"] == rulesheets.text("reversi")


async def test_sheet_is_checked_like_by_validate(page: Page) -> None:
    """A mistake has its line and a caret; a sheet without errors has its roles, without nature, and a picture."""
    wrong = await page.post("/page/lobby/check", {"text": "(role x)\n(legal x (go)"})
    assert wrong["roles"] is wrong["picture"] is None
    (remark,) = wrong["diagnostics"]
    assert (remark["severity"], remark["line"], remark["column"]) == ("error", 2, 1)
    assert remark["excerpt"] == "    (legal x (go)\n    ^"
    (remark,) = (await page.post("/page/lobby/check", {"text": "\ufffdPNG\r\n\0\0(\ufffd) ) IHDR"}))["diagnostics"]
    assert "no text" in remark["message"]
    right = await page.post("/page/lobby/check", {"text": rulesheets.text("reversi") + "(role random)"})
    assert right["roles"] == ["black", "red"]
    assert right["picture"]["svg"]
    text = infix.write_rulesheet((*kif.read_rulesheet(rulesheets.text("reversi")), ("role", "random")))
    assert (await page.post("/page/lobby/check", {"text": text}))["picture"] == right["picture"]


async def test_sheet_that_explodes_costs_its_own_check_only() -> None:
    """It is refused within bounds, also where the checking process itself is lost, and the next one is checked."""
    checker = Checker(Bounds(cpu_seconds=1, memory_bytes=1 << 30))
    try:
        for text in ("(" * 200_000, ENDLESS):
            refused = await checker.check(text)
            assert refused["picture"] is refused["roles"] is None
            assert refused["diagnostics"][0]["severity"] == "error"
        lost = asyncio.create_task(checker.check(ENDLESS))
        await asyncio.sleep(0)
        assert checker._process is not None
        os.kill(checker._process.child.pid, signal.SIGKILL)
        assert "cannot be checked" in (await lost)["diagnostics"][0]["message"]
        assert (await checker.check(rulesheets.text("tic_tac_toe")))["roles"] == ["x", "o"]
        # Also where it ends unasked.
        os.kill(checker._process.child.pid, signal.SIGKILL)
        while not checker._process.lost:
            await asyncio.sleep(0.01)
        assert (await checker.check(rulesheets.text("tic_tac_toe")))["roles"] == ["x", "o"]
    finally:
        await checker.close()


async def test_sheet_does_not_wait_for_heavy_ones() -> None:
    """It is checked beside those that use up their bounds."""
    checker = Checker(Bounds(cpu_seconds=600, memory_bytes=1 << 30))
    heavy = [asyncio.create_task(checker.check(ENDLESS)) for _ in range(3)]
    light = asyncio.create_task(checker.check(rulesheets.text("tic_tac_toe")))
    first, _ = await asyncio.wait((*heavy, light), return_when=asyncio.FIRST_COMPLETED)
    assert first == {light}
    assert light.result()["roles"] == ["x", "o"]
    await checker.close()
    assert all("cannot be checked" in task.result()["diagnostics"][0]["message"] for task in heavy)


async def test_flood_of_uploads_stays_within_bounds(page: Page) -> None:
    """Too large is a 413 whatever it is, too many at once are told to wait, and the page goes on."""
    text = "; " + "x" * site.MOST_SHEET_BYTES
    await page.post("/page/lobby/check", {"text": text}, 413)
    await page.post("/page/lobby/matches", {"text": text + text + text, "players": []}, 413)

    async def flood() -> int:
        async with page.session.post(f"{page.address}/page/lobby/check", json={"text": "(role x)"}) as response:
            return response.status

    statuses = await asyncio.gather(*(flood() for _ in range(30)))
    assert set(statuses) == {200, 503}
    assert (await page.post("/page/lobby/check", {"text": rulesheets.text("tic_tac_toe")}))["roles"] == ["x", "o"]


async def test_other_origins_are_refused(page: Page) -> None:
    """A page of another origin can neither start nor read anything, nor listen; nor can who lacks the token."""
    evil = {"Origin": "http://evil.example"}
    wanted = {"name": "tic_tac_toe", "players": ["random", "random"]}
    for path in ("check", "matches", "records", "benches"):
        await page.post(f"/page/lobby/{path}", wanted, 403, **evil)
        await page.post(f"/page/lobby/{path}", wanted, 403, **{TOKEN_HEADER: "guess"})
        await page.post(f"/page/lobby/{path}", wanted, 403, Host="evil.example")
    for path in ("/page/lobby", "/page/matches", "/page/lobby/sheets/reversi"):
        async with page.session.get(page.address + path, headers=evil) as response:
            assert response.status == 403
            assert "Access-Control-Allow-Origin" not in response.headers
    for origin in ("http://evil.example", "null"):
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await page.session.ws_connect(f"{page.address}/page/matches", origin=origin)
    async with page.session.options(f"{page.address}/page/lobby/check", headers=evil) as response:
        assert response.status == 403
        assert "Access-Control-Allow-Origin" not in response.headers
    assert (await page.get("/page/matches"))["matches"] == []


@pytest.mark.parametrize(
    ("peer", "allowed"),
    [("192.0.2.7", True), ("::ffff:192.0.2.7", True), ("198.51.100.1", False), ("fe80::1%eth0", False)],
)
async def test_addresses_that_are_allowed_may_act(peer: str, allowed: bool) -> None:
    """A phone plays where its address was given, with the token; others are refused."""
    access = Access(allowed=[ipaddress.ip_network("192.0.2.0/24")], token=TOKEN)
    for token in (TOKEN, ""):
        headers = {TOKEN_HEADER: token, "Host": "192.0.2.1:9148"}
        request: Any = SimpleNamespace(method="POST", path="/page", remote=peer, transport=None, headers=headers)
        with nullcontext() if allowed and token else pytest.raises(web.HTTPForbidden):
            access.check_action(request)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"name": "chess"}, "no game of that name"),
        ({"name": "../../etc/passwd"}, "no game of that name"),
        ({"name": "tic_tac_toe", "players": ["random"]}, "takes 2 players"),
        ({"name": "tic_tac_toe", "players": ["random", "/bin/sh"]}, "A player is one of"),
        ({"name": "tic_tac_toe", "players": ["http://a:1", "http://a:1/"]}, "is there twice"),
        ({"name": "tic_tac_toe", "players": ["agent", "human"], "level": "absurd"}, "A level is one of"),
        ({"name": "tic_tac_toe", "players": ["agent", "human"], "seconds": 0}, "Seconds are"),
        ({"name": "tic_tac_toe", "players": ["agent", "human"], "seconds": 1e9}, "Seconds are"),
        ({"name": "tic_tac_toe", "players": ["agent", "human"], "seconds": True}, "Seconds are"),
        ({"text": "(role x) (legal", "players": ["human"]}, "rules have errors"),
        ({"text": 7, "players": ["human"]}, "no rulesheet"),
        ({"text": "(role \ud800)", "players": ["human"]}, "Half a character"),
    ],
)
async def test_match_that_makes_no_sense_is_refused(page: Page, wanted: dict[str, Any], why: str) -> None:
    """With the reason, before anything starts."""
    assert why in await page.post("/page/lobby/matches", wanted, 400)
    assert (await page.get("/page/matches"))["matches"] == []


async def test_too_many_agents_are_refused(page: Page) -> None:
    """One click never starts an agent for each of sixteen roles."""
    roles = [f"r{number}" for number in range(16)]
    text = "".join(f"(role {role}) (legal {role} go) (goal {role} 0)" for role in roles)
    wanted = {"text": f"{text} (init x) (<= terminal never)", "players": ["agent"] * 16}
    refused = await page.post("/page/lobby/matches", wanted, 409)
    assert re.match(r"16 agents are too many: this machine runs \d at once\. Choose other players", refused)
    assert (await page.get("/page/matches"))["matches"] == []


async def test_bench_takes_numbers_only(page: Page) -> None:
    """A truth value is none, though Python counts it among them."""
    for wrong in ({"matches": True, "seconds": 0.1}, {"matches": 2, "seconds": True}, {"matches": 2.0, "seconds": 1}):
        assert "number" in await page.post("/page/lobby/benches", {"name": "tic_tac_toe", **wrong}, 400)


async def test_too_many_at_once_are_refused(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matches and benches have a bound, which the answer names."""
    monkeypatch.setattr(site, "MOST_MATCHES", 0)
    monkeypatch.setattr(site, "MOST_BENCHES", 0)
    wanted = {"name": "tic_tac_toe", "players": ["random", "random"]}
    assert "0 matches are running" in await page.post("/page/lobby/matches", wanted, 409)
    bench = {"name": "tic_tac_toe", "matches": 2, "seconds": 0.1}
    assert "0 benches are running" in await page.post("/page/lobby/benches", bench, 409)


async def test_record_is_opened_shown_and_downloaded_again(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is shown as it was written; anything else is no record; the oldest opened ones make room."""
    transcript = Transcript("game", "m", ("a",), ("me",), 1, 1, key="k")
    transcript.reach(frozenset([("f", "1")]))
    transcript.move(("go",))
    transcript.reach(frozenset([("f", "2")]))
    transcript.end("finished", [100])
    record = transcript.as_json()
    key = (await page.post("/page/lobby/records", record))["key"]
    view = await page.get(f"/page/matches/{key}")
    assert (view["outcome"], view["goals"], view["plies"], view["again"]) == ("finished", [100], 1, False)
    async with page.session.get(f"{page.address}/page/matches/{key}/record") as response:
        assert response.headers["Content-Disposition"].startswith("attachment")
        assert await response.json() == record
    assert "no record" in await page.post("/page/lobby/records", {**record, "states": [["(f"]]}, 400)
    await page.post("/page/lobby/records", {"states": "x" * site.MOST_RECORD_BYTES}, 413)
    monkeypatch.setattr(site, "MOST_OPENED", 2)
    for number in range(4):
        await page.post("/page/lobby/records", {**record, "match_id": f"m{number}"})
    assert len((await page.get("/page/matches"))["matches"]) == 2


async def test_bench_that_fails_says_why(page: Page, tmp_path: Path) -> None:
    """Its page gets the last words of the process; a bench that is over is listed, can be stopped again, and outlasts
    the lobby."""
    bench = {"text": "(role x) (legal", "matches": 2, "seconds": 0.1}
    key = (await page.post("/page/lobby/benches", bench))["key"]
    async with page.session.ws_connect(f"{page.address}/page/benches/{key}") as socket:
        view = await socket.receive_json()
        while not view["done"]:
            view = await socket.receive_json()
    assert view["reports"] == [None]
    assert view["errors"][0]
    await page.post(f"/page/benches/{key}/stop", {})
    assert (await page.get(f"/page/benches/{key}"))["stopped"] is False
    assert [bench["key"] for bench in (await page.get("/page/matches"))["benches"]] == [key]
    (kept,) = kept_benches(page.records / site.BENCHES).values()
    assert kept.view() == await page.get(f"/page/benches/{key}")
    lobby = LobbySite(page.records, tmp_path, access=Access(token=TOKEN), ahead=False)
    async with serve_here(lobby) as address, aiohttp.ClientSession(headers={TOKEN_HEADER: TOKEN}) as session:
        again = Page(address, session, page.records)
        assert [bench["key"] for bench in (await again.get("/page/matches"))["benches"]] == [key]


@pytest.mark.parametrize(
    ("modules", "compilers"),
    [
        ("agent.lobby.site, agent.web.hosting", ("numba", "clingo", "games.gdl.interpreter", "games.gdl.circuit")),
        ("agent.refereeing.hosting, agent.lobby.recording", ("numba", "clingo", "games.gdl.circuit")),
    ],
)
async def test_lobby_never_loads_the_compiler(modules: str, compilers: tuple[str, ...]) -> None:
    """Rules are read by its children alone, and those of matches interpret them: they are there in a moment."""
    code = (
        f"import sys, {modules}; from agent.commands.play import _read; _read('reversi'); "
        f"print([name for name in sys.modules if name.startswith({compilers})])"
    )
    printed = await asyncio.to_thread(subprocess.check_output, [sys.executable, "-c", code], text=True)
    assert printed.strip() == "[]"


async def test_first_position_is_there_before_the_process_of_its_match(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page shows what the check of the rules has drawn, with the squares to click, while nothing else is known."""

    async def never(hosts: matches.Hosts) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(matches.Hosts, "take", never)
    key = (await page.post("/page/lobby/matches", {"name": "tic_tac_toe", "players": ["human", "random"]}))["key"]
    async with page.session.ws_connect(f"{page.address}/page/matches/{key}") as socket:
        assert (await socket.receive_json())["steps"][0]["known"]
    assert (await page.get(f"/page/matches/{key}"))["phase"] == "the match is set up"
    position = await page.get(f"/page/matches/{key}/positions/0")
    assert position["known"]
    assert position["svg"]
    assert len(position["choices"]) == 9
    await page.post(f"/page/matches/{key}/stop", {})


async def test_process_that_is_stopped_before_it_has_begun_has_not_failed() -> None:
    """Python ends with an error where Ctrl-C reaches it while it starts."""
    for _ in range(3):
        child = Child(matches.HOST)
        await child.stop()
        assert await child.wait() is None


async def test_players_of_a_match_are_swapped_by_one_role() -> None:
    """Three players play all sides in three matches."""
    plan = matches.MatchPlan("game", "", ("a", "b", "c"), ("human", "agent", "random"), 5, None, {})
    assert plan.swapped().players == ("random", "human", "agent")
    assert plan.swapped().swapped().swapped() == plan


async def test_a_match_that_is_over_answers_nothing_itself(tmp_path: Path) -> None:
    """Its record does, also for a request that was read while it ended; and while its process ends."""
    plan = matches.MatchPlan("game", "", ("a",), ("human",), 5, None, {})

    class NoHosts(matches.Hosts):
        async def take(self) -> Any:
            raise OSError("no process")

    request: Any = SimpleNamespace(method="GET", rel_url=URL("/page/matches/key"))
    match = matches.MatchProcess(plan, NoHosts(), tmp_path, None, tmp_path, lambda key: None)
    await match.over.wait()
    assert await match.forward(request) is None

    async def unavailable(_: web.Request) -> web.Response:
        return web.Response(status=503)

    async def host() -> Any:
        await served.wait()
        raise OSError("it has ended")

    served = asyncio.Event()
    hosts = NoHosts()
    hosts.take = host  # type: ignore[method-assign]
    match = matches.MatchProcess(plan, hosts, tmp_path, None, tmp_path, lambda key: None)
    await asyncio.sleep(0)
    app = web.Application()
    app.router.add_get("/page/matches/key", unavailable)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.UnixSite(runner, str(match._socket)).start()
    assert await match.forward(request) is None
    match.answers.set()
    waiting = asyncio.create_task(match.forward(request))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    served.set()
    assert await waiting is None
    await runner.cleanup()
