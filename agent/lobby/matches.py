"""Matches of the lobby, each hosted by a process of its own that the lobby speaks to through a private socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from agent import bounded_json
from agent.lobby.child import Child
from agent.record.match import PlayerError, new_match_id
from agent.search.levels import PREFIX
from agent.web.access import TOKEN_HEADER, new_token
from agent.web.feed import MOST_MESSAGE
from agent.web.records import record_key
from agent.web.site import SECURITY, Send
from agent.web.transcript import Transcript

log = logging.getLogger(__name__)

MOST_MATCHES = 4
"""Most matches at once, each with a process and one of each agent."""

HOST = "agent.lobby.hosted:host"
"""Work of a match's process."""

START_SECONDS = 10
"""Start clock: an agent may use it whole, and people do not like to wait."""

MOST_SECONDS = 600
"""Longest time per move that can be asked for."""

LEVEL_SECONDS = 600
"""Clocks of agents of a level, which end their thoughts by themselves."""

KNOCK_SECONDS = 0.1
"""Seconds between two attempts to reach a process that is still setting up."""

FORWARDED = ("Content-Type", "Content-Disposition")
"""Headers of answers of a match's process that are passed on."""

_CUT_OFF = (aiohttp.ClientError, OSError, ValueError, TypeError)
"""Errors of a connection to a match's process: `TypeError` is that of a WebSocket that was closed."""


@dataclass(frozen=True)
class MatchPlan:
    """A match to be played."""

    name: str
    text: str
    """The rulesheet."""
    roles: tuple[str, ...]
    """Roles that need players."""
    players: tuple[str, ...]
    seconds: int
    level: str | None
    picture: dict[str, Any]
    """First position, as it was drawn for the check of the rules; empty if it was not."""

    @property
    def agents(self) -> int:
        """Number of roles that agents play."""
        return self.players.count("agent")

    def swapped(self) -> MatchPlan:
        """Returns the same with each role's player playing the next role."""
        return replace(self, players=(*self.players[-1:], *self.players[:-1]))


class Hosts:
    """Processes for matches, one of which is ready before it is asked for: that takes seconds."""

    def __init__(self) -> None:
        self._spare: Child | None = None

    def prepare(self) -> None:
        """Makes one ready."""
        if self._spare is None:
            # Whoever wants one is told.
            with contextlib.suppress(OSError):
                self._spare = Child(HOST)

    async def take(self) -> Child:
        """Returns one. Raises `OSError`."""
        spare, self._spare = self._spare, None
        return spare if spare is not None and spare.alive else Child(HOST)

    async def close(self) -> None:
        """Ends the one that is left."""
        if self._spare is not None:
            await self._spare.end()


class MatchProcess:
    """One match and its process."""

    def __init__(
        self,
        plan: MatchPlan,
        hosts: Hosts,
        records: Path,
        memory: Path | None,
        folder: Path,
        changed: Callable[[str], None],
        beside: int = 0,
    ) -> None:
        """`hosts` has processes for matches. `records` is the folder of the match's record, `memory` that of agents'
        learning memory, `folder` one for temporary files; `changed(key)` is called when the page has something new to
        show. `beside` is the number of agents of other matches."""
        self.plan = plan
        self._beside = beside
        self._memory = memory
        self._token = new_token()
        self._changed = changed
        self._match_id = new_match_id(plan.name)
        self._record = records / f"{self._match_id}-{secrets.token_hex(3)}.json"
        self._begun = self._record.with_stem(f"{self._record.stem}-begun")
        self.key = record_key(self._record, self._match_id)
        """Key of the match while it runs, and of its record then."""
        clock = plan.seconds if plan.level is None else LEVEL_SECONDS
        self._clocks = (START_SECONDS if plan.level is None else LEVEL_SECONDS, clock)
        agent = "agent" if plan.level is None else PREFIX + plan.level
        self._players = [agent if player == "agent" else player for player in plan.players]
        self.transcript = Transcript(
            plan.name, self._match_id, plan.roles, tuple(self._players), *self._clocks, key=self.key
        )
        """The match as it is known before the process answers."""
        self.transcript.say("the match is set up")
        self._summary: dict[str, Any] | None = None
        self.answers = asyncio.Event()
        """Set once the process answers, or has ended."""
        self.over = asyncio.Event()
        """Set when the process has ended."""
        self._hosts = hosts
        self._host: Child | None = None
        self._folder = tempfile.TemporaryDirectory(dir=folder)
        self._socket = Path(self._folder.name) / "page"
        self._session = aiohttp.ClientSession(
            "http://localhost",
            connector=aiohttp.UnixConnector(str(self._socket), limit=0),
            headers={TOKEN_HEADER: self._token},
            timeout=aiohttp.ClientTimeout(total=None),
        )
        self._running = asyncio.create_task(self._run())

    @property
    def recorded(self) -> bool:
        """Whether there is a record of it."""
        return self._record.exists()

    @property
    def begun_key(self) -> str:
        """Key of the record that is written while it runs."""
        return record_key(self._begun, self._match_id)

    def summary(self) -> dict[str, Any]:
        """Returns the overview's data, see `Transcript.summary`."""
        return self._summary or self.transcript.summary()

    def first_view(self) -> dict[str, Any]:
        """Returns the page's data before the process answers: the first position is known already."""
        view = self.transcript.view()
        view["steps"][0]["known"] = True
        return view

    async def end(self) -> None:
        """Ends the match, wherever it is; its record is written."""
        if self._host is None:
            self._running.cancel()
        else:
            await self._host.stop()
        await asyncio.gather(self._running, return_exceptions=True)

    async def forward(self, request: web.Request, body: bytes | None = None) -> web.Response | None:
        """Returns the process's answer to a request for this match; None once it is over, or before it has begun."""
        if self.over.is_set():
            # While the request was read.
            return None
        try:
            async with self._session.request(request.method, request.rel_url, data=body) as answer:
                if answer.status == web.HTTPServiceUnavailable.status_code:
                    raise ConnectionResetError("the page ends")
                told = {name: answer.headers[name] for name in FORWARDED if name in answer.headers}
                return web.Response(body=await answer.read(), status=answer.status, headers={**SECURITY, **told})
        except (aiohttp.ClientError, OSError):
            if self.answers.is_set():
                # Its process ends: soon there is a record.
                await self.over.wait()
            return None

    async def pass_on(self, send: Send) -> None:
        """Passes on what the process tells of this match until it is over. Raises `ConnectionError`."""
        if not self.answers.is_set():
            await send(json.dumps(self.first_view()))
            await self.answers.wait()
        while not self.over.is_set():
            try:
                async with self._follow(f"/page/matches/{self.key}") as socket:
                    while True:
                        await send(await socket.receive_str())
            except _CUT_OFF as error:
                log.debug("%s: %s", self.key, error)
            # `wait_for` of Python 3.11 may swallow a cancellation that comes at the same time.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(KNOCK_SECONDS):
                    await self.over.wait()

    # --- its process

    async def _run(self) -> None:
        failure = None
        try:
            with self._folder:
                self._host = await self._hosts.take()
                self._host.write([self._data()])
                following = asyncio.create_task(self._keep_summary())
                try:
                    failure = await self._host.wait()
                finally:
                    following.cancel()
                    await asyncio.gather(following, return_exceptions=True)
        except OSError as error:
            failure = str(error)
        finally:
            if failure is not None:
                self._fail(failure)
            self._summary = None
            self.transcript.end("aborted")
            self.answers.set()
            self.over.set()
            await self._session.close()
            self._changed(self.key)

    def _data(self) -> dict[str, Any]:
        """Returns what the process is told."""
        sheet = Path(self._folder.name) / f"{self.plan.name}.kif"
        sheet.write_text(self.plan.text, encoding="utf-8")
        return {
            "game": str(sheet),
            "players": self._players,
            "start_clock": self._clocks[0],
            "play_clock": self._clocks[1],
            "seed": secrets.randbits(31),
            "memory": None if self._memory is None else str(self._memory),
            "match_id": self._match_id,
            "beside": self._beside,
            "record": str(self._record),
            "begun": str(self._begun),
            "key": self.key,
            "token": self._token,
            "socket": str(self._socket),
        }

    def _follow(self, path: str) -> contextlib.AbstractAsyncContextManager[aiohttp.ClientWebSocketResponse]:
        return self._session.ws_connect(path, max_msg_size=MOST_MESSAGE)

    async def _keep_summary(self) -> None:
        while True:
            try:
                async with self._follow("/page/matches") as socket:
                    self.answers.set()
                    while True:
                        overview = await socket.receive_json(loads=bounded_json.loads)
                        self._summary = overview["matches"][0]
                        self._changed(self.key)
            except _CUT_OFF as error:
                log.debug("%s: %s", self.key, error)
            await asyncio.sleep(KNOCK_SECONDS)

    def _fail(self, why: str) -> None:
        log.warning("%s: %s", self._match_id, why)
        lines: Sequence[str] = why.splitlines() or ("its process has failed",)
        self.transcript.blame(PlayerError(self.plan.roles[0], 0, "start", "failed", lines[-1]))
