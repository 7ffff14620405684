"""The messages received in a match: which are new, before which others may be missing, where a new process begins.

Everything is noted in the journal as it comes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import replace

from agent.playing.messages import MOST_MISSED, Checkpoint, Judged, Received, Situation, Unseen, count_turns
from agent.serving.clock import Instant, now
from agent.serving.journal import MatchJournal, UnfinishedMatch
from agent.serving.sheet import MatchSheet
from agent.serving.turn import MatchTurn
from games.machine import Term
from protocol.messages import Play, Stop
from protocol.terms import footprint

log = logging.getLogger(__name__)


MOST_TOLD = 64 << 20
"""Most bytes that a match's turns take in memory, roughly: some 7,000 turns. Rulesheets in use end after 300."""

LONG = 1.05
"""Factor of the play clock beyond which more than one turn has passed, if there was an outage."""

MANAGER_SECONDS = 6.0
"""Longest time that managers wait beyond their clock (Tiltyard: 5 s). A longer turn was more than one."""

TURN_BYTES = 1 << 13
"""Bytes that a turn takes beside its moves, roughly; most are the thoughts that the page shows."""


class MatchHistory:
    """A match as its manager reported it."""

    def __init__(self, sheet: MatchSheet, journal: MatchJournal | None, found: UnfinishedMatch | None) -> None:
        """`found` is a match that a former server left unfinished; its journal is used on."""
        self._start = sheet.start
        self.outage = found is not None
        """Whether there was no server for some time since the last message."""
        found = found or UnfinishedMatch(sheet.start, journal=journal)
        self._journal = found.journal
        self._history: list[Received] = []
        self.turns = 0
        """Number of joint moves made."""
        self._told = 0
        """Bytes of the joint moves, roughly."""
        for received in found.history:
            self._add(received)
        self.distrust = found.distrust
        """Number of circuits found wrong by now."""
        self._checkpoint = found.checkpoint
        self._doubtful = self.outage
        """Whether joint moves may ever have been missed."""
        self._heard = now() - found.silence
        """Moment of the last message."""
        self._imperfect, self._roles = sheet.imperfect, sheet.roles
        self.noting: set[asyncio.Task[None]] = set()
        """Running writes to the journal."""

    @property
    def last(self) -> Received:
        """The last joint move; empty before the first."""
        return self._history[-1] if self._history else ()

    @property
    def full(self) -> bool:
        """Whether the match takes more memory than it may."""
        return self._told > MOST_TOLD

    def repeats(self, message: Play | Stop) -> bool:
        """Returns whether a message has the same joint move as the last one."""
        last = self.last
        return bool(self._history) and message.moves == (last.moves if isinstance(last, Judged) else last)

    def begins_again(self, message: Play | Stop, turn: MatchTurn) -> bool:
        """Returns whether a message is the first turn's once more: START came again in a later turn."""
        first = message.turn is None and message.moves is None and not self._imperfect
        return first and bool(self.turns) and turn.start_repeated

    def is_new(self, message: Play | Stop, turn: MatchTurn) -> bool:
        """Returns whether a message has a joint move that was not taken in yet.

        Messages have no turn numbers (but in the long form of GDL-II). So a joint move equal to the last one is a
        repetition, unless it can have been made again: it is legal, and our part of it is our answer.
        """
        if message.turn is not None:
            return message.turn > self.turns
        if self._imperfect:
            return turn.answered is not None or (self.outage and turn.number > 0)
        if message.moves is None:
            if self.turns:
                log.warning("%s: no moves at turn %d: taken as a repetition", self._start.match_id, self.turns)
            return False
        if not self.repeats(message):
            return True
        if turn.situation is None or not turn.situation.repeatable:
            return False
        if turn.answered is None:
            # Managers do not ask twice: the answer was lost with the former server.
            return self.outage
        role = turn.situation.role
        return len(message.moves) > role and message.moves[role] == turn.answered

    def read(
        self, message: Play | Stop, received_at: Instant, answered: Term | None, latest: Situation | None
    ) -> Received:
        """Returns the last joint move, with the reasons to doubt it.

        `answered` is our last answer, `latest` the last known situation.
        """
        if message.turn is not None:
            # The number tells how many were missed; nothing else is known of them.
            ahead = message.turn - self.turns - 1
            return Unseen(message.last_move, message.percepts, max(0, min(ahead, MOST_MISSED)))
        if self._imperfect:
            return Unseen(answered, message.moves or ())
        if message.moves is None:
            return Unseen(answered)
        role = None if latest is None else latest.role
        if len(self._roles) == len(message.moves):
            # A manager may be faster than the processes of a match that was just taken up.
            role = self._roles.index(self._start.role)
        replaced = (
            answered is not None and role is not None and role < len(message.moves) and message.moves[role] != answered
        )
        interrupted = self._is_interrupted(received_at, replaced)
        self._doubtful = self._doubtful or interrupted
        if interrupted or (replaced and self._doubtful) or (latest is not None and latest.states > 1):
            return Judged(message.moves, answered, interrupted)
        return message.moves

    def _is_interrupted(self, received_at: Instant, replaced: bool) -> bool:
        """Returns whether joint moves may have been missed before a message; `replaced` says whether it has another
        move for us than our answer."""
        clock = self._start.play_clock
        passed = received_at - self._heard - (0 if self.turns else self._start.start_clock)
        if self.outage:
            # After a short time, too: the manager may have noticed our failure and gone on at once.
            return replaced or passed > LONG * clock
        return replaced and passed > clock + MANAGER_SECONDS

    async def begin(self, received_at: Instant) -> None:
        """Notes the START, and waits for the disk."""
        if self._journal is not None:
            await self._journal.start(self._start)
        self._hear(received_at)

    def add(self, received: Received, received_at: Instant) -> None:
        """Takes a joint move in, without noting it."""
        self._add(received)
        self._hear(received_at)

    async def note(self, received: Received, number: int) -> None:
        """Notes the joint move with this number, and waits for the disk."""
        if self._journal is not None:
            await self._journal.received(received, number)

    def begin_again(self) -> None:
        """Forgets all turns."""
        self._history.clear()
        self.turns = self._told = 0
        self._checkpoint = Checkpoint()
        self._hear(now())
        self._doubtful = False
        if self._journal is not None:
            self._note(self._journal.start(self._start, self.distrust))

    def note_answer(self, move: Term, turn: MatchTurn) -> None:
        """Notes the answer of a turn."""
        if self._journal is not None:
            self._note(self._journal.answered(move, turn.number))

    def note_state(self, situation: Situation) -> None:
        """Notes the state that the reference has told, or the possible ones, unless they are too large."""
        checkpoint = situation.checkpoint
        if checkpoint is not None and self._checkpoint.turn <= situation.turn <= self.turns:
            self._checkpoint = checkpoint
            if self._journal is not None:
                self._note(self._journal.reached(checkpoint))

    def distrust_circuits(self, count: int) -> None:
        """Notes the number of circuits found wrong by now."""
        if count > self.distrust:
            self.distrust = count
            if self._journal is not None:
                self._note(self._journal.distrusted(count))

    def checkpoint(self) -> Checkpoint:
        """Returns the last known state, with the messages since then."""
        known, first, number = self._checkpoint, len(self._history), self.turns
        while number > known.turn:
            first -= 1
            number -= count_turns(self._history[first])
        return replace(known, since=tuple(self._history[first:]))

    def close(self) -> None:
        """Closes the journal, which stays for the next server."""
        if self._journal is not None:
            self._journal.close()

    def remove(self) -> None:
        """Removes the journal's file."""
        if self._journal is not None:
            self._journal.remove()

    def _hear(self, received_at: Instant) -> None:
        self._heard, self.outage = received_at, False

    def _add(self, received: Received) -> None:
        self._history.append(received)
        self.turns += count_turns(received)
        told = (received.own or (), received.percepts or ()) if isinstance(received, Unseen) else received
        self._told += TURN_BYTES + footprint(told.moves if isinstance(told, Judged) else told)

    def _note(self, writing: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(writing)
        self.noting.add(task)
        task.add_done_callback(self.noting.discard)
