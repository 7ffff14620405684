"""One match of the server process: its manager's messages, its clock, and its workers.

A worker sends the legal moves at the start of a turn, then better and better opinions. The answer is the latest opinion
at the deadline: a worker that hangs or dies costs strength, but no answer comes late. It is replaced, and the new
worker starts from the last situation reported.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from pathlib import Path

from agent.serving.clock import SILENCE_SECONDS, Clock, Deadline, Instant, now
from agent.serving.history import MatchHistory
from agent.serving.journal import MatchJournal, UnfinishedMatch
from agent.serving.match_clock import MatchClock
from agent.serving.match_workers import MatchWorkers
from agent.serving.showing import MatchShow
from agent.serving.statistics import Statistics
from agent.serving.turn import MatchTurn, any_move
from agent.serving.worker_pool import WorkerPool
from agent.web.gallery import Gallery
from agent.worker import messages
from games.machine import Term
from protocol.kif import write
from protocol.messages import Play, Start, Stop
from protocol.spelling import Spelling

log = logging.getLogger(__name__)

PATIENCE = 0.2
"""Share of a turn after which a worker that has not sent the legal moves gets a stand-by."""

PATIENCE_SECONDS = 0.25
"""Least seconds of patience, at most half of the turn: on a loaded machine, an early stand-by slows the worker down."""

LAST_SHARE = 0.75
"""Share of the margin spent as well if a living worker has not sent the legal moves: an illegal move is worth no more
than a late one."""

GOALS_SECONDS = 10.0
"""Seconds that a finished match waits for its result, enough for a worker that has just joined on a busy machine."""

SILENCE_FACTOR = 3
"""Play clocks of silence, beside `SILENCE_SECONDS`, after which a manager has given the match up."""

PONDER_CLOCKS, PONDER_SECONDS = 2, 60.0
"""Time to ponder after START or an answer: clocks, and seconds on top. A person without a clock may have left."""

HELD_CLOCK = 3600
"""Seconds that longer clocks count as, where others need the match's worker or its cores while its manager is silent:
some managers send a hundred years for no limit. People who take an hour a move keep their match."""

GRACE = 0.8
"""Seconds beyond its clock that a message waits for the first legal moves after an outage. Managers wait a second."""

MOST_GRACE = 5.0
"""The same for a message that comes when `GRACE` is over: some managers wait that long (Tiltyard)."""


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """Options of all matches of a server."""

    clock: Clock
    ponder: bool = True
    """Whether to think while others move."""
    statistics: Statistics = field(default_factory=Statistics)
    memory: Path | None = None
    """Folder of what earlier matches have learnt; None to play without."""
    gallery: Gallery | None = None
    """The matches shown; None to show none."""
    silence: float = SILENCE_SECONDS
    """See `SILENCE_SECONDS`."""
    cluster: messages.Cluster | None = None
    """Helpers' cluster; None to play without."""
    level: str | None = None
    """Level to play at (`agent.search.levels`); None to play as well as the clocks allow."""


class Match:
    """A running match."""

    def __init__(
        self,
        start: Start,
        pool: WorkerPool,
        options: MatchOptions,
        journal: MatchJournal | None = None,
        found: UnfinishedMatch | None = None,
    ) -> None:
        """`found` is a match that a former server left unfinished; its journal is used on."""
        self.start_message = start
        self._spelling = Spelling(start)
        self.heard: Instant = now()
        """Time of the manager's last message."""
        self.closed = False
        self._options = options
        self._clock = MatchClock(options.clock, options.statistics)
        self._history = MatchHistory(start, journal, found)
        self._show = MatchShow(start, options.gallery)
        self._revived = found is not None
        """Whether no worker has reported a situation since this server took the match up."""
        self._workers = MatchWorkers(start.match_id, pool, self._make_begin, self._on_report, self._clock.lost_worker)
        self._playable: bool | None = None
        """Whether the match can be played; None until a worker reports it."""
        self._turn = MatchTurn(self._history.turns)
        self._opening: messages.Situation | None = None
        self._latest: messages.Situation | None = None
        """Situation reported last, of this or an earlier turn."""
        self._news = asyncio.Event()
        """Set by any event that may end a wait."""
        self._finishing: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[bool] | None = None
        """The answer to START; a repeated START waits for the same one."""
        self.starts = 0
        """Number of STARTs that wait for it."""
        if found is not None:
            for received in found.history:
                self._show.moved(received)
            self.heard -= found.silence
            if found.answered is not None:
                self._turn.answer = asyncio.get_running_loop().create_future()
                self._turn.answer.set_result(found.answered)

    @property
    def match_id(self) -> str:
        """The manager's name for the match."""
        return self.start_message.match_id

    @property
    def turn_number(self) -> int:
        """Number of joint moves received."""
        return self._turn.number

    @property
    def due(self) -> Instant | None:
        """Deadline of the present turn's reply; None where none is wanted."""
        return None if self.closed or self._turn.deadline is None else self._turn.deadline.at

    @property
    def overdue(self) -> bool:
        """Whether the manager has been silent long enough to drop the match."""
        return self._is_silent_for(self._longest_clock)

    @property
    def yields(self) -> bool:
        """Whether the manager has been silent long enough for another match to take this one's place."""
        return self._is_silent_for(min(self._longest_clock, HELD_CLOCK))

    @property
    def _longest_clock(self) -> int:
        start = self.start_message
        return max(start.play_clock, 0 if self.turn_number or self._turn.answer else start.start_clock)

    def _is_silent_for(self, clock: int) -> bool:
        return now() - self.heard > SILENCE_FACTOR * clock + self._options.silence

    @property
    def full(self) -> bool:
        """Whether the moves told take more memory than a match may."""
        return self._history.full

    # --- messages

    def resume(self) -> None:
        """Gets a worker for an unfinished match, before its manager goes on."""
        self._workers.ensure_one(urgent=True)

    async def start(self, received: Instant) -> bool:
        """Gets ready to play, as far as the start clock allows; returns False for a match that cannot be played.

        Called again for a repeated START. That changes nothing, unless a PLAY of the first turn follows: then the match
        begins again.
        """
        self.heard = now()
        if self._starting is None:
            self._starting = asyncio.create_task(self._start(received))
        else:
            log.info("%s: START repeated", self.match_id)
            self._turn.start_repeated = True
        self.starts += 1
        try:
            return await asyncio.shield(self._starting)
        finally:
            self.starts -= 1

    async def play(self, message: Play, received: Instant, round_trip: float = 0.0) -> Term:
        """Returns the move for the next turn, as the rules spell it, before its clock is up.

        `round_trip` is in seconds, to the manager and back.
        """
        self.heard = now()
        message = self._spelling.read_moves(message)
        deadline = self._clock.play(received, self.start_message.play_clock, round_trip)
        await self._know_situation(message, deadline)
        if self._is_new(message):
            await self._advance(message, received, deadline)
        elif self._turn.answer is not None:
            log.info("%s: PLAY of turn %d repeated", self.match_id, self.turn_number)
        turn = self._turn
        if turn.answer is None:
            turn.deadline = deadline
            self._show.asked(deadline, received + self.start_message.play_clock - deadline.at)
            if not turn.number:
                self._workers.send_turn(0, messages.Turn(None, deadline.remaining()))
            self._workers.ensure_one()
            turn.answer = asyncio.create_task(self._answer(turn, deadline))
        move = await asyncio.shield(turn.answer)
        self.heard = now()
        self._clock.replied(deadline)
        return self._spelling.write(move)

    async def stop(self, message: Stop) -> None:
        """Takes the last joint move in; then notes the result and frees everything, in the background."""
        self.heard = now()
        message = self._spelling.read_moves(message)
        if (message.moves is not None or message.turn is not None) and self._is_new(message):
            await self._advance(message, self.heard, None)
        self._history.remove()
        self._finishing = asyncio.create_task(self._finish())

    def hasten(self) -> None:
        """Frees everything in a match that was stopped, without its result: its worker is needed."""
        self._close()

    def abort(self) -> None:
        """Frees everything."""
        self._close()
        self._show.aborted()
        self._history.remove()

    def suspend(self) -> None:
        """Frees everything but the journal, for the next server."""
        self._close()
        self._history.close()

    # --- the course of the match

    async def _start(self, received: Instant) -> bool:
        start = self.start_message
        deadline = self._clock.start(received, start.start_clock)
        self._show.starting(deadline)
        await self._history.begin()
        self._history.pace.took(received, 0)
        self._workers.ensure_one()
        while self._playable is None and not (self.closed or deadline.passed()):
            await self._wait(deadline.at)
        if self._playable is False:
            self._workers.give_back()
            self.abort()
            return False
        if self._playable is None:
            log.warning("%s: not ready within the start clock: set-up goes on during play", self.match_id)
        self._show.started()
        if self._turn.answer is None:
            # The start clock was ours; until the first turn it is others who think.
            self._ponder(self._turn)
        return not self.closed

    def _is_new(self, message: Play | Stop) -> bool:
        if self._history.begins_again(message, self._turn):
            log.warning("%s: the manager starts again from the first turn", self.match_id)
            self._rewind()
            return False
        return self._history.is_new(message, self._turn)

    async def _know_situation(self, message: Play, deadline: Deadline) -> None:
        """Waits until it is known whether a repeated joint move can have been made again.

        That is unknown only in a match that was just taken up.
        """
        history = self._history
        while history.pace.interrupted and history.repeats(message) and self._turn.situation is None:
            if deadline.passed() or self.closed:
                return
            await self._wait(deadline.at)

    async def _advance(self, message: Play | Stop, received_at: Instant, deadline: Deadline | None) -> None:
        """Takes a joint move in: writes it into the journal, then tells the workers."""
        received = self._history.read(message, received_at, self._turn.answered, self._latest)
        self._history.add(received)
        self._turn = MatchTurn(self._history.turns, deadline)
        self._show.moved(received)
        self._news.set()
        await self._history.note_last()
        self._workers.send_turn(self.turn_number, messages.Turn(received, deadline.remaining() if deadline else None))
        self._history.pace.took(received_at, self.turn_number)

    def _rewind(self) -> None:
        self._history.begin_again()
        self._latest = self._opening
        self._turn = MatchTurn(0, situation=self._opening)
        self._show.began_again()
        self._workers.send_rewind()

    async def _finish(self) -> None:
        deadline = Deadline(now() + GOALS_SECONDS)
        turn = self._turn
        while turn.situation is None and self._workers.has_worker and not (self.closed or deadline.passed()):
            await self._wait(deadline.at)
        if turn.situation is not None and turn.situation.goals is not None:
            goals = list(turn.situation.goals)
            log.info("%s: over after %d turns, goals %s", self.match_id, turn.number, goals)
        else:
            log.info("%s: stopped after %d turns", self.match_id, turn.number)
        self._show.ended(None if turn.situation is None else turn.situation.goals)
        self._close()

    # --- answers

    async def _answer(self, turn: MatchTurn, deadline: Deadline) -> Term:
        try:
            return await self._find_answer(turn, deadline)
        except Exception:
            # Each later message asks for this answer.
            log.exception("%s: turn %d: finding the answer failed", self.match_id, turn.number)
            return turn.best_move() or self._any_move()

    async def _find_answer(self, turn: MatchTurn, deadline: Deadline) -> Term:
        """Waits for the deadline, or until there is nothing left to think about; returns the answer."""
        begun = now()
        left = deadline.remaining()
        patience = begun + max(PATIENCE * left, min(PATIENCE_SECONDS, left / 2))
        while self._turn is turn and not (self.closed or self._playable is False or deadline.passed() or turn.decided):
            if turn.situation is None and now() >= patience:
                log.warning("%s: turn %d: no legal moves yet: a stand-by is called", self.match_id, turn.number)
                self._workers.add_standby()
                patience = deadline.at
            await self._wait(min(deadline.at, patience) if turn.situation is None else deadline.at)
        self._clock.woke(deadline, begun)
        if turn.situation is None and self._revived:
            end = deadline.at + self._clock.margin
            # Too late for most managers already; to the others, an illegal move is of no use either.
            await self._know_legal_moves(turn, end + (GRACE if now() < end + GRACE else MOST_GRACE))
        elif turn.situation is None and self._workers.is_alive:
            await self._know_legal_moves(turn, deadline.at + LAST_SHARE * self._clock.margin)
        if self._turn is not turn:
            # The manager went on without an answer, and will not read this one.
            return self._any_move()
        move = turn.best_move()
        if move is None:
            if turn.situation is None:
                log.error("%s: turn %d: no legal moves known at the deadline", self.match_id, turn.number)
            move = self._any_move()
        seconds = now() - begun
        log.info("%s: turn %d: %s after %.2f s (%s)", self.match_id, turn.number, write(move), seconds, turn.reasons())
        turn.deadline = None
        self._clock.count(turn)
        self._history.note_answer(move, turn)
        self._show.answered(move)
        self._ponder(turn)
        return move

    def _ponder(self, turn: MatchTurn) -> None:
        """Goes on thinking for a while, if at all: until the manager goes on."""
        if not self._options.ponder:
            self._workers.send(messages.Rest())
        else:
            longest = PONDER_CLOCKS * min(self._longest_clock, HELD_CLOCK) + PONDER_SECONDS
            asyncio.get_running_loop().call_later(longest, self._rest, turn, turn.answer)

    def _rest(self, turn: MatchTurn, answer: asyncio.Future[Term] | None) -> None:
        """Ends pondering if the manager has not gone on since this answer, or since START."""
        if self._turn is turn and turn.answer is answer and not self.closed:
            log.info("%s: turn %d: no more thinking until the manager goes on", self.match_id, turn.number)
            self._workers.send(messages.Rest())

    async def _know_legal_moves(self, turn: MatchTurn, until: Instant) -> None:
        while self._turn is turn and turn.situation is None and not (self.closed or self._playable is False):
            if now() >= until:
                return
            await self._wait(until)

    def _any_move(self) -> Term:
        return any_move(self.start_message, self._latest, self._history.last)

    # --- workers

    def _on_report(self, report: messages.Report, main: bool) -> None:
        turn = self._turn
        if isinstance(report, messages.Situation):
            if report.turn == turn.number and (main or turn.situation is None):
                self._workers.keep_one(main)
                turn.situation = self._latest = report
                self._revived = False
                if not turn.number:
                    self._opening = report
                self._history.note_state(report.checkpoint)
                self._show.situated(report)
        elif isinstance(report, messages.Thought):
            if main and report.turn == turn.number:
                turn.thought = report
                self._show.thought(report)
        elif isinstance(report, messages.Distrusted):
            self._history.distrust_circuits(report.circuits)
        elif isinstance(report, messages.Prepared):
            self._playable = True
            self._show.prepared(report)
        elif isinstance(report, messages.Refused):
            self._playable = False
            log.error("%s: cannot be played: %s", self.match_id, report.reason)
        self._news.set()

    def _make_begin(self, compile: bool) -> messages.Begin:
        options = self._options
        starting = self._starting is not None and not self._starting.done()
        return self._history.make_begin(
            self._turn,
            ponder=options.ponder or starting,
            compile=compile,
            memory=options.memory,
            cluster=options.cluster,
            level=options.level,
        )

    def _close(self) -> None:
        if not self.closed:
            self.closed = True
            self._workers.release()
            self._news.set()

    # --- waiting

    async def _wait(self, until: Instant) -> None:
        self._news.clear()
        try:
            async with asyncio.timeout(max(0.0, until - now())):
                await self._news.wait()
        except TimeoutError:
            pass
