"""One match of the server process: its manager's messages, its clock, and its two processes.

The reference tells the legal moves of each turn, the search better and better opinions. The answer is the latest
opinion at the deadline that is legal: a process that hangs or dies costs strength, but no answer comes late. It is
replaced by another one, which begins where the last state is known.
"""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from agent.playing import messages
from agent.playing.messages import Situation
from agent.serving.clock import SILENCE_SECONDS, Clock, Deadline, Instant, now
from agent.serving.history import MatchHistory
from agent.serving.journal import MatchJournal, UnfinishedMatch
from agent.serving.match_clock import MatchClock
from agent.serving.pool import ProcessPool
from agent.serving.seats import ProcessSeat
from agent.serving.sheet import MatchSheet
from agent.serving.showing import MatchShow
from agent.serving.statistics import Statistics
from agent.serving.turn import MatchTurn, any_move
from agent.web.gallery import Gallery
from games.machine import Term
from protocol.kif import write
from protocol.messages import Play, Stop

log = logging.getLogger(__name__)

PATIENCE, PATIENCE_SECONDS = 0.1, 0.25
"""Share of a turn, and most seconds, that a final opinion waits for the reference, which may find the search wrong."""

LAST_SHARE = 0.75
"""Share of the margin spent as well if a living process has not told the legal moves: an illegal move is worth no more
than a late one."""

GOALS_SECONDS = 10.0
"""Seconds that a finished match waits for its result, enough for a process that has just joined on a busy machine."""

SILENCE_FACTOR = 3
"""Play clocks of silence, beside `SILENCE_SECONDS`, after which a manager has given the match up."""

PONDER_CLOCKS, PONDER_SECONDS = 2, 60.0
"""Time to ponder after START or an answer: clocks, and seconds on top. A person without a clock may have left."""

HELD_CLOCK = 3600
"""Seconds that longer clocks count as, where others need the match's processes while its manager is silent: some
managers send a hundred years for no limit. People who take an hour a move keep their match."""

SHARED_CLOCK = 180
"""Seconds that longer waits for the first PLAY count as, where a peer with less than its share of the places asks for
one: championships give three minutes to start."""

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


class Pools(NamedTuple):
    """The processes of both kinds."""

    reference: ProcessPool
    search: ProcessPool


class Match:
    """A running match."""

    def __init__(
        self,
        sheet: MatchSheet,
        pools: Pools,
        options: MatchOptions,
        journal: MatchJournal | None = None,
        found: UnfinishedMatch | None = None,
        peer: str = "",
    ) -> None:
        """`found` is a match that a former server left unfinished; else `peer` began it."""
        self.start_message = start = sheet.start
        self.peer = peer if found is None else found.peer
        """Peer that began the match (`protocol.connections`); empty if unknown."""
        self._sheet = sheet
        self.heard: Instant = now()
        """Time of the manager's last message."""
        self._since: Instant = self.heard
        """Time of the START; later where a former server was told of turns."""
        self.closed = False
        self._options = options
        self._clock = MatchClock(options.clock, options.statistics)
        self._history = MatchHistory(sheet, journal, found)
        self._show = MatchShow(sheet, options.gallery)
        self._revived = found is not None
        """Whether no process has told a situation since this server took the match up."""
        name, lost = start.match_id, self._clock.lost_process
        due, begin = self._awaited, self._begin
        self._reference = ProcessSeat(name, pools.reference, due, begin, self._on_reference, lost)
        self._search = ProcessSeat(name, pools.search, due, begin, self._on_search, self._on_search_lost)
        self._accepted = self._revived
        """Whether the rules are valid: no search is bothered before."""
        self._playable: bool | None = None
        """Whether the match can be played; None until a process tells."""
        self._turn = MatchTurn(self._history.turns)
        self._opening: Situation | None = None
        """The reference's situation of the first turn."""
        self._latest: Situation | None = None
        """Situation told last, of this or an earlier turn."""
        self._rewinds = 0
        """Number of times that the manager began again."""
        self._news = asyncio.Event()
        """Set by any event that may end a wait."""
        self._rest_due: asyncio.TimerHandle | None = None
        """End of pondering."""
        self._finishing: asyncio.Task[None] | None = None
        self._start_due: Instant = math.inf
        """Deadline of the answer to START."""
        self._starting: asyncio.Task[bool] | None = None
        """The answer to START; a repeated START waits for the same one."""
        self.starts = 0
        """Number of STARTs that wait for it."""
        if found is not None:
            for received in found.history:
                self._show.moved(received)
            self.heard -= found.silence
            self._since -= found.silence
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
        if self._begun:
            return self._is_silent_for(min(self._longest_clock, HELD_CLOCK))
        return self._should_have_begun(HELD_CLOCK)

    @property
    def yields_to_others(self) -> bool:
        """Whether a match of another peer, which has less than its share of the places, may take this one's."""
        return not self._begun and self._should_have_begun(SHARED_CLOCK)

    @property
    def full(self) -> bool:
        """Whether the moves told take more memory than a match may."""
        return self._history.full

    # --- messages

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
        message = self._sheet.spelling.read_moves(message)
        deadline = self._clock.play(received, self.start_message.play_clock, round_trip)
        await self._know_whether_it_is_new(message, deadline)
        if self._history.begins_again(message, self._turn):
            self._rewind()
        elif self._history.is_new(message, self._turn):
            await self._advance(message, received, deadline)
        elif self._turn.answer is not None:
            log.info("%s: PLAY of turn %d repeated", self.match_id, self.turn_number)
        turn = self._turn
        if turn.answer is None:
            turn.deadline = deadline
            self._show.asked(deadline, received + self.start_message.play_clock - deadline.at)
            if not turn.number:
                self._tell(0, messages.Turn(None, deadline.remaining()))
            self.resume()
            self._cancel_rest()
            turn.answer = asyncio.create_task(self._answer(turn, deadline))
        move = await asyncio.shield(turn.answer)
        self.heard = now()
        self._clock.replied(deadline)
        return self._sheet.spelling.write(move)

    async def stop(self, message: Stop) -> None:
        """Takes the last joint move in; then notes the result and frees everything, in the background."""
        self.heard = now()
        message = self._sheet.spelling.read_moves(message)
        told = message.moves is not None or message.turn is not None
        if told and self._history.is_new(message, self._turn):
            await self._advance(message, self.heard, None)
        self._history.remove()
        self._finishing = asyncio.create_task(self._finish())

    def abort(self) -> None:
        """Frees everything."""
        self.hasten()
        self._show.aborted()
        self._history.remove()

    def suspend(self) -> None:
        """Frees everything but the journal, for the next server."""
        self.hasten()
        self._history.close()

    def hasten(self) -> None:
        """Frees the processes, also where a match that was stopped still waits for its result."""
        if not self.closed:
            self.closed = True
            self._cancel_rest()
            self._reference.close(free=self._playable is False and not self._accepted)
            self._search.close()
            self._news.set()

    def resume(self) -> None:
        """Gets the processes that are missing."""
        self._reference.ensure()
        if self._accepted:
            self._search.ensure()

    # --- the course of the match

    async def _start(self, received: Instant) -> bool:
        start = self.start_message
        deadline = self._clock.start(received, start.start_clock)
        self._start_due = deadline.at
        self._show.starting(deadline)
        await self._history.begin(received)
        self.resume()
        while self._playable is None and not (self.closed or deadline.passed()):
            await self._wait(deadline.at)
        if self._playable is False:
            self.abort()
            return False
        if self._playable is None:
            log.warning("%s: not ready within the start clock: set-up goes on during play", self.match_id)
        self._show.started()
        if self._turn.answer is None:
            # The start clock was ours; until the first turn it is others who think.
            self._ponder()
        return not self.closed

    async def _know_whether_it_is_new(self, message: Play, deadline: Deadline) -> None:
        """Waits until it is known whether a repeated joint move can have been made again.

        That is unknown only in a match that was just taken up.
        """
        history = self._history
        while history.outage and history.repeats(message) and self._turn.situation is None:
            if deadline.passed() or self.closed:
                return
            await self._wait(deadline.at)

    async def _advance(self, message: Play | Stop, received_at: Instant, deadline: Deadline | None) -> None:
        """Takes a joint move in: writes it into the journal, then tells the processes."""
        history = self._history
        received = history.read(message, received_at, self._turn.answered, self._latest)
        history.add(received, received_at)
        self._turn = turn = MatchTurn(history.turns, deadline)
        self._show.moved(received)
        self._news.set()
        rewinds = self._rewinds
        await history.note(received, turn.number)
        if self._rewinds == rewinds:
            self._tell(turn.number, messages.Turn(received, deadline.remaining() if deadline else None))

    def _rewind(self) -> None:
        log.warning("%s: the manager starts again from the first turn", self.match_id)
        self._rewinds += 1
        self._history.begin_again()
        self._latest = self._opening
        self._turn = MatchTurn(0, reference=self._opening)
        self._show.began_again()
        self._reference.rewind()
        self._search.rewind()

    async def _finish(self) -> None:
        deadline = Deadline(now() + GOALS_SECONDS)
        turn = self._turn
        while turn.reference is None and self._reference.taken and not (self.closed or deadline.passed()):
            await self._wait(deadline.at)
        goals = None if turn.situation is None else turn.situation.goals
        result = f"stopped after {turn.number} turns"
        if goals is not None:
            result = f"over after {turn.number} turns, goals {list(goals)}"
        log.info("%s: %s", self.match_id, result)
        self._show.ended(goals)
        self.hasten()

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
        await self._think(turn, deadline)
        self._clock.woke(deadline, begun)
        await self._know_legal_moves(turn, deadline, begun)
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
        self._ponder()
        return move

    async def _think(self, turn: MatchTurn, deadline: Deadline) -> None:
        """Waits for the deadline, or until there is nothing left to think about."""
        patience = min(PATIENCE_SECONDS, PATIENCE * deadline.remaining())
        until = deadline.at
        while self._waits_in(turn) and now() < until and not (turn.decided and turn.reference is not None):
            until = min(until, now() + patience) if turn.decided else deadline.at
            await self._wait(until)

    async def _know_legal_moves(self, turn: MatchTurn, deadline: Deadline, begun: Instant) -> None:
        """Waits beyond the deadline for the legal moves, if they are still unknown. `begun` is the time of the PLAY."""
        until = deadline.at
        if self._revived or begun >= deadline.at:
            # Too late for most managers already; to the others, an illegal move is of no use either.
            end = deadline.at + self._clock.margin
            until = end + (GRACE if now() < end + GRACE else MOST_GRACE)
        elif self._reference.alive or self._search.alive:
            until = deadline.at + LAST_SHARE * self._clock.margin
        while turn.situation is None and self._waits_in(turn) and now() < until:
            await self._wait(until)

    def _waits_in(self, turn: MatchTurn) -> bool:
        """Returns whether an answer is still wanted in a turn."""
        return self._turn is turn and not self.closed and self._playable is not False

    def _ponder(self) -> None:
        """Goes on thinking for a while, if at all: until the manager goes on."""
        if self._search.can_be_bettered:
            log.info("%s: another search goes on with the kernels compiled by now", self.match_id)
            self._turn.forget_search()
            self._search.replace(lost=False)
        if not self._options.ponder:
            self._send(messages.Rest())
        elif not self.closed:
            longest = PONDER_CLOCKS * min(self._longest_clock, HELD_CLOCK) + PONDER_SECONDS
            self._rest_due = asyncio.get_running_loop().call_later(longest, self._rest)

    def _rest(self) -> None:
        """Ends pondering where the manager has not gone on."""
        log.info("%s: turn %d: no more thinking until the manager goes on", self.match_id, self.turn_number)
        self._send(messages.Rest())

    def _cancel_rest(self) -> None:
        # It would keep a match in memory that has ended, too.
        if self._rest_due is not None:
            self._rest_due.cancel()

    def _any_move(self) -> Term:
        return any_move(self._sheet.named, self._latest, self._history.last)

    # --- the two processes

    def _awaited(self) -> Instant:
        """Returns the time at which the next answer must be there; late where none is wanted."""
        if self.due is not None:
            return self.due
        return math.inf if self._starting is None or self._starting.done() else self._start_due

    def _tell(self, number: int, command: messages.Turn) -> None:
        self._reference.turn(number, command)
        self._search.turn(number, command)

    def _send(self, command: messages.Command) -> None:
        self._reference.send(command)
        self._search.send(command)

    def _begin(self, compile: bool) -> messages.Begin:
        """Returns the command for a process that joins now."""
        options, deadline = self._options, self._turn.deadline
        starting = self._starting is not None and not self._starting.done()
        return messages.Begin(
            replace(self.start_message, listed=frozenset()),
            self._history.checkpoint(),
            None if deadline is None else deadline.remaining(),
            options.ponder or starting,
            compile,
            self._history.distrust,
            options.memory,
            options.cluster,
            options.level,
        )

    def _on_reference(self, report: messages.Report) -> None:
        match report:
            case Situation():
                self._history.note_state(report)
                if not report.turn:
                    self._opening = report
                if report.turn == self._turn.number:
                    self._turn.reference = report
                    self._on_situation(report)
            case messages.Accepted():
                self._accepted = True
                self.resume()
            case messages.Refused():
                self._refuse(report)
        self._news.set()

    def _on_search(self, report: messages.Report) -> None:
        turn = self._turn
        match report:
            case Situation() if report.turn == turn.number:
                turn.search = report
                self._on_situation(report)
            case messages.Astray() if report.turn == turn.number:
                turn.astray = True
                self._compare()
            case messages.Thought() if report.turn == turn.number:
                turn.thought = report
                self._show.thought(report)
            case messages.Prepared():
                self._playable = True
                self._show.prepared(report)
            case messages.Distrusted():
                self._distrust(report.circuits)
            case messages.Refused():
                self._refuse(report)
        self._news.set()

    def _on_situation(self, report: Situation) -> None:
        if self._turn.situation is report:
            self._revived = False
            self._latest = report
            self._show.situated(report)
        self._compare()

    def _compare(self) -> None:
        """Makes the search think about what the reference knows. The interpreter is right where they differ."""
        turn, here = self._turn, self._turn.reference
        if here is None or not self._search.taken:
            return
        wrong = turn.search_is_wrong
        if turn.place_due or (wrong and self._history.distrust >= messages.CIRCUITS):
            turn.placed = here
            legal = here.legal if here.states > 1 else None
            self._search.send(messages.Placement(here.turn, here.digest, here.possible, legal))
        elif wrong:
            log.error("%s: turn %d: the search has another state than the interpreter", self.match_id, turn.number)
            self._distrust(self._history.distrust + 1)

    def _distrust(self, circuits: int) -> None:
        """Replaces a search whose circuit is wrong."""
        self._history.distrust_circuits(circuits)
        self._turn.forget_search()
        self._search.replace()

    def _on_search_lost(self) -> None:
        self._turn.forget_search()
        self._clock.lost_process()

    def _refuse(self, report: messages.Refused) -> None:
        if self._playable is None:
            log.error("%s: cannot be played: %s", self.match_id, report.reason)
            self._playable = False

    # --- waiting

    @property
    def _begun(self) -> bool:
        """Whether a PLAY has come."""
        return bool(self.turn_number or self._turn.answer)

    @property
    def _longest_clock(self) -> int:
        start = self.start_message
        return max(start.play_clock, 0 if self._begun else start.start_clock)

    def _should_have_begun(self, most: int) -> bool:
        """Returns whether the first PLAY should have come, after at most some seconds.

        Managers may wait for one player after the other to get ready, each for the whole start clock.
        """
        clocks = len(self._sheet.roles) * self.start_message.start_clock
        return now() - self._since > min(clocks, most) + self._options.silence

    def _is_silent_for(self, clock: int) -> bool:
        return now() - self.heard > SILENCE_FACTOR * clock + self._options.silence

    async def _wait(self, until: Instant) -> None:
        self._news.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, until - now())):
                await self._news.wait()
