"""One match on the page: its record, with what there is of it only while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.record.match import HUMAN, MatchRecord, Outcome, Position, Wait
from agent.record.thinking import Thinking
from games.machine import Term
from protocol.kif import write
from protocol.terms import footprint

FACT_BYTES, POSITION_BYTES = 100, 1 << 13
"""Bytes of a kept fact, and of a position beside its facts and moves, roughly; most are thoughts."""


PHASES: Mapping[Wait, str] = {
    "moves": "waiting for your move",
    "starts": "the agent starts",
    "gets ready": "the players get ready: the start clock runs",
    "thinks": "the players are asked",
}
"""The present state of affairs in a match that waits for something. What comes first is told."""


@dataclass(slots=True)
class ShownClock:
    """A running clock."""

    due: float
    """Deadline of the answer, by `time.monotonic`."""
    total: float
    """Seconds of the whole clock."""
    margin: float = 0.0
    """Seconds kept back from it."""

    def as_json(self) -> dict[str, Any]:
        """Returns JSON data: the seconds `left` instead of the deadline."""
        return {
            "left": round(self.due - time.monotonic(), 3),
            "total": self.total,
            "margin": round(self.margin, 3),
        }


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
    waits: dict[int, tuple[Wait, ShownClock | None]] = field(default_factory=dict)
    """The wait for each role's player in a refereed match, with its clock if it has one."""
    seat: dict[str, Any] | None = None
    """Possible actions of a person at this page; None while nobody is asked."""
    friendly: bool = False
    """Whether people may take moves back."""
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
        chosen = self.last if self._person_chooses() else None
        super().move(moves, seconds, missed)
        self._tell_wait()
        if chosen is not None:
            # Thoughts in it are told from now on.
            self.touch(chosen)

    def answer(self, role: int, move: Term) -> None:
        """See `MatchRecord.answer`."""
        self.clock = None
        super().answer(role, move)

    def run_clock(self, due: float, total: float, margin: float = 0.0) -> None:
        """Starts a clock for the newest position, see `ShownClock`."""
        self.clock = ShownClock(due, total, margin)
        self.touch()

    def wait(self, role: int, what: Wait, seconds: float | None = None) -> None:
        """See `MatchRecord.wait`."""
        clock = None if seconds is None else ShownClock(time.monotonic() + seconds, seconds)
        self.waits[role] = what, clock
        self._tell_wait()

    def go_on(self, role: int) -> None:
        """See `MatchRecord.go_on`."""
        if self.waits.pop(role, None) is not None:
            self._tell_wait()

    def _tell_wait(self) -> None:
        if self.running and self.waits:
            order = list(PHASES)
            what, self.clock = min(self.waits.values(), key=lambda wait: order.index(wait[0]))
            self.phase = PHASES[what]
        self.touch()

    def offer(self, seat: dict[str, Any] | None) -> None:
        """Sets the possible actions of a person, whose eyes the page has from now on."""
        self.seat = seat
        if seat is not None and seat["role"] != self.eyes:
            self.eyes = seat["role"]
            if self.hides:
                self._renew()
        self.touch(self.last)

    def _renew(self) -> None:
        """Has all positions told again."""
        for position in self.positions:
            position.version = self.version + 1
        self.touch()

    def say(self, phase: str) -> None:
        """Sets the phase."""
        if phase != self.phase:
            self.phase = phase
            self.touch()

    def take_back(self, ply: int) -> None:
        """See `MatchRecord.take_back`."""
        super().take_back(ply)
        self._renew()

    def end(self, outcome: Outcome, goals: Sequence[int | None] = ()) -> None:
        """Ends the match."""
        self.phase, self.clock, self.seat = "", None, None
        self.waits.clear()
        hid = self.hides
        super().end(outcome, goals)
        if hid:
            # Everything is told now.
            self._renew()

    # --- reading

    def thoughts_at(self, position: Position) -> list[tuple[int, Thinking]]:
        """See `MatchRecord.thoughts_at`: those in a position in which a person chooses are told afterwards."""
        secret = self.hides or (position is self.last and self._person_chooses())
        return [] if secret else super().thoughts_at(position)

    def _person_chooses(self) -> bool:
        """Returns whether a person has a choice in the newest position, as far as known."""
        people = [role for role, player in enumerate(self.players) if player == HUMAN]
        legal = self.last.legal
        return self.running and any(role not in legal or len(legal[role]) > 1 for role in people)

    @property
    def size(self) -> int:
        """Bytes that the match takes in memory, roughly."""
        return self.told + len(self.positions) * POSITION_BYTES + self.facts_kept * FACT_BYTES

    def summary(self) -> dict[str, Any]:
        """Returns the overview's data as JSON data."""
        values = [None] * len(self.roles)
        for position in self.positions[-2:]:
            for role, thinking in self.thoughts_at(position):
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
            "clock": None if (clock := self.clock) is None else clock.as_json(),
            "goals": list(self.goals),
            "resigned": self.resigned,
            "values": values,
        }

    def view(self, since: int = 0) -> dict[str, Any]:
        """Returns a page's data as JSON data; `steps` are the positions changed after the version `since`."""
        version, positions = self.version, list(self.positions)
        return {
            **self.summary(),
            "version": version,
            "eyes": self.eyes if self.hides else None,
            "errors": [error.as_json() for error in list(self.errors) if self._is_told(error.role)],
            "waits": {
                role: {"for": what, "clock": None if own is None else own.as_json()}
                for role, (what, own) in list(self.waits.items())
            },
            "seat": self.seat,
            "undo": {role: ply for role in range(len(self.roles)) if (ply := self.last_choice(role)) is not None},
            "again": self.again,
            "steps": [
                self._step(ply, position)
                for ply, position in enumerate(positions)
                if not since or position.version > since
            ],
        }

    def last_choice(self, role: int) -> int | None:
        """Returns the ply of a person's last choice, to which taking back leads; None where that is not possible.

        One that is asked for a move takes back the move before.
        """
        if not (self.running and self.friendly and self.players[role] == HUMAN):
            return None
        positions = list(self.positions)
        asked = self.waits.get(role, ("",))[0] == "moves"
        plies = reversed(range(len(positions) - asked))
        return next((ply for ply in plies if len(positions[ply].legal.get(role, ())) > 1), None)

    def _is_told(self, role: Term | int) -> bool:
        """Returns whether what belongs to a role is told."""
        eyes = self.eyes
        return not self.hides or (eyes is not None and role in (eyes, self.roles[eyes]))

    def _step(self, ply: int, position: Position) -> dict[str, Any]:
        state, moves = self.shown_at(position)
        sight = None if self.eyes is None else position.sights.get(self.eyes)
        thinking = {role: thought.as_json() for role, thought in self.thoughts_at(position)}
        seconds = None if self.hides else position.seconds
        return {
            "ply": ply,
            "moves": None if position.moves is None else [move and write(move) for move in moves],
            "turn": position.turn,
            "known": state is not None,
            "states": sight.states if self.hides and sight is not None else position.states,
            "sure": not self.hides or (sight is not None and sight.sure),
            "percepts": {
                role: list(map(write, percepts))
                for role, percepts in list(position.percepts.items())
                if self._is_told(role)
            },
            "seconds": None if seconds is None else [round(one, 2) for one in seconds],
            "legal": {role: len(legal) for role, legal in list(position.legal.items()) if self._is_told(role)},
            "answers": {role: write(move) for role, move in list(position.answers.items()) if self._is_told(role)},
            "thinking": {role: thought for role, thought in thinking.items() if thought is not None},
        }
