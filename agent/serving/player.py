"""The player, which answers every message of the protocol, and its server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from agent.kernels.upkeep import KernelUpkeep
from agent.playing.messages import Cluster
from agent.search.kernel_groups import GENERAL, playing
from agent.serving.clock import DEFAULT_MARGIN, SILENCE_SECONDS, Clock, Instant, now
from agent.serving.collection import GarbageCollection
from agent.serving.journal import Journal, UnfinishedMatch
from agent.serving.match import Match, MatchOptions, Pools
from agent.serving.moments import Moment
from agent.serving.places import yielding
from agent.serving.pool import ProcessPool
from agent.serving.sheet import MOST_TOKENS, MatchSheet, PreparedMessage, exceeds, prepared
from agent.serving.starting import REFERENCE, SEARCH, memory_share, too_little_memory
from agent.serving.statistics import Statistics
from agent.serving.supervisor import PULSE_SECONDS, Pulse
from agent.web.gallery import Gallery
from agent.web.page import Page
from games.child_process import ChildProcess
from protocol import messages
from protocol.connections import group_of
from protocol.server import Network, Received, gatekeeper, make_app, make_runner
from protocol.sparing_log import SparingLog

log = logging.getLogger(__name__)

NAME = "ggp-agent"

MAX_MESSAGE = 1 << 20
"""Most bytes of a message; the largest rulesheet in use has 68,000."""

MOST_STARTS = 4
"""Most STARTs of a match that wait for their answer: each keeps a rulesheet in memory."""

SWITCH_SECONDS = 0.001
"""Python's thread switch interval; its default is 5 ms."""

EARLY_SECONDS = 1.0
"""Seconds after a restart in which only the references started early, for its matches, get the processor."""

LOOK_SECONDS = 0.5
"""Seconds between two looks at a journal that could not be read."""

SWEEP_SECONDS = 10.0
"""Seconds between two checks for matches abandoned by their manager."""


_FOREIGN = "%s: %s from %s, which did not begin the match: answered busy"


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options of `ggp-agent serve`."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 takes a free one."""
    margin: float = DEFAULT_MARGIN
    """Least seconds kept back from every clock."""
    journal: Path | None = None
    """Folder of running matches; None to forget them when the server ends."""
    workers: int = 2
    """Most matches at the same time; each has two processes."""
    ponder: bool = True
    """Whether to think while others move."""
    allow: tuple[Network, ...] = ()
    """Networks that are answered; empty for all."""
    browsers: tuple[str, ...] = ()
    """Origins of managers that run in a browser, such as `http://gamemaster.example`."""
    restarts: int = 0
    """Number of restarts by a supervisor."""
    memory: Path | None = None
    """Folder of what matches learn of their games, for later matches; None to learn anew each time."""
    page: bool = True
    """Whether to show the matches to browsers."""
    local_page: bool = True
    page_token: str | None = None
    """Token that requests for the page need; None where none is needed."""
    """Whether to show them on this machine to whoever is not named by `allow`."""
    bind_manager: bool = False
    """Whether a match takes messages only of the peer that began it."""
    records: Path | None = None
    """Folder of match records, shown as well; matches that end are added."""
    silence: float = SILENCE_SECONDS
    """Seconds beyond three clocks after which a silent manager's match is closed."""
    cluster: Cluster | None = None
    """Helpers' cluster; None to play on this machine alone."""
    level: str | None = None
    """Level to play at, without pondering; None to play as well as the clocks allow."""


def address_of(host: str, port: int) -> str:
    """Returns the address of a server in a browser's spelling."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def page_host(host: str) -> str:
    """Returns a name of this machine at which a server that listens on `host` is reached."""
    return {"::": "localhost", "0.0.0.0": "127.0.0.1"}.get(host, host)


class Player:
    """Plays up to `workers` matches at a time. `handle` is the handler of `protocol.server.make_app`."""

    def __init__(self, options: ServeOptions, early: Sequence[ChildProcess] = ()) -> None:
        """`early` are running references for the matches of the journal."""
        self._options = options
        self._matches: dict[str, Match] = {}
        self._ending: list[Match] = []
        """Matches stopped by their managers, which may still wait for their results; the oldest first."""
        self.statistics = Statistics(lambda: len(self._matches), options.restarts)
        self._clock = Clock(options.margin)
        self.gallery = Gallery() if options.page else None
        """The matches as the page shows them."""
        self._match_options = MatchOptions(
            self._clock,
            options.ponder and options.level is None,
            self.statistics,
            options.memory,
            self.gallery,
            options.silence,
            options.cluster,
            options.level,
        )
        self._collection = GarbageCollection(self.statistics.collections, self._next_due)
        journal = options.journal
        self._journal = None if journal is None else Journal(journal, restarted=options.restarts > 0)
        memory, matches = memory_share(options.workers), options.workers
        references = ProcessPool(REFERENCE, memory, matches)
        searches = ProcessPool(SEARCH, memory, matches, self._renew_kernels, lambda: references.hurries)
        self._early = early
        self._log = SparingLog(log)
        self._looking: asyncio.Task[None] | None = None
        self._looked: Instant = -math.inf
        """Time of the last further look at the journal."""
        self._pools = Pools(references, searches)
        self._kernels = KernelUpkeep(searches.do_without)
        self._upkeep: list[asyncio.Task[None]] = []

    def is_available(self, peer: str = "") -> bool:
        """Returns whether a peer could start a match now, with free processes and the kernels that any game may need.

        A match that starts sooner is played by what there is, at first the interpreter. Without a `peer`, the answer is
        for one that plays no match yet.
        """
        return self._has_place(peer) and self.kernels.issuperset(GENERAL)

    @property
    def kernels(self) -> frozenset[str]:
        """The groups of kernels that a match need not wait for: its search has loaded them, or they will never be
        there."""
        searches = self._pools.search
        if searches.ready is None:
            return frozenset()
        hopeless = self._kernels.hopeless
        return frozenset(name for name in playing() if name in hopeless or not searches.lacks(name))

    def knows(self, match_id: str) -> bool:
        """Returns whether a match is running."""
        return match_id in self._matches

    @property
    def matches(self) -> tuple[Match, ...]:
        """The running matches."""
        return tuple(self._matches.values())

    async def open(self) -> None:
        """Starts the first processes and the compilation of missing kernels; takes up the journal's matches."""
        if warning := too_little_memory(self._options.workers):
            log.warning(warning)
        self._pools.search.do_without(self._kernels.lacking)
        found = [] if self._journal is None else list(self._journal.unfinished(Moment.present()))
        # The managers that were heard last are those that wait.
        found.sort(key=lambda unfinished: unfinished.silence)
        self._pools.reference.start(self._early, EARLY_SECONDS if self._early else 0.0)
        self._pools.search.start(delay=EARLY_SECONDS if found else 0.0)
        self._upkeep = [
            asyncio.create_task(self._sweep()),
            asyncio.create_task(self._kernels.run()),
            asyncio.create_task(self._collection.run()),
            asyncio.create_task(self.statistics.watch_loop(self._clock.loop_delays.add)),
        ]
        for unfinished in found:
            await self._take_up(unfinished)

    async def close(self) -> None:
        """Ends all work. Running matches stay in the journal."""
        if self._looking is not None:
            self._upkeep.append(self._looking)
        for task in self._upkeep:
            task.cancel()
        await asyncio.gather(*self._upkeep, return_exceptions=True)
        self._kernels.close()
        for match in self._matches.values():
            match.suspend()
        self._matches.clear()
        self._end_all_but(0)
        for pool in self._pools:
            await pool.close()

    async def health(self) -> tuple[str, bytes]:
        """Returns the page `/healthz`."""
        problems = self._kernels.problems()
        if problem := self._pools.search.problem:
            problems.append(problem)
        status = {"status": "degraded" if problems else "ok", "problems": problems}
        state = {
            **status,
            **self.statistics.health(),
            "available": self.is_available(),
            "kernels": sorted(self.kernels),
        }
        return "application/json", json.dumps(state).encode()

    async def metrics(self) -> tuple[str, bytes]:
        """Returns the page `/metrics`."""
        text = await asyncio.to_thread(self.statistics.exposition)
        return "text/plain; version=0.0.4; charset=utf-8", text

    async def handle(self, message: PreparedMessage, received: Received) -> messages.Reply:
        """Returns the reply to a message, in time."""
        match message:
            case MatchSheet():
                return await self._start(message, received)
            case messages.Info():
                return messages.Status(
                    NAME, "available" if self.is_available(group_of(received.peer)) else "busy", "alien"
                )
            case messages.Ping() | messages.Preview():
                return messages.Ready()
        kind, name = type(message).__name__.upper(), message.match_id
        if name not in self._matches:
            await self._look_again()
        running = self._matches.get(name)
        if running is None:
            text = "%s: %s from %s for an unknown match: answered busy"
            return self._refuse(received, text, name, kind, received.peer)
        if self._is_foreign(running, received):
            return self._refuse(received, _FOREIGN, name, kind, received.peer)
        match message:
            case messages.Abort():
                self._drop(running)
                log.info("%s: aborted by the manager", name)
                return messages.Aborted()
            case _ if exceeds((message.moves or (), message.percepts or ()), MOST_TOKENS):
                text = "%s: %s from %s with an endless move: answered busy"
                return self._refuse(received, text, name, kind, received.peer)
            case messages.Stop():
                del self._matches[name]
                self._ending.append(running)
                await running.stop(message)
                return messages.Done()
            case messages.Play() if running.full:
                log.error("%s: dropped: %d turns take too much memory", name, running.turn_number)
                self._drop(running)
                return messages.Busy()
            case messages.Play():
                return messages.MoveReply(await running.play(message, received.at, received.round_trip))

    async def _start(self, sheet: MatchSheet, received: Received) -> messages.Reply:
        message, name, peer = sheet.start, sheet.start.match_id, group_of(received.peer)
        running = self._matches.get(name)
        if running is not None and self._is_foreign(running, received):
            return self._refuse(received, _FOREIGN, name, "START", received.peer)
        if running is not None and running.start_message != message:
            if running.start_message.rules == message.rules and running.start_message.role != message.role:
                return self._refuse(received, "%s: START refused: the match is being played in another role", name)
            text = "%s: START of another match with the same name: the old one is dropped"
            self._log.tell(peer, logging.WARNING, text, name)
            self._drop(running)
            running = None
        if running is None:
            if not self._make_room(peer):
                self.statistics.refused += 1
                return self._refuse(received, "%s: START refused: all %d places are taken", name, self._options.workers)
            journal = self._journal.match(name, peer) if self._journal is not None else None
            running = self._matches[name] = Match(sheet, self._pools, self._match_options, journal, peer=peer)
            clocks = f"{message.start_clock} s and {message.play_clock} s"
            log.info("%s: START from %s: %d statements, clocks %s", name, received.peer, len(message.rules), clocks)
        if running.starts >= MOST_STARTS:
            return self._refuse(received, "%s: START repeated too often: answered busy", name)
        ready = await running.start(received.at)
        if not ready:
            if self._matches.get(name) is running:
                self._drop(running)
            return messages.Busy()
        return messages.Ready()

    async def _take_up(self, unfinished: UnfinishedMatch) -> None:
        """Goes on with a match of the journal."""
        sheet = await asyncio.to_thread(MatchSheet.of, unfinished.start)
        match = Match(sheet, self._pools, self._match_options, found=unfinished)
        if match.overdue:
            match.abort()
            return
        self._matches[match.match_id] = match
        match.resume()
        log.info("%s: taken up again at turn %d", match.match_id, match.turn_number)

    async def _look_again(self) -> None:
        """Takes up matches of a journal that could not be read when the server began, if it has come back.

        However many ask, there is one look at a time, and not all the time.
        """
        if self._journal is None or self._journal.complete:
            return
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(self._journal))
        await asyncio.shield(self._looking)

    async def _look(self, journal: Journal) -> None:
        await asyncio.sleep(self._looked + LOOK_SECONDS - now())
        self._looked = now()
        running = set(self._matches)
        found = await asyncio.to_thread(lambda: list(journal.unfinished(Moment.present(), running)))
        for unfinished in sorted(found, key=lambda unfinished: unfinished.silence):
            if unfinished.start.match_id in self._matches:
                continue
            if not self._make_room(unfinished.peer):
                log.error("%s: cannot be taken up again: all places are taken", unfinished.start.match_id)
                journal.complete = False
                continue
            await self._take_up(unfinished)

    def _is_foreign(self, match: Match, received: Received) -> bool:
        """Returns whether a message comes from somebody whom the match does not listen to."""
        return self._options.bind_manager and match.peer not in ("", group_of(received.peer))

    def _refuse(self, received: Received, text: str, *arguments: object) -> messages.Reply:
        """Answers busy, and says why in the log."""
        self._log.tell(group_of(received.peer), logging.ERROR, text, *arguments)
        return messages.Busy()

    def _next_due(self) -> Instant | None:
        return min((match.due for match in self._matches.values() if match.due is not None), default=None)

    def _has_place(self, peer: str) -> bool:
        """Returns whether a START of a peer would get a place."""
        most = self._options.workers
        return len(self._matches) < most or yielding(self.matches, peer, most) is not None

    def _make_room(self, peer: str) -> bool:
        """Drops a match that yields to another one of a peer, if all places are taken; returns whether there is one."""
        most = self._options.workers
        match = yielding(self.matches, peer, most) if len(self._matches) >= most else None
        if match is not None:
            silence = now() - match.heard
            log.warning("%s: nothing heard of its manager for %.0f s, others wait: dropped", match.match_id, silence)
            self._drop(match)
        if len(self._matches) >= most:
            return False
        self._end_all_but(most - len(self._matches))
        return True

    def _end_all_but(self, most: int) -> None:
        """Ends stopped matches that still wait for their results, but for the newest `most`."""
        self._ending = [match for match in self._ending if not match.closed]
        while len(self._ending) > most:
            self._ending.pop(0).hasten()

    def _drop(self, match: Match) -> None:
        self._matches.pop(match.match_id, None)
        match.abort()

    def _renew_kernels(self) -> None:
        self._upkeep.append(asyncio.create_task(self._kernels.renew()))

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            for match in self.matches:
                if match.overdue:
                    log.warning("%s: nothing heard of its manager for long: dropped", match.match_id)
                    self._drop(match)


async def serve(
    options: ServeOptions,
    started: Callable[[int], None] | None = None,
    listener: socket.socket | None = None,
    early: Sequence[ChildProcess] = (),
) -> None:
    """Serves until it is cancelled or the process is told to end (SIGINT, SIGTERM).

    `listener` is a socket to listen on in place of the options' host and port; `early` are running references.
    `started` is called with the port once messages are answered. Raises `OSError` if the port is taken.
    """
    pulse = asyncio.create_task(_give_pulse())
    player = Player(options, early)
    # Threads that parse long messages must leave the event loop its turn.
    sys.setswitchinterval(SWITCH_SECONDS)

    async def playing(_: web.Application) -> AsyncIterator[None]:
        await player.open()
        yield
        await player.close()

    page = None
    if player.gallery is not None:
        named, here = bool(options.allow), options.local_page
        page = Page(
            player.gallery,
            everyone_allowed=named,
            here=here,
            records=options.records,
            token=options.page_token,
            figures=player.statistics.match_day,
        )
    app = make_app(
        player.handle,
        prepare=prepared,
        max_body=MAX_MESSAGE,
        cleanup_ctx=[playing],
        allow=gatekeeper(options.allow),
        origins=options.browsers,
        knows=player.knows,
        pages={"/healthz": player.health, "/metrics": player.metrics},
        site=None if page is None else page.handle,
    )
    if page is not None:
        app.on_shutdown.append(page.close)
    runner = make_runner(app)
    await runner.setup()
    announcer: asyncio.Task[None] | None = None
    try:
        site = web.TCPSite(runner, options.host, options.port) if listener is None else web.SockSite(runner, listener)
        await site.start()
        host, port = runner.addresses[0][:2]
        log.info("listening on %s (process %d)", address_of(host, port), os.getpid())
        if page is not None:
            shown = page_host(host)
            if not (options.allow or options.local_page):
                log.info("matches are shown to nobody: name addresses with --allow")
            elif gatekeeper(options.allow)("127.0.0.1" if shown == "localhost" else shown):
                log.info("matches are shown at %s/", address_of(shown, port))
            else:
                log.info("matches are shown to the addresses given with --allow, at port %d", port)
        if started is not None:
            started(port)
        announcer = asyncio.create_task(_announce(player))
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, ended.set)
        await ended.wait()
        log.info("ending")
    finally:
        if announcer is not None:
            announcer.cancel()
        await runner.cleanup()
        pulse.cancel()


async def _give_pulse() -> None:
    pulse = Pulse()
    while True:
        pulse.beat()
        await asyncio.sleep(PULSE_SECONDS)


async def _announce(player: Player) -> None:
    while not player.is_available():
        await asyncio.sleep(0.05)
    log.info("available")
