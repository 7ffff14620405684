"""The data of one match on the page, filled while the match is played.

The player or referee of the match writes into it, which costs no more than keeping references. Text is made only when
somebody reads it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from agent.web.thinking import Thinking
from games.machine import Term
from protocol.kif import write
from protocol.terms import footprint

if TYPE_CHECKING:
    from agent.search.engine import Opinion

Outcome: TypeAlias = Literal["running", "finished", "stalled", "resigned", "aborted", "stopped"]
"""`stopped`: the manager has ended the match without telling its result."""

MOST_FACTS = 100_000
"""Most facts kept of all positions of a match, some 10 MB; of later positions only the moves are kept."""

FACT_BYTES, POSITION_BYTES = 100, 1 << 13
"""Bytes of a kept fact, and of a position beside its facts and moves, roughly; most are thoughts."""

LARGEST_STATE = 20_000
"""Most facts of a position that is kept; more would hold up the event loop."""


@dataclass(slots=True)
class Position:
    """One state of a match, with the moves to it and the thoughts in it."""

    moves: tuple[Term, ...] | None = None
    """Joint move that led here; None for the first position, and where unknown."""
    facts: frozenset[Term] | None = None
    """True facts; None where unknown."""
    states: int = 1
    """Number of states that fit the percepts; `facts` is the likeliest."""
    turn: int = 0
    """Number of joint moves made, with those that were missed: they have no positions."""
    seconds: list[float] | None = None
    """Per role, seconds for the joint move that led here."""
    legal: dict[int, tuple[Term, ...]] = field(default_factory=dict)
    """Legal moves by role, as far as known."""
    thinking: dict[int, Thinking] = field(default_factory=dict)
    """Thoughts about the next move, by role."""
    answers: dict[int, Term] = field(default_factory=dict)
    """Answered moves by role."""
    begun: float = 0.0
    """Time at which the position was reached, by `time.monotonic`."""
    version: int = 0
    """The transcript's version at the last change."""


@dataclass(slots=True)
class ShownClock:
    """A running clock."""

    due: float
    """Deadline of the answer, by `time.monotonic`."""
    total: float
    """Seconds of the whole clock."""
    margin: float = 0.0
    """Seconds kept back from it."""


class Transcript:
    """One match."""

    def __init__(
        self,
        key: str,
        game: str,
        roles: Sequence[Term],
        players: Sequence[str],
        *,
        start_clock: float | None,
        play_clock: float | None,
        own: Collection[int] = (),
        rules: Sequence[Term] = (),
        possible: Collection[Term] = (),
        began: float | None = None,
        match_id: str = "",
    ) -> None:
        """`key` is for links; `game` is a title, `match_id` the manager's name for the match if that is another one;
        `players` belong to the `roles`; `own` are the indices of our roles. `rules`, and `possible` (all facts of
        possible states), are for drawing; `began` is the time of day."""
        self.key = key
        self.game = game
        self.match_id = match_id
        self.roles = tuple(roles)
        self.players = tuple(players)
        self.own = tuple(own)
        self.start_clock = start_clock
        self.play_clock = play_clock
        self.rules = tuple(rules)
        self.possible = possible
        self.began = time.time() if began is None else began
        self.positions = [Position(begun=time.monotonic())]
        self.outcome: Outcome = "running"
        self.phase = "getting ready"
        """Present state of affairs, in a few words."""
        self.goals: list[int | None] = []
        """Per role; empty while unknown."""
        self.resigned: int | None = None
        """Role whose player has resigned."""
        self.errors: list[dict[str, Any]] = []
        """Errors of players: `role`, `step`, `kind`, `detail`."""
        self.clock: ShownClock | None = None
        self.seat: dict[str, Any] | None = None
        """Possible actions of a person at this page; None while nobody is asked."""
        self.again = False
        """Whether another match like this one can be begun on the page."""
        self.record_key: str | None = None
        """Key of the match among the records, once it is written there."""
        self.version = 1
        """Grows with every change."""
        self.changed: Callable[[Transcript], None] = lambda transcript: None
        """Called after every change."""
        self._told = footprint(self.rules)
        """Bytes of the rules and moves, roughly."""
        self._room = MOST_FACTS
        self._known: dict[Term, Term] = {}
        """One copy of each fact, as states share most of theirs."""

    # --- writing

    @property
    def size(self) -> int:
        """Bytes that the match takes in memory, roughly."""
        return self._told + len(self.positions) * POSITION_BYTES + (MOST_FACTS - self._room) * FACT_BYTES

    @property
    def last(self) -> Position:
        """Newest position."""
        return self.positions[-1]

    @property
    def running(self) -> bool:
        """Whether the match goes on."""
        return self.outcome == "running"

    def touch(self, position: Position | None = None) -> None:
        """Notifies of a change, of this position if given."""
        self.version += 1
        if position is not None:
            position.version = self.version
        self.changed(self)

    def move(self, moves: tuple[Term, ...] | None, seconds: list[float] | None = None, missed: int = 0) -> None:
        """Appends the position after a joint move, still unknown; `missed` others were made before it."""
        turn = self.last.turn + missed + 1
        self.positions.append(Position(moves, turn=turn, seconds=seconds, begun=time.monotonic()))
        self._told += footprint(moves or ())
        self.clock = None
        self.touch(self.last)

    def reach(self, facts: frozenset[Term], states: int = 1) -> None:
        """Sets the facts of the newest position."""
        position = self.last
        if position.facts == facts and position.states == states:
            return
        self._room += len(position.facts or ())
        if len(facts) > min(self._room, LARGEST_STATE):
            position.facts = None
        else:
            self._room -= len(facts)
            known = self._known
            position.facts = frozenset([known.setdefault(fact, fact) for fact in facts])
        position.states = states
        self.touch(position)

    def fill_in(self, positions: Sequence[frozenset[Term]]) -> None:
        """Sets the facts of the first positions where they were unknown, as far as there is room."""
        for position, facts in zip(self.positions, positions, strict=False):
            if position.facts is None and len(facts) <= min(self._room, LARGEST_STATE):
                self._room -= len(facts)
                position.facts = frozenset([self._known.setdefault(fact, fact) for fact in facts])
                self.touch(position)

    def allow(self, role: int, legal: tuple[Term, ...]) -> None:
        """Sets the legal moves of a role in the newest position."""
        if self.last.legal.get(role) != legal:
            self.last.legal[role] = legal
            self.touch(self.last)

    def think(self, role: int, opinion: Opinion, engine: str, reason: str) -> None:
        """Takes in a new opinion of a role's player on the newest position."""
        position = self.last
        thinking = position.thinking.get(role)
        if thinking is None:
            thinking = position.thinking[role] = Thinking(engine, reason)
        thinking.add(opinion, engine, reason, time.monotonic() - position.begun)
        self.touch(position)

    def answer(self, role: int, move: Term) -> None:
        """Sets the answer of a role's player in the newest position."""
        self.last.answers[role] = move
        self.clock = None
        self.touch(self.last)

    def run_clock(self, due: float, total: float, margin: float = 0.0) -> None:
        """Starts a clock for the newest position, see `ShownClock`."""
        self.clock = ShownClock(due, total, margin)
        self.touch()

    def say(self, phase: str) -> None:
        """Sets the phase."""
        if phase != self.phase:
            self.phase = phase
            self.touch()

    def take_back(self, ply: int) -> None:
        """Forgets all positions after a ply, and the thoughts at it."""
        del self.positions[ply + 1 :]
        self.last.thinking.clear()
        self.last.answers.clear()
        self.last.begun = time.monotonic()
        for position in self.positions:
            position.version = self.version + 1
        self.touch(self.last)

    def end(self, outcome: Outcome, goals: Sequence[int | None] = ()) -> None:
        """Ends the match."""
        if self.running:
            self.outcome, self.goals, self.phase = outcome, list(goals), ""
            self.clock = self.seat = None
            self.touch(self.last)

    # --- reading

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
            "plies": len(self.positions) - 1,
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
            "errors": list(self.errors),
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
            "known": position.facts is not None,
            "states": position.states,
            "seconds": None if position.seconds is None else [round(seconds, 2) for seconds in position.seconds],
            "legal": {role: len(legal) for role, legal in list(position.legal.items())},
            "answers": {role: write(move) for role, move in list(position.answers.items())},
            "thinking": {role: thought for role, thought in thinking.items() if thought is not None},
        }
