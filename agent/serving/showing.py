"""Writes a match into a transcript for the page. After an error the match goes on without being shown."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any, TypeVar, cast

from agent.playing.messages import MOST_FACTS, Judged, Prepared, Received, Situation, Thought, Unseen
from agent.serving.clock import Deadline
from agent.serving.sheet import MatchSheet
from agent.web.gallery import Gallery
from agent.web.transcript import Transcript
from games.machine import Term

log = logging.getLogger(__name__)

Method = TypeVar("Method", bound=Callable[..., None])


def _isolated(method: Method) -> Method:
    """Makes a failure of a method end the show, and nothing else."""

    @wraps(method)
    def guarded(self: MatchShow, *arguments: Any) -> None:
        if self.failed:
            return
        try:
            method(self, *arguments)
        except Exception:
            self.failed = True
            log.exception("the match is not shown any more")
            with suppress(Exception):
                self._transcript.end("stopped")

    return cast("Method", guarded)


class MatchShow:
    """Writes the events of one match into its transcript."""

    def __init__(self, sheet: MatchSheet, gallery: Gallery | None) -> None:
        """Without a gallery nothing is written."""
        self.failed = gallery is None
        self._role = 0
        if gallery is not None:
            self._open(sheet, gallery)

    @_isolated
    def _open(self, sheet: MatchSheet, gallery: Gallery) -> None:
        start, roles = sheet.start, sheet.roles
        self._role = roles.index(start.role)
        self._transcript = Transcript(
            start.match_id,
            start.match_id,
            tuple(roles),
            tuple("this agent" if index == self._role else "" for index in range(len(roles))),
            start.start_clock,
            start.play_clock,
            rules=start.rules,
            bounded=True,
            key=gallery.new_key(start.match_id),
            own=(self._role,),
            told=sheet.size,
        )
        gallery.add(self._transcript)

    @_isolated
    def starting(self, deadline: Deadline) -> None:
        """The start clock runs."""
        self._transcript.run_clock(deadline.at, self._transcript.start_clock)

    @_isolated
    def started(self) -> None:
        """START was answered."""
        self._transcript.clock = None
        self._transcript.say("waiting for the manager")

    @_isolated
    def prepared(self, report: Prepared) -> None:
        """It is settled what plays the match."""
        what = "the compiled circuit" if report.compiled else "the interpreter of rules"
        if self._transcript.phase == "getting ready":
            self._transcript.say(f"ready: {report.engine} on {what}")

    @_isolated
    def asked(self, deadline: Deadline, margin: float) -> None:
        """A turn's clock runs."""
        self._transcript.phase = "thinking"
        self._transcript.run_clock(deadline.at, self._transcript.play_clock, margin)

    @_isolated
    def moved(self, received: Received) -> None:
        """A joint move was told."""
        if isinstance(received, Judged):
            received = received.moves
        if isinstance(received, Unseen):
            # The others' moves are not known.
            self._transcript.move(None, missed=received.missed)
        else:
            self._transcript.move(received)

    @_isolated
    def situated(self, situation: Situation) -> None:
        """The state is known, or some possible states are."""
        if situation.turn == self._transcript.last.turn and 0 < len(situation.possible) <= MOST_FACTS:
            self._transcript.reach(situation.possible, situation.states)
        self._transcript.allow(situation.role, situation.legal)

    @_isolated
    def thought(self, thought: Thought) -> None:
        """The engine has a new opinion."""
        if thought.turn == self._transcript.last.turn:
            self._transcript.think(self._role, thought.opinion, thought.engine, thought.reason)

    @_isolated
    def answered(self, move: Term) -> None:
        """A turn was answered."""
        self._transcript.answer(self._role, move)
        self._transcript.say("waiting for the others")

    @_isolated
    def began_again(self) -> None:
        """The manager starts from the first turn."""
        self._transcript.take_back(0)

    @_isolated
    def ended(self, goals: Sequence[int | None] | None) -> None:
        """STOP came; `goals` is None where they are not known."""
        if goals is None:
            self._transcript.end("stopped")
        else:
            self._transcript.end("finished", goals)

    @_isolated
    def aborted(self) -> None:
        """The match was given up."""
        self._transcript.end("aborted")
