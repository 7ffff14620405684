"""One match on the page: its record, with what there is of it only while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agent.record.match import MatchRecord, Outcome, Position
from games.machine import Term
from protocol.kif import write
from protocol.terms import footprint

FACT_BYTES, POSITION_BYTES = 100, 1 << 13
"""Bytes of a kept fact, and of a position beside its facts and moves, roughly; most are thoughts."""


@dataclass(slots=True)
class ShownClock:
    """A running clock."""

    due: float
    """Deadline of the answer, by `time.monotonic`."""
    total: float
    """Seconds of the whole clock."""
    margin: float = 0.0
    """Seconds kept back from it."""


@dataclass(eq=False, kw_only=True)
class Transcript(MatchRecord):
    """One match."""

    key: str
    """Key for links."""
    own: tuple[int, ...] = ()
    """Indices of our roles."""
    phase: str = "getting ready"
    """Present state of affairs, in a few words."""
    clock: ShownClock | None = None
    """Clock of the newest position."""
    seat: dict[str, Any] | None = None
    """Possible actions of a person at this page; None while nobody is asked."""
    again: bool = False
    """Whether another match like this one can be begun on the page."""
    record_key: str | None = None
    """Key of the match among the records, once it is written there."""
    version: int = 1
    """Grows with every change."""
    changed: Callable[[Transcript], None] = lambda transcript: None
    """Called after every change."""
    told: int = 0
    """Bytes of the moves, roughly, and of rules that a stranger has sent."""

    # --- writing

    def touch(self, position: Position | None = None) -> None:
        """Notifies of a change, of this position if given."""
        self.version += 1
        if position is not None:
            position.version = self.version
        self.changed(self)

    def move(self, moves: tuple[Term, ...] | None, seconds: list[float] | None = None, missed: int = 0) -> None:
        """See `MatchRecord.move`."""
        self.told += footprint(moves or ())
        self.clock = None
        super().move(moves, seconds, missed)

    def answer(self, role: int, move: Term) -> None:
        """See `MatchRecord.answer`."""
        self.clock = None
        super().answer(role, move)

    def run_clock(self, due: float, total: float, margin: float = 0.0) -> None:
        """Starts a clock for the newest position, see `ShownClock`."""
        self.clock = ShownClock(due, total, margin)
        self.touch()

    def wait(self, what: str, seconds: float) -> None:
        """See `MatchRecord.wait`."""
        self.say(what)
        self.run_clock(time.monotonic() + seconds, seconds)

    def say(self, phase: str) -> None:
        """Sets the phase."""
        if phase != self.phase:
            self.phase = phase
            self.touch()

    def take_back(self, ply: int) -> None:
        """See `MatchRecord.take_back`."""
        super().take_back(ply)
        for position in self.positions:
            position.version = self.version + 1
        self.touch()

    def end(self, outcome: Outcome, goals: Sequence[int | None] = ()) -> None:
        """Ends the match."""
        self.phase, self.clock, self.seat = "", None, None
        super().end(outcome, goals)

    # --- reading

    @property
    def size(self) -> int:
        """Bytes that the match takes in memory, roughly."""
        return self.told + len(self.positions) * POSITION_BYTES + self.facts_kept * FACT_BYTES

    def summary(self) -> dict[str, Any]:
        """Returns the overview's data as JSON data."""
        values = [None] * len(self.roles)
        for position in self.positions[-2:]:
            for role, thinking in list(position.thinking.items()):
                if thinking.opinion is not None and thinking.opinion.score is not None:
                    values[role] = round(thinking.opinion.score.goal, 1)  # type: ignore[call-overload]
        return {
            "key": self.key,
            "game": self.game,
            "id": self.match_id,
            "roles": [write(role) for role in self.roles],
            "players": list(self.players),
            "own": list(self.own),
            "clocks": [self.start_clock, self.play_clock],
            "began": self.began,
            "plies": self.plies,
            "outcome": self.outcome,
            "phase": self.phase,
            "goals": list(self.goals),
            "resigned": self.resigned,
            "values": values,
        }

    def view(self, since: int = 0) -> dict[str, Any]:
        """Returns a page's data as JSON data; `steps` are the positions changed after the version `since`."""
        version, positions, clock, now = self.version, list(self.positions), self.clock, time.monotonic()
        return {
            **self.summary(),
            "version": version,
            "errors": [error.as_json() for error in list(self.errors)],
            "clock": None
            if clock is None
            else {
                "left": round(clock.due - now, 3),
                "total": clock.total,
                "margin": round(clock.margin, 3),
            },
            "seat": self.seat,
            "again": self.again,
            "steps": [
                self._step(ply, position)
                for ply, position in enumerate(positions)
                if not since or position.version > since
            ],
        }

    def _step(self, ply: int, position: Position) -> dict[str, Any]:
        thinking = {role: thought.as_json() for role, thought in list(position.thinking.items())}
        return {
            "ply": ply,
            "moves": None if position.moves is None else [write(move) for move in position.moves],
            "turn": position.turn,
            "known": position.state is not None,
            "states": position.states,
            "seconds": None if position.seconds is None else [round(seconds, 2) for seconds in position.seconds],
            "legal": {role: len(legal) for role, legal in list(position.legal.items())},
            "answers": {role: write(move) for role, move in list(position.answers.items())},
            "thinking": {role: thought for role, thought in thinking.items() if thought is not None},
        }
