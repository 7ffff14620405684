"""The HTTP side of the lobby: the page's site, with matches and benches that are begun on it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web

from agent import bounded_json
from agent.kernels.keeper import KernelKeeper
from agent.lobby.analysis import Analysis
from agent.lobby.benches import (
    KEPT,
    MOST_BENCH_MATCHES,
    MOST_BENCH_SECONDS,
    MOST_BENCHES,
    SILENT_MOVES,
    SILENT_SECONDS,
    Bench,
    KeptBench,
    kept_benches,
)
from agent.lobby.checker import Checker
from agent.lobby.matches import MOST_MATCHES, MOST_SECONDS, Hosts, MatchPlan, MatchProcess
from agent.record.spelling import read_count
from agent.refereeing.agent_process import too_many
from agent.search.kernel_groups import playing
from agent.search.levels import LEVELS
from agent.web.access import Access
from agent.web.drawing import begin_there, read_line
from agent.web.gallery import Gallery
from agent.web.records import UNREADABLE, Records, Version, read_summary, record_key
from agent.web.site import MATCH_SECONDS, OVERVIEW_SECONDS, Send, Site, as_json, is_socket, json_body, read_body
from agent.web.transcript import Transcript
from games import kernel_cache, rulesheets
from games.machine import GameError
from protocol.client import given_twice

MOST_SHEET_BYTES = 1 << 20
"""Largest rulesheet, in bytes of UTF-8."""

MOST_SHEET_BODY = 2 * MOST_SHEET_BYTES + (1 << 14)
"""Largest request with a rulesheet, in bytes: JSON spells some characters with more bytes."""

MOST_RECORD_BYTES = 6 << 20
"""Largest record that can be opened, in bytes; a page's requests may hold some more (`protocol.connections`)."""

MOST_OPENED = 20
"""Number of opened records kept; the oldest go first."""

MOST_UPLOADS = 8
"""Most requests with a rulesheet or a record at once, and so most checks."""

KEPT_MATCHES = 20
"""Number of matches that can be played again; of older ones there are just records."""

BENCHES = "benches"
"""Folder of finished benches, below that of records."""

KEEPER_SECONDS = 0.2
"""Seconds between two steps of the compilation of kernels."""

ENDING_SECONDS = 5.0
"""Longest wait for the record of a match whose page has told its end: its process writes it a moment later."""

PLAYERS = ("human", "agent", "random")
ADDRESSES = ("http://", "https://")


class LobbySite(Site):
    """Answers the page of `ggp-agent play`. Use it within its context, on the main thread."""

    def __init__(
        self,
        records: Path,
        folder: Path,
        *,
        memory: Path | None = None,
        access: Access,
        given: tuple[str, str] | None = None,
        ahead: bool = True,
    ) -> None:
        """`records` is the folder of this lobby's matches, `folder` an empty one for temporary files, such as records
        that are opened on the page, `memory` that of the agents' learning memory, None for none. `access` has a token.
        `given` are the name and text of the sheet of the command line. `ahead` is whether kernels are compiled, and a
        process is started, before a match needs them."""
        gallery = Gallery()
        self._opened = folder / "opened"
        self._opened.mkdir()
        super().__init__(
            gallery,
            title="ggp-agent play",
            access=access,
            records=Records([records, self._opened]),
        )
        self._kept = records
        self._folder = folder
        self._memory = memory
        self._given = given
        self._changed: Callable[[str], None] = gallery.tell
        self._checker = Checker()
        self._hosts = Hosts()
        self._analysis = Analysis()
        self._matches: dict[str, MatchProcess] = {}
        """Matches of this lobby, also those that are over."""
        self._benches: dict[str, Bench | KeptBench] = dict(kept_benches(records / BENCHES))
        self._keeper = KernelKeeper(playing() if ahead and kernel_cache.is_kept() else ())
        self._games: list[dict[str, Any]] = []
        self._drawing = asyncio.create_task(self._draw())
        self._uploads = 0
        self._keeping = asyncio.create_task(self._keep() if ahead else asyncio.sleep(0))

    async def close(self) -> None:
        """Ends all matches, benches and streams."""
        self._keeping.cancel()
        self._drawing.cancel()
        await asyncio.gather(
            self._keeping,
            self._drawing,
            *(match.end() for match in self._matches.values()),
            *(bench.stop() for bench in self._benches.values()),
            return_exceptions=True,
        )
        with contextlib.suppress(OSError):
            await self._hosts.close()
        await self._analysis.close()
        self._keeper.close()
        await self._checker.close()
        await super().close()

    async def _keep(self) -> None:
        """Compiles kernels, so that the first match finds them, and keeps a process ready for the next match."""
        while True:
            self._keeper.step()
            if all(match.answers.is_set() for match in self._matches.values()):
                self._hosts.prepare()
            await asyncio.sleep(KEEPER_SECONDS)

    # --- reading

    async def _show(self, request: web.Request) -> web.StreamResponse:
        match request.path.strip("/").split("/"):
            case ["page", "lobby"]:
                return as_json(self._lobby())
            case ["page", "lobby", "sheets", name] if name in rulesheets.names():
                return as_json({"name": name, "text": rulesheets.text(name)})
            case ["page", "matches", key, "thoughts"] if is_socket(request):
                return await self._show_thoughts(request, key)
            case ["page", "matches", key] if is_socket(request) and (match := self._running(key)) is not None:
                return await self.show(request, key, partial(self._look, key), MATCH_SECONDS, match.pass_on)
            case ["page", "matches", key, "positions", "0"] if (
                (match := self._running(key)) is not None and match.plan.picture and "line" not in request.query
            ):
                return as_json(match.plan.picture)
            case ["page", "matches", key, *rest] if (match := self._running(key)) is not None:
                if (answer := await match.forward(request)) is not None:
                    return answer
                if not match.answers.is_set() and not rest:
                    return as_json(match.first_view())
            case ["page", "benches", key]:
                bench = self._bench(key)

                async def report(_: int) -> dict[str, Any]:
                    return bench.view()

                return await self.show(request, key, report, OVERVIEW_SECONDS)
        return await super()._show(request)

    async def _show_thoughts(self, request: web.Request, key: str) -> web.StreamResponse:
        """Tells what an agent thinks of the position at a `ply` of a finished match, or after a `line` from there."""

        async def think(send: Send) -> None:
            try:
                ply, line = int(request.query.get("ply", "0")), bounded_json.loads(request.query.get("line", "[]"))
                rulesheet = await self._rules_there(key, ply, line)
            except (*UNREADABLE, GameError) as error:
                await send(json.dumps({"error": f"{error}"}))
            else:
                await self._analysis.think(rulesheet, send)

        async def end(_: int) -> dict[str, Any]:
            return {"done": True}

        return await self.show(request, f"thoughts of {key}", end, MATCH_SECONDS, think)

    async def _draw(self) -> None:
        """Makes the cards of our own games."""
        for name in rulesheets.names():
            text = rulesheets.text(name)
            checked = await self._checker.check(text)
            comment = _comment(text)
            variant = re.search(r"Variant of (\w+): (.+)\.$", comment)
            self._games.append(
                {
                    "name": name,
                    "sentence": re.split(r"(?<=[.!?])\s", comment, maxsplit=1)[0],
                    "variant_of": variant and variant[1],
                    "variant": variant and variant[2],
                    "hidden": checked["hidden"],
                    "roles": checked["roles"],
                    "picture": checked["picture"] and {**checked["picture"], "choices": {}},
                }
            )

    def _lobby(self) -> dict[str, Any]:
        wanted = playing()
        given = self._given
        return {
            "games": self._games,
            "drawing": not self._drawing.done(),
            "levels": list(LEVELS),
            "players": PLAYERS,
            "kernels": {"ready": len((self._keeper.ready | set(self._keeper.failed)) & set(wanted)), "of": len(wanted)},
            "given": None if given is None else {"name": given[0], "text": given[1]},
        }

    async def _overview(self) -> dict[str, Any]:
        overview = await super()._overview()
        live = [match for match in reversed(self._matches.values()) if not match.recorded]
        begun = {match.begun_key for match in live}
        kept = [match for match in overview["matches"] if match["key"] not in begun]
        overview["matches"] = [match.summary() for match in live] + kept
        return {**overview, "benches": [bench.summary() for bench in reversed(self._benches.values())]}

    async def _transcript(self, key: str) -> Transcript:
        match = self._matches.get(key)
        if match is not None and not match.recorded:
            return match.transcript
        return await super()._transcript(key)

    async def _record_of(self, key: str) -> Version | None:
        """Returns the file of a record; that of a running match may tell what its page does not yet."""
        if any(match.begun_key == key for match in self._matches.values() if not match.recorded):
            return None
        return await super()._record_of(key)

    def _beside(self, key: str) -> dict[str, object]:
        return {"again": key in self._matches, "analysis": True}

    def _running(self, key: str) -> MatchProcess | None:
        match = self._matches.get(key)
        return None if match is None or match.over.is_set() else match

    def _bench(self, key: str) -> Bench | KeptBench:
        if key not in self._benches:
            raise web.HTTPNotFound(text="There is no such bench (any more).\n")
        return self._benches[key]

    # --- acting

    async def _act(self, request: web.Request) -> web.Response:
        match request.path.strip("/").split("/"):
            case ["page", "lobby", what]:
                if self._uploads >= MOST_UPLOADS:
                    raise web.HTTPServiceUnavailable(
                        text="Too much at once: try again.\n", headers={"Retry-After": "2"}
                    )
                self._uploads += 1
                try:
                    return as_json(await self._take(what, request))
                finally:
                    self._uploads -= 1
            case ["page", "benches", key, "stop"]:
                await self._bench(key).stop()
                return as_json({})
            case ["page", "matches", key, ("again" | "swap" | "stop") as action] if key in self._matches:
                match = self._matches[key]
                await match.end()
                if action == "stop":
                    return as_json({})
                return as_json(self._begin(match.plan.swapped() if action == "swap" else match.plan))
            case ["page", "matches", key, _] if (running := self._running(key)) is not None:
                body = json.dumps(await json_body(request)).encode()
                if (answer := await running.forward(request, body)) is not None:
                    return answer
        return await super()._act(request)

    async def _take(self, what: str, request: web.Request) -> dict[str, Any]:
        """Takes what the page sends."""
        match what:
            case "check":
                return await self._checker.check(_text(await json_body(request, MOST_SHEET_BODY)))
            case "matches":
                return self._begin(await self._plan(await json_body(request, MOST_SHEET_BODY)))
            case "records":
                return await self._keep_opened(await read_body(request, MOST_RECORD_BYTES))
            case "benches":
                return self._measure(await json_body(request, 2 * MOST_SHEET_BODY))
        raise web.HTTPNotFound(text="There is nothing to do here.\n")

    async def _keep_opened(self, body: bytes) -> dict[str, Any]:
        """Keeps a record in the folder of opened ones, if it is a record. Raises `HTTPBadRequest`."""
        digest = await asyncio.to_thread(lambda: hashlib.sha256(body).hexdigest())
        path = self._opened / f"{digest[:16]}.json"
        unfinished = path.with_suffix(".part")
        try:
            await asyncio.to_thread(unfinished.write_bytes, body)
            summary = await self._pictures.ask(read_summary, (unfinished, 0, len(body)))
            key = record_key(path, summary["id"])
            await asyncio.to_thread(_take_in, unfinished, path)
        except UNREADABLE:
            unfinished.unlink(missing_ok=True)
            raise _wrong("that is no record of a match") from None
        return {"key": key}

    async def _plan(self, data: dict[str, Any]) -> MatchPlan:
        """Returns the match that is wanted. Raises `HTTPBadRequest`."""
        if "record" in data:
            try:
                ply = read_count(data.get("ply"))
                data["text"] = await self._rules_there(str(data["record"]), ply, data.get("line"))
            except (*UNREADABLE, GameError) as error:
                raise _wrong(f"no match can begin there: {error}") from None
        name, text = _sheet(data)
        checked = await self._checker.check(text)
        if checked["roles"] is None:
            first = next(remark for remark in checked["diagnostics"] if remark["severity"] == "error")
            raise _wrong(f"these rules have errors: {first['message']}")
        roles, players, seconds, level = checked["roles"], data.get("players"), data.get("seconds"), data.get("level")
        if not isinstance(players, list) or len(players) != len(roles):
            raise _wrong(f"{name} takes {len(roles)} players")
        for player in players:
            if not isinstance(player, str) or not (player in PLAYERS or player.startswith(ADDRESSES)):
                raise _wrong(f"a player is one of {', '.join(PLAYERS)}, or an address (http://host:port)")
        if (twice := given_twice([player for player in players if player not in PLAYERS])) is not None:
            raise _wrong(f"{twice} is there twice: a server plays one role of a match")
        if level is not None and level not in LEVELS:
            raise _wrong(f"a level is one of {', '.join(LEVELS)}")
        if seconds is None:
            seconds = 5
        count, picture = _count("seconds", seconds, MOST_SECONDS), checked["picture"]
        return MatchPlan(name, text, tuple(roles), tuple(players), count, level, picture)

    async def _rules_there(self, key: str, ply: int, line: object) -> str:
        """Returns the rules of a match that begins in the middle of a record, after a line of joint moves from a ply.

        Raises `GameError` and those of `UNREADABLE`.
        """
        if (match := self._running(key)) is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ENDING_SECONDS):
                    await match.over.wait()
        record = await self._record_of(key)
        if record is None:
            raise ValueError("the match is not over, or there is none")
        text: str = await self._pictures.ask(begin_there, record, ply, read_line(line))
        return text

    def _begin(self, plan: MatchPlan) -> dict[str, Any]:
        running = [match.plan for match in self._matches.values() if not match.over.is_set()]
        if len(running) >= MOST_MATCHES:
            raise web.HTTPConflict(text=f"{MOST_MATCHES} matches are running, which is the most: end one first.\n")
        beside = sum(other.agents for other in running)
        if why := too_many(plan.agents, beside):
            raise web.HTTPConflict(text=f"{why}.\n")
        over = [key for key, match in self._matches.items() if match.over.is_set()]
        for key in over[: max(0, len(over) - KEPT_MATCHES)]:
            del self._matches[key]
        match = MatchProcess(plan, self._hosts, self._kept, self._memory, self._folder, self._changed, beside)
        self._matches[match.key] = match
        self._changed(match.key)
        return {"key": match.key}

    def _measure(self, data: dict[str, Any]) -> dict[str, Any]:
        if sum(not bench.done for bench in self._benches.values()) >= MOST_BENCHES:
            raise web.HTTPConflict(text=f"{MOST_BENCHES} benches are running, which is the most: stop one first.\n")
        sheets = [_sheet(data)]
        if (compared := data.get("compare")) is not None:
            if not isinstance(compared, dict):
                raise _wrong("there is no rulesheet to compare")
            sheets.append(_sheet(compared))
        seconds = _seconds(data.get("seconds"), MOST_BENCH_SECONDS)
        options = [
            *("--matches", str(_count("matches", data.get("matches"), MOST_BENCH_MATCHES))),
            *("--seconds", str(seconds)),
            *(("--levels",) if data.get("levels") is True else ()),
        ]
        patience = SILENT_SECONDS + SILENT_MOVES * seconds
        bench = Bench(sheets, options, self._folder, self._changed, keep=self._kept / BENCHES, patience=patience)
        self._benches[bench.key] = bench
        done = [key for key, other in self._benches.items() if other.done]
        for key in done[: max(0, len(done) - KEPT)]:
            del self._benches[key]
        self._changed(bench.key)
        return {"key": bench.key}


def _take_in(unfinished: Path, path: Path) -> None:
    """Moves a record into the folder of opened ones; the oldest go."""
    unfinished.replace(path)
    for oldest in sorted(path.parent.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)[:-MOST_OPENED]:
        oldest.unlink(missing_ok=True)


def _sheet(data: dict[str, Any]) -> tuple[str, str]:
    """Returns the name and text of a sheet: an own game's, or those given. Raises `HTTPBadRequest`."""
    name = data.get("name")
    if data.get("text") is not None:
        # The name becomes a file's.
        return re.sub(r"[^0-9A-Za-z_-]", "_", name if isinstance(name, str) else "")[:40] or "pasted", _text(data)
    if name not in rulesheets.names():
        raise _wrong("there is no game of that name")
    assert isinstance(name, str)
    return name, rulesheets.text(name)


def _text(data: dict[str, Any]) -> str:
    text = data.get("text")
    if not isinstance(text, str):
        raise _wrong("there is no rulesheet")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise _wrong("half a character is no text") from None
    if size > MOST_SHEET_BYTES:
        raise web.HTTPRequestEntityTooLarge(
            MOST_SHEET_BYTES, size, text=f"A rulesheet has {MOST_SHEET_BYTES >> 10} KiB at most.\n"
        )
    return text


def _count(what: str, number: object, most: int) -> int:
    # Python counts true and false among the numbers.
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= most:
        raise _wrong(f"{what} are a whole number from 1 to {most}")
    return number


def _seconds(number: object, most: float) -> float:
    if not isinstance(number, int | float) or isinstance(number, bool) or not 0 < number <= most:
        raise _wrong(f"seconds are a number up to {most}")
    return number


def _wrong(text: str) -> web.HTTPBadRequest:
    return web.HTTPBadRequest(text=f"{text[:1].upper()}{text[1:]}.\n")


def _comment(text: str) -> str:
    """Returns a sheet's comment at the top: a first sentence, and at the end maybe the game that it is a variant of."""
    lines = re.match(r"(?:;.*\n)*", text)
    return " ".join(line.lstrip("; ") for line in (lines[0] if lines else "").splitlines())
