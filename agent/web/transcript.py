"""What a page shows of one match, as plain data that is filled while the match is played.

Whoever plays or referees the match writes into its transcript; that costs no more than keeping references to what is
there anyway. Only who reads makes text of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from agent.web.thinking import Thinking
from games.machine import Term
from protocol.kif import write

if TYPE_CHECKING:
    from agent.search.engine import Opinion

Outcome: TypeAlias = Literal["running", "finished", "stalled", "aborted", "stopped"]
"""`stopped`: its manager has ended the match, and did not say with what result."""

MOST_FACTS = 100_000
"""Facts of one match that are kept, over all positions; of later positions only the moves are. Set by hand, so that
long matches of large games take some 10 MB at most."""

LARGEST_STATE = 20_000
"""Facts of a position from which on it is not kept at all: the event loop is not to be held up."""


@dataclass(slots=True)
class Position:
    """One state of a match, and what is known of the way to it and from it."""

    moves: tuple[Term, ...] | None = None
    """The joint move that led here; None for the first position, and where it is not known."""
    facts: frozenset[Term] | None = None
    """What is true; None where it is not known."""
    states: int = 1
    """How many states fit what was told, of which this is the likeliest."""
    seconds: list[float] | None = None
    """Per role, how long the joint move that led here took."""
    legal: dict[int, tuple[Term, ...]] = field(default_factory=dict)
    """By role: the legal moves, as far as they are known."""
    thinking: dict[int, Thinking] = field(default_factory=dict)
    """By role: what was thought about the next move."""
    answers: dict[int, Term] = field(default_factory=dict)
    """By role: the move that was answered."""
    begun: float = 0.0
    """When the position was reached, by `time.monotonic`."""
    version: int = 0
    """That of the transcript when this changed last."""


@dataclass(slots=True)
class ShownClock:
    """A clock that runs."""

    due: float
    """When the answer is to be there, by `time.monotonic`."""
    total: float
    """Seconds of the whole clock."""
    margin: float = 0.0
    """Seconds of it that are kept back."""


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
    ) -> None:
        """`key` names it in links; `game` is a title; `players` belong to the `roles`, `own` of which are played by
        us. `rules` and `possible` (all facts that any state may hold) help to draw it; `began` is the time of day."""
        self.key = key
        self.game = game
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
        """What is going on, in a few words."""
        self.goals: list[int | None] = []
        """Per role; empty as long as they are not known."""
        self.errors: list[dict[str, Any]] = []
        """What players did wrong: `role`, `step`, `kind`, `detail`."""
        self.clock: ShownClock | None = None
        self.seat: dict[str, Any] | None = None
        """What a person at this page can do at present; None where no person plays."""
        self.record_key: str | None = None
        """The key of the same match among the records, once it was written there."""
        self.version = 1
        """Grows with every change."""
        self.changed: Callable[[Transcript], None] = lambda transcript: None
        """Told of every change."""
        self._room = MOST_FACTS
        self._known: dict[Term, Term] = {}
        """Every fact once: states share most of theirs."""

    # --- writing

    @property
    def last(self) -> Position:
        """The newest position."""
        return self.positions[-1]

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self.outcome == "running"

    def touch(self, position: Position | None = None) -> None:
        """Tells that something has changed, of one position where that is given."""
        self.version += 1
        if position is not None:
            position.version = self.version
        self.changed(self)

    def move(self, moves: tuple[Term, ...] | None, seconds: list[float] | None = None) -> None:
        """A joint move was made: there is a new position, of which nothing else is known yet."""
        self.positions.append(Position(moves, seconds=seconds, begun=time.monotonic()))
        self.clock = None
        self.touch(self.last)

    def reach(self, facts: frozenset[Term], states: int = 1) -> None:
        """The newest position is known."""
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
        """The first positions are known after all, as far as there is room to keep them."""
        for position, facts in zip(self.positions, positions, strict=False):
            if position.facts is None and len(facts) <= min(self._room, LARGEST_STATE):
                self._room -= len(facts)
                position.facts = frozenset([self._known.setdefault(fact, fact) for fact in facts])
                self.touch(position)

    def allow(self, role: int, legal: tuple[Term, ...]) -> None:
        """The legal moves of a role in the newest position."""
        if self.last.legal.get(role) != legal:
            self.last.legal[role] = legal
            self.touch(self.last)

    def think(self, role: int, opinion: Opinion, engine: str, reason: str) -> None:
        """A role's player has a new opinion on the newest position."""
        position = self.last
        thinking = position.thinking.get(role)
        if thinking is None:
            thinking = position.thinking[role] = Thinking(engine, reason)
        thinking.add(opinion, engine, reason, time.monotonic() - position.begun)
        self.touch(position)

    def answer(self, role: int, move: Term) -> None:
        """A role's player has chosen in the newest position."""
        self.last.answers[role] = move
        self.clock = None
        self.touch(self.last)

    def run_clock(self, due: float, total: float, margin: float = 0.0) -> None:
        """A clock runs for the newest position, see `ShownClock`."""
        self.clock = ShownClock(due, total, margin)
        self.touch()

    def say(self, phase: str) -> None:
        """What is going on, in a few words."""
        if phase != self.phase:
            self.phase = phase
            self.touch()

    def take_back(self, ply: int) -> None:
        """Forgets all positions after one, and what was thought about it."""
        del self.positions[ply + 1 :]
        self.last.thinking.clear()
        self.last.answers.clear()
        self.last.begun = time.monotonic()
        for position in self.positions:
            position.version = self.version + 1
        self.touch(self.last)

    def end(self, outcome: Outcome, goals: Sequence[int | None] = ()) -> None:
        """The match is over."""
        if self.running:
            self.outcome, self.goals, self.phase = outcome, list(goals), ""
            self.clock = self.seat = None
            self.touch(self.last)

    # --- reading

    def summary(self) -> dict[str, Any]:
        """What an overview says of it, as JSON data."""
        values = [None] * len(self.roles)
        for position in self.positions[-2:]:
            for role, thinking in list(position.thinking.items()):
                if thinking.opinion is not None and thinking.opinion.score is not None:
                    values[role] = round(thinking.opinion.score.goal, 1)  # type: ignore[call-overload]
        return {
            "key": self.key,
            "game": self.game,
            "roles": [write(role) for role in self.roles],
            "players": list(self.players),
            "own": list(self.own),
            "clocks": [self.start_clock, self.play_clock],
            "began": self.began,
            "plies": len(self.positions) - 1,
            "outcome": self.outcome,
            "phase": self.phase,
            "goals": list(self.goals),
            "values": values,
        }

    def view(self, since: int = 0) -> dict[str, Any]:
        """All that a page needs to know, as JSON data: `steps` are the positions that changed after that version."""
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
            "known": position.facts is not None,
            "states": position.states,
            "seconds": None if position.seconds is None else [round(seconds, 2) for seconds in position.seconds],
            "legal": {role: len(legal) for role, legal in list(position.legal.items())},
            "answers": {role: write(move) for role, move in list(position.answers.items())},
            "thinking": {role: thought for role, thought in thinking.items() if thought is not None},
        }
