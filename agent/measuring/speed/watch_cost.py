"""What pages that show a match cost its search: `ggp-agent bench --watch`."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import math
import os
import platform
import random
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import aiohttp

from agent.console import print_table
from agent.errors import CommandError, InputError
from agent.measuring.speed.headless import headless_browser
from agent.refereeing.agent_process import AgentProcess
from agent.sheet import Sheet, load
from games.machine import StateMachine, Term
from protocol.client import ClientError, PlayerClient
from protocol.messages import Abort, Play, Start

PAGES = 3
"""Pages that are open at the same time, each a client of its own; on request, one in a browser is one more."""

PAIRS = 32
"""Stretches with pages and without that are compared."""
PAIRS_A_TURN = 4
"""Of them; a turn is long enough for so many."""

MOST_MATCHES = 8
"""Matches at most: a game that is soon solved leaves little to compare in each."""

SETTLE_SECONDS = 0.5
"""After pages were opened or closed, until counting begins: engines report four times a second. Set by hand."""

START_CLOCK = 12
SLACK_SECONDS = 3.0
"""What a turn lasts beyond its stretches: reading counts and opening pages takes time, too."""
SPARE_SECONDS = 30.0
"""For replies beyond their clocks, on a busy machine."""


@dataclass(frozen=True)
class WatchCost:
    """What was found for one game."""

    game: str
    unit: str
    """What is counted: `playouts` or `nodes`, per second."""
    unwatched: float
    """Median of the stretches without pages, per second."""
    pairs: int
    ratio: float
    """With pages, as a share of without: the median of the pairs."""
    low: float
    high: float
    """Its 95 % interval, from the order of the pairs."""
    first_page_seconds: float
    slowest_page_seconds: float
    """From the request of the page to its first event: median, and the longest."""


def bench_watch(
    files: Sequence[str], seconds: float, pairs: int = PAIRS, *, browser: bool = False
) -> dict[str, object]:
    """Plays a match of each sheet against a served agent, whose page is now watched and now not, for stretches of so
    many seconds; prints a table, returns it as JSON data. With a browser, a page is open in that as well, and what
    drawing it costs counts. Raises `CommandError`."""
    machine = f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores"
    costs = [asyncio.run(_measure(load(file), seconds, pairs, browser)) for file in files]
    print_table(
        [
            *(("game", "left"), ("unit", "left"), ("unwatched", "right"), ("watched", "right")),
            *(("95 %", "right"), ("first page", "right"), ("slowest", "right")),
        ],
        [
            [
                cost.game,
                f"{cost.unit}/s",
                f"{cost.unwatched:,.0f}",
                f"{100 * (cost.ratio - 1):+.1f} %",
                f"{100 * (cost.low - 1):+.1f} to {100 * (cost.high - 1):+.1f} %",
                f"{cost.first_page_seconds:.2f} s",
                f"{cost.slowest_page_seconds:.2f} s",
            ]
            for cost in costs
        ],
        f"{PAGES} pages{' and one in Chromium' if browser else ''}, all on the machine that searches ({machine})",
    )
    return {"machine": machine, "pages": PAGES, "browser": browser, "rows": [asdict(one) for one in costs]}


def interval(values: Sequence[float]) -> tuple[float, float]:
    """A 95 % interval of the median, which supposes nothing of how values are distributed (Conover, Practical
    Nonparametric Statistics, 3.2): the values at ranks beyond which 2.5 % of a binomial distribution lie. With fewer
    than six values, the smallest and the largest."""
    ordered, n = sorted(values), len(values)
    rank, below = 0, 0.5**n
    while below <= 0.025:
        rank += 1
        below += math.comb(n, rank) * 0.5**n
    return ordered[max(0, rank - 1)], ordered[n - max(1, rank)]


async def _measure(sheet: Sheet, seconds: float, pairs: int, browser: bool) -> WatchCost:
    machine = sheet.machine()
    async with contextlib.AsyncExitStack() as stack:
        agent = stack.enter_context(AgentProcess())
        await agent.wait_until_available(lambda text: print(text, flush=True))
        tabs = await stack.enter_async_context(headless_browser()) if browser else None
        session = await stack.enter_async_context(aiohttp.ClientSession())
        measurement = _Measurement(sheet.name, session, agent.url, tabs, seconds)
        try:
            async with PlayerClient(agent.url) as client:
                await _play(sheet, machine, client, measurement, pairs)
        except (ClientError, aiohttp.ClientError) as error:
            raise CommandError(f"{sheet.name}: {error}") from error
    return measurement.result()


async def _play(sheet: Sheet, machine: StateMachine, client: PlayerClient, measured: _Measurement, pairs: int) -> None:
    """Matches, as many as it takes: the first role is the agent's, the others move at random."""
    chance = random.Random(0)
    clock = math.ceil(PAIRS_A_TURN * 2 * (measured.seconds + SETTLE_SECONDS) + SLACK_SECONDS)
    for number in range(MOST_MATCHES):
        name = f"watched.{number}"
        start = Start(name, machine.roles[0], sheet.rulesheet, START_CLOCK, clock)
        await client.send(start, timeout=START_CLOCK + SPARE_SECONDS)
        state, moves = machine.initial(), None
        while not machine.terminal(state) and len(measured.ratios) < pairs:
            asked = asyncio.create_task(client.send(Play(name, moves), timeout=clock + SPARE_SECONDS))
            await measured.turn(asked, min(PAIRS_A_TURN, pairs - len(measured.ratios)))
            answer: Term = (await asked).term
            others = [chance.choice(machine.legal(state, role)) for role in range(1, len(machine.roles))]
            moves = (answer, *others)
            state = machine.next(state, moves)
        await client.send(Abort(name), timeout=SPARE_SECONDS)
        if len(measured.ratios) == pairs:
            return


class _Measurement:
    """Stretches with pages and without, in one search after the other."""

    def __init__(self, game: str, session: aiohttp.ClientSession, url: str, tabs: str | None, seconds: float) -> None:
        self.game = game
        self.seconds = seconds
        self.ratios: list[float] = []
        self._unwatched: list[float] = []
        self._first: list[float] = []
        self._unit = ""
        self._session = session
        self._url = url
        self._tabs = tabs

    async def turn(self, asked: asyncio.Task[Any], pairs: int) -> None:
        """Compares while the agent thinks; the order changes from pair to pair, as a search slows down or speeds up."""
        key = await self._key()
        enough = len(self.ratios) + pairs
        for number in itertools.count():
            if len(self.ratios) >= enough:
                return
            rates: dict[bool, float | None] = {}
            for watched in (number % 2 == 0, number % 2 == 1):
                async with contextlib.AsyncExitStack() as stack:
                    if watched:
                        await stack.enter_async_context(self._watching(key))
                    rates[watched] = await self._rate(key)
                if asked.done():
                    return
            watched_rate, rate = rates[True], rates[False]
            if watched_rate is not None and rate:
                self._unwatched.append(rate)
                self.ratios.append(watched_rate / rate)

    async def _rate(self, key: str) -> float | None:
        """What is counted per second; None where nothing is."""
        await asyncio.sleep(SETTLE_SECONDS)
        before = await self._count(key)
        await asyncio.sleep(self.seconds)
        after = await self._count(key)
        if before is None or after is None or before[0] != after[0] or after[2] <= before[2]:
            return None
        self._unit = before[0]
        return (after[1] - before[1]) / (after[2] - before[2])

    async def _key(self) -> str:
        matches = (await self._get("/page/matches"))["matches"]
        return str(next(match["key"] for match in matches if match["outcome"] == "running"))

    async def _count(self, key: str) -> tuple[str, float, float] | None:
        """Unit, count and second of the turn of the newest opinion."""
        thinking = (await self._get(f"/page/matches/{key}"))["steps"][-1]["thinking"].get("0")
        if thinking is None or thinking["rate"] is None:
            return None
        unit = thinking["rate"]["of"]
        return unit, thinking["info"][unit], thinking["seconds"]

    async def _get(self, path: str) -> Any:
        async with self._session.get(self._url + path) as response:
            response.raise_for_status()
            return await response.json()

    # --- pages

    @contextlib.asynccontextmanager
    async def _watching(self, key: str) -> AsyncIterator[None]:
        pages = [asyncio.create_task(self._page(key)) for _ in range(PAGES)]
        tab = None
        if self._tabs is not None:
            async with self._session.put(f"{self._tabs}/json/new?{self._url}/#/match/{key}") as response:
                tab = (await response.json())["id"]
        try:
            yield
        finally:
            if tab is not None:
                async with self._session.get(f"{self._tabs}/json/close/{tab}") as response:
                    await response.read()
            for page in pages:
                page.cancel()
            await asyncio.gather(*pages, return_exceptions=True)

    async def _page(self, key: str) -> None:
        """Does what the page of a match does, for as long as it is open."""
        begin, drawn = time.monotonic(), -1
        forever = aiohttp.ClientTimeout(total=None)
        # Each with connections of its own, as browsers have.
        async with (
            aiohttp.ClientSession(timeout=forever, read_bufsize=1 << 24) as session,
            session.get(f"{self._url}/page/events", params={"match": key}) as events,
        ):
            async for line in events.content:
                if not line.startswith(b"data:"):
                    continue
                ply = json.loads(line[5:])["plies"]
                if ply != drawn:
                    async with session.get(f"{self._url}/page/matches/{key}/positions/{ply}") as position:
                        await position.read()
                    if drawn < 0:
                        self._first.append(time.monotonic() - begin)
                    drawn = ply

    def result(self) -> WatchCost:
        """What was found. Raises `InputError`."""
        if not self.ratios:
            raise InputError(f"{self.game}: the agent never thought for long enough to be measured")
        median = statistics.median
        low, high = interval(self.ratios)
        return WatchCost(
            self.game,
            self._unit,
            median(self._unwatched),
            len(self.ratios),
            median(self.ratios),
            low,
            high,
            median(self._first),
            max(self._first),
        )
