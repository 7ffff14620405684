"""One match as the server process sees it: the messages of its manager, its clock, and the worker that thinks about it.

The worker sends the legal moves at the start of a turn, then better and better opinions. The answer is the latest of
them when the deadline comes, so that a worker that hangs or dies costs strength and never an answer in time. Such a
worker is replaced; the new one starts from the last situation that the old one reported.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass

from agent.search.engine import Opinion
from agent.serving.clock import Clock, Deadline, Instant, now
from agent.serving.journal import MatchJournal
from agent.serving.match_workers import Crew
from agent.serving.worker_pool import WorkerPool
from agent.worker.messages import (
    Begin,
    Position,
    Ready,
    Received,
    Refused,
    Report,
    Rest,
    Situation,
    Thought,
    Turn,
    Unseen,
)
from games.machine import Term
from protocol.kif import write
from protocol.messages import Play, Start, Stop

log = logging.getLogger(__name__)

PATIENCE = 0.2
"""Share of a turn after which a worker that has not even sent the legal moves gets a stand-by beside it."""

GOALS_SECONDS = 2.0
"""How long a finished match waits for the worker to say what the result was."""

SILENCE_FACTOR = 3
"""A manager that is silent for this many play clocks has given the match up."""

SILENCE_SECONDS = 20.0
"""Added to it, for managers that wait longer than their clock and for slow networks."""


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """How matches are played."""

    clock: Clock
    ponder: bool = True
    """Whether to think while others move."""


class Match:
    """A running match."""

    def __init__(
        self,
        start: Start,
        pool: WorkerPool,
        options: MatchOptions,
        journal: MatchJournal | None = None,
        history: tuple[Received, ...] = (),
    ) -> None:
        """`history` is what was received before this server took the match up."""
        self.start_message = start
        self.heard: Instant = now()
        """When the manager was last heard of."""
        self.closed = False
        """Whether the match is over for us."""
        self.engine = ""
        """What plays it, once that is known."""
        self.goals: tuple[int | None, ...] | None = None
        """The result, once known."""
        self._options = options
        self._journal = journal
        self._history = list(history)
        self._imperfect = any(_concludes_sees(statement) for statement in start.rules)
        self._crew = Crew(start.match_id, pool, self._brief, self._take)
        self._situation: Situation | None = None
        self._opening: Situation | None = None
        self._latest: Situation | None = None
        self._opinion: Opinion | None = None
        self._answer: asyncio.Task[Term] | None = None
        self._deadline: Deadline | None = None
        self._ready = False
        self._refused: str | None = None
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._start_again = False
        self._starting: asyncio.Task[bool] | None = None

    @property
    def match_id(self) -> str:
        """The manager's name of the match."""
        return self.start_message.match_id

    @property
    def turn(self) -> int:
        """How many joint moves were received."""
        return len(self._history)

    @property
    def overdue(self) -> bool:
        """Whether the manager has been silent for so long that the match may be dropped."""
        start = self.start_message
        longest = max(start.play_clock, 0 if self.turn or self._answer else start.start_clock)
        return now() - self.heard > SILENCE_FACTOR * longest + SILENCE_SECONDS

    # --- messages

    async def start(self, received: Instant) -> bool:
        """Gets ready to play, as far as the start clock allows; False where the match cannot be played.

        Called again for a START that is repeated: nothing changes, but should the manager now begin from the first
        turn, so does the match.
        """
        self.heard = now()
        if self._starting is None:
            self._starting = asyncio.create_task(self._start(received))
        else:
            log.info("%s: START repeated", self.match_id)
            self._start_again = self.turn > 0
        return await asyncio.shield(self._starting)

    async def play(self, message: Play, received: Instant) -> Term:
        """The move for the next turn, at the latest when its clock is up."""
        self.heard = now()
        deadline = self._options.clock.deadline(received, self.start_message.play_clock)
        if self._is_new(message):
            await self._advance(message, deadline)
        elif self._answer is not None:
            log.info("%s: PLAY of turn %d repeated", self.match_id, self.turn)
        if self._answer is None:
            self._deadline = deadline
            if not self.turn:
                self._crew.turn(0, Turn(None, deadline.remaining()))
            self._crew.call()
            self._answer = asyncio.create_task(self._find_answer(deadline, self.turn))
        move = await asyncio.shield(self._answer)
        self.heard = now()
        return move

    async def stop(self, message: Stop) -> None:
        """Takes the last joint move in, notes the result in the background, and frees everything."""
        self.heard = now()
        if (message.moves is not None or message.turn is not None) and self._is_new(message):
            await self._advance(message, None)
        if self._journal is not None:
            self._journal.remove()
        self._spawn(self._finish())

    def abort(self) -> None:
        """Frees everything."""
        self._close()
        if self._journal is not None:
            self._journal.remove()

    def suspend(self) -> None:
        """Frees everything but the journal: the server ends, the match goes on with the next one."""
        self._close()
        if self._journal is not None:
            self._journal.close()

    # --- the course of the match

    async def _start(self, received: Instant) -> bool:
        start = self.start_message
        deadline = self._options.clock.deadline(received, start.start_clock)
        if self._journal is not None:
            await self._journal.start(start)
        self._crew.call()
        while not (self._ready or self._refused or self.closed or deadline.passed()):
            await self._wait(deadline.at)
        if self._refused:
            self._crew.give_back()
            self.abort()
            return False
        if not self._ready:
            log.warning("%s: not ready within the start clock: set-up goes on during play", self.match_id)
        return not self.closed

    def _is_new(self, message: Play | Stop) -> bool:
        """Whether a message carries a joint move that was not yet taken in.

        Messages carry no turn numbers (but in the long form of GDL-II), so a joint move equal to the last one is a
        repetition unless it can have been made again: it is legal, and our own part is what we answered.
        """
        if message.turn is not None:
            return message.turn > self.turn
        if self._imperfect:
            return self._answer is not None and self._answer.done()
        if message.moves is None:
            if self.turn and self._start_again:
                log.warning("%s: the manager starts again from the first turn", self.match_id)
                self._rewind()
            elif self.turn:
                log.warning("%s: no moves at turn %d: taken as a repetition", self.match_id, self.turn)
            return False
        if not self.turn or message.moves != self._history[-1]:
            return True
        situation, answer = self._situation, self._answer
        if situation is None or not situation.repeatable or answer is None or not answer.done():
            return False
        return len(message.moves) > situation.role and message.moves[situation.role] == answer.result()

    async def _advance(self, message: Play | Stop, deadline: Deadline | None) -> None:
        """Takes one joint move in: first into the journal, then to the worker."""
        answer = self._answer
        own = answer.result() if answer is not None and answer.done() else None
        received: Received
        if message.turn is not None:
            received = Unseen(message.last_move)
        elif self._imperfect or message.moves is None:
            received = Unseen(own)
        else:
            received = message.moves
        self._history.append(received)
        self._situation = self._opinion = self._answer = None
        self._deadline = deadline
        self._start_again = False
        self._news.set()
        if self._journal is not None:
            await self._journal.received(received)
        self._crew.turn(self.turn, Turn(received, deadline.remaining() if deadline else None))

    def _rewind(self) -> None:
        self._history.clear()
        self._situation = self._latest = self._opening
        self._opinion = self._answer = None
        self._start_again = False
        if self._journal is not None:
            self._spawn(self._journal.start(self.start_message))
        self._crew.rewind()

    async def _finish(self) -> None:
        deadline = Deadline(now() + GOALS_SECONDS)
        while self._situation is None and self._crew.staffed and not deadline.passed():
            await self._wait(deadline.at)
        situation = self._situation
        if situation is not None and situation.goals is not None:
            self.goals = situation.goals
            log.info("%s: over after %d turns, goals %s", self.match_id, self.turn, list(self.goals))
        else:
            log.info("%s: stopped after %d turns", self.match_id, self.turn)
        self._close()

    # --- answers

    async def _find_answer(self, deadline: Deadline, turn: int) -> Term:
        """Waits for the deadline, or until there is nothing to think about."""
        begun = now()
        patience = begun + PATIENCE * deadline.remaining()
        while not (self.closed or self._refused or self.turn != turn or deadline.passed() or self._decided()):
            if self._situation is None and now() >= patience:
                log.warning("%s: turn %d: no legal moves yet: a stand-by is called", self.match_id, turn)
                self._crew.call_standby()
                patience = deadline.at
            await self._wait(min(deadline.at, patience) if self._situation is None else deadline.at)
        if self.turn != turn:
            # The manager went on without an answer; whatever is said now is not read.
            return self._last_resort()
        move = self._choose()
        seconds = now() - begun
        log.info("%s: turn %d: %s after %.2f s (%s)", self.match_id, turn, write(move), seconds, self._describe())
        self._deadline = None
        if not self._options.ponder:
            self._crew.tell(Rest())
        return move

    def _decided(self) -> bool:
        situation = self._situation
        if situation is None:
            return False
        if situation.terminal or len(situation.legal) <= 1:
            return True
        return self._opinion is not None and self._opinion.proven

    def _choose(self) -> Term:
        if self._situation is not None and self._situation.legal:
            if self._opinion is not None and self._opinion.move in self._situation.legal:
                return self._opinion.move
            return self._situation.legal[0]
        if self._situation is None:
            log.error("%s: turn %d: no legal moves known at the deadline", self.match_id, self.turn)
        return self._last_resort()

    def _last_resort(self) -> Term:
        """Some move, where it is not known what is legal: one of the last turn's, or one that the rules name."""
        if self._latest is not None and self._latest.legal:
            last = self._history[-1] if self._history else ()
            fresh = [move for move in self._latest.legal if isinstance(last, Unseen) or move not in last]
            return random.choice(fresh or list(self._latest.legal))
        named = list(_named_moves(self.start_message.rules, self.start_message.role))
        return random.choice(named) if named else "nil"

    def _describe(self) -> str:
        if self._situation is not None and len(self._situation.legal) == 1:
            return "forced"
        if self._opinion is None:
            return "no opinion"
        opinion = self._opinion
        value = "?" if opinion.value is None else f"{opinion.value:.1f}"
        details = "".join(f", {name} {what}" for name, what in opinion.info.items())
        return f"{self.engine}: value {value}{', proven' if opinion.proven else ''}{details}"

    # --- workers

    def _take(self, report: Report, main: bool) -> None:
        if isinstance(report, Situation):
            if report.turn == self.turn and (main or self._situation is None):
                self._crew.keep(main)
                self._situation = self._latest = report
                if not self.turn:
                    self._opening = report
                if self._history and isinstance(self._history[-1], Unseen) and report.joint_move is not None:
                    self._history[-1] = report.joint_move
        elif isinstance(report, Thought):
            if main and report.turn == self.turn:
                self._opinion = report.opinion
                self.engine = report.engine
        elif isinstance(report, Ready):
            self._ready = True
            self.engine = report.engine
        elif isinstance(report, Refused):
            self._refused = report.reason
            log.error("%s: cannot be played: %s", self.match_id, report.reason)
        self._news.set()

    def _brief(self, compile: bool) -> Begin:
        known = self._latest.position if self._latest is not None else Position()
        position = Position(known.turn, known.facts, known.disputed, tuple(self._history[known.turn :]))
        seconds = self._deadline.remaining() if self._deadline is not None else None
        return Begin(self.start_message, position, seconds, self._options.ponder, compile)

    def _close(self) -> None:
        if not self.closed:
            self.closed = True
            self._crew.release()
            self._news.set()

    # --- waiting

    async def _wait(self, until: Instant) -> None:
        """Until there is news, or the moment has come."""
        self._news.clear()
        try:
            async with asyncio.timeout(max(0.0, until - now())):
                await self._news.wait()
        except TimeoutError:
            pass

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _head(statement: Term) -> Term:
    """What a statement concludes."""
    if isinstance(statement, tuple) and len(statement) > 1 and statement[0] == "<=":
        return statement[1]
    return statement


def _concludes_sees(statement: Term) -> bool:
    """Whether a statement says what a role perceives: the game is one of imperfect information (GDL-II)."""
    head = _head(statement)
    return isinstance(head, tuple) and bool(head) and head[0] == "sees"


def _named_moves(rules: tuple[Term, ...], role: Term) -> Iterator[Term]:
    """Moves without variables that the rules give to a role, in heads of `legal` and `input`."""
    for statement in rules:
        head = _head(statement)
        if (
            isinstance(head, tuple)
            and len(head) == 3
            and head[0] in ("legal", "input")
            and (head[1] == role or str(head[1]).startswith("?"))
            and "?" not in write(head[2])
        ):
            yield head[2]
