"""The record of a match, filled while it is played.

That costs no more than keeping references; text is made only when somebody reads it.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, cast, get_args

from agent.bounded_json import number
from agent.record.spelling import (
    read_count,
    read_term,
    read_terms,
    read_text,
    reading,
    spell,
    spell_all,
    states_from_json,
)
from agent.record.thinking import Thinking
from games.gdl.rules.surface import has_imperfect_information
from games.machine import Term
from protocol.scramble import ScrambleStyle

if TYPE_CHECKING:
    from agent.search.engine import Opinion

Ending: TypeAlias = Literal["finished", "stalled", "resigned", "aborted"]
"""The end of a match: terminal, with a role that had no legal move, by a person's resignation, or interrupted."""

Outcome: TypeAlias = Ending | Literal["running", "stopped"]
"""`stopped`: the manager has ended the match without telling its result."""

Kind: TypeAlias = Literal["late", "unreachable", "malformed", "illegal", "failed"]
"""A player's error: no reply in time, no reply at all, a reply that is no term, an illegal move, or, in the referee's
own process, an exception."""

State: TypeAlias = frozenset[Term] | bytes
"""True facts, or possible states as JSON (see `states_to_json`), which whoever wants to know them reads."""

Request: TypeAlias = Literal["start", "play", "stop"]
"""The message to a player."""

Wait: TypeAlias = Literal["starts", "gets ready", "thinks", "moves"]
"""A reason to wait: that a player's process starts, answers START, answers PLAY, or that a person moves."""

AGAIN_SECONDS = 10
"""Seconds for players to get ready after moves were taken back, at least: rules are compiled by then also on a busy
machine, and meanwhile a person thinks."""

HUMAN = "human"
"""The player who is a person at this machine."""

MOST_FACTS = 100_000
"""Most facts kept of all positions of a bounded record, some 10 MB; of later positions only the moves are kept."""

FACT_BYTES = 20
"""Bytes of a fact in a state that is kept as JSON, roughly."""


def new_match_id(game: str) -> str:
    """Returns a name for a new match of a game."""
    return f"match.{re.sub(r'[^0-9A-Za-z_-]', '_', game)}.{time.time_ns() // 1_000_000}"


@dataclass(frozen=True, slots=True)
class Sight:
    """A person's knowledge of a position in a game of imperfect information."""

    facts: frozenset[Term] | None
    """Facts of all states that fit the percepts; None where no state was found."""
    states: int
    """Number of these states."""
    sure: bool
    """Whether none is missing."""


@dataclass(slots=True)
class Position:
    """One state of a match, with the moves to it and the thoughts in it."""

    moves: tuple[Term, ...] | None = None
    """Joint move that led here, as played; None for the first position, and where unknown."""
    state: State | None = None
    """None where unknown."""
    states: int = 1
    """Number of states that fit the percepts; `facts` is the likeliest."""
    turn: int = 0
    """Number of joint moves made, with those that were missed: they have no positions."""
    seconds: list[float] | None = None
    """Per role, seconds from PLAY to the reply, or to the deadline, for the joint move that led here."""
    percepts: dict[int, tuple[Term, ...]] = field(default_factory=dict)
    """Percepts by role, in games of imperfect information. Not written: they follow from the rules."""
    sights: dict[int, Sight] = field(default_factory=dict)
    """Knowledge of people by role, in games of imperfect information. Not written."""
    legal: dict[int, tuple[Term, ...]] = field(default_factory=dict)
    """Legal moves by role, as far as known. Not written: they follow from the rules."""
    thinking: dict[int, Thinking] = field(default_factory=dict)
    """Thoughts about the next move, by role."""
    answers: dict[int, Term] = field(default_factory=dict)
    """Answered moves by role."""
    begun: float = field(default_factory=time.monotonic)
    """Time at which the position was reached, by `time.monotonic`."""
    version: int = 0
    """The page's version at the last change."""

    @property
    def facts(self) -> frozenset[Term] | None:
        """True facts; None where unknown. Takes a while for a large state."""
        return None if self.state is None else facts_of(self.state)


@dataclass(frozen=True)
class PlayerError:
    """One error of a player."""

    role: Term
    step: int
    """0 for START, k for the k-th PLAY, one more than the last PLAY for STOP."""
    request: Request
    kind: Kind
    detail: str
    """Explanation for a person."""

    def as_json(self) -> dict[str, object]:
        """Returns the error as JSON data."""
        return {**vars(self), "role": spell(self.role)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PlayerError:
        """Reads the result of `as_json`. Raises `ValueError`, `TypeError` or `KeyError`."""
        request, kind, detail = (read_text(data[name]) for name in ("request", "kind", "detail"))
        return cls(
            read_term(data["role"]), read_count(data["step"]), cast("Request", request), cast("Kind", kind), detail
        )


@dataclass(eq=False)
class MatchRecord:
    """A match. Terms are spelled as in the rules, without scrambling."""

    game: str
    match_id: str
    roles: tuple[Term, ...]
    players: tuple[str, ...]
    """Per role: the player's address or name; "" where unknown."""
    start_clock: int
    play_clock: int
    scramble: ScrambleStyle = "none"
    seed: int = 0
    rules: tuple[Term, ...] = ()
    """The rulesheet; empty in records of release 0.2."""
    began: float = field(default_factory=time.time)
    """Time of day."""
    bounded: bool = False
    """Whether large states, and very many, are left out, as where strangers send them."""
    positions: list[Position] = field(default_factory=lambda: [Position()])
    outcome: Outcome = "running"
    goals: list[int | None] = field(default_factory=list)
    """Per role; empty unless the match finished."""
    resigned: int | None = None
    """Role whose player has resigned."""
    errors: list[PlayerError] = field(default_factory=list)
    opening_plies: int = 0
    """Number of first joint moves that were given, not chosen by the players."""
    taken_back: bool = False
    """Whether moves were taken back: the players' match began again."""
    facts_kept: int = field(default=0, init=False)
    """Number of facts of all positions, roughly."""
    eyes: int | None = field(default=None, init=False)
    """Role of the person whose knowledge is told while the match hides something; None for nobody's."""
    _known: dict[Term, Term] = field(default_factory=dict, init=False, repr=False)
    """One copy of each fact, as states share most of theirs."""

    def __post_init__(self) -> None:
        people = [role for role, player in enumerate(self.players) if player == HUMAN]
        self._hides = bool(people) and has_imperfect_information(self.rules)
        if len(people) == 1:
            (self.eyes,) = people

    # --- writing

    def touch(self, position: Position | None = None) -> None:
        """Called after every change, of this position if given."""

    def wait(self, role: int, what: Wait, seconds: float | None = None) -> None:
        """Called when a role's player is waited for, at most so many seconds, to be told on a page."""

    def go_on(self, role: int) -> None:
        """Called when a role's player is not waited for any more."""

    def move(self, moves: tuple[Term, ...] | None, seconds: list[float] | None = None, missed: int = 0) -> None:
        """Appends the position after a joint move, still unknown; `missed` others were made before it."""
        self.positions.append(Position(moves, turn=self.last.turn + missed + 1, seconds=seconds))
        self.touch(self.last)

    def reach(self, state: State, states: int = 1) -> None:
        """Sets the state of the newest position."""
        position = self.last
        if position.state != state or position.states != states:
            self._keep(position, state)
            position.states = states
            self.touch(position)

    def see(self, percepts: Sequence[tuple[Term, ...]], sights: Mapping[int, Sight]) -> None:
        """Sets the percepts of all roles in the newest position, and what people know there."""
        self.last.percepts, self.last.sights = dict(enumerate(percepts)), dict(sights)
        self.touch(self.last)

    def fill_in(self, states: Sequence[State]) -> None:
        """Sets the states of the first positions where they were unknown, as far as there is room."""
        for position, state in zip(self.positions, states, strict=False):
            if position.state is None:
                self._keep(position, state)
                self.touch(position)

    def _keep(self, position: Position, state: State) -> None:
        self.facts_kept -= _size(position.state)
        position.state = None
        if self.bounded and _size(state) > MOST_FACTS - self.facts_kept:
            return
        self.facts_kept += _size(state)
        if not isinstance(state, bytes):
            state = frozenset([self._known.setdefault(fact, fact) for fact in state])
        position.state = state

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
        self.touch(self.last)

    def blame(self, error: PlayerError) -> None:
        """Notes an error of a player."""
        self.errors.append(error)
        self.touch()

    def take_back(self, ply: int) -> None:
        """Forgets all positions after a ply, and the thoughts at it."""
        self.taken_back = True
        del self.positions[ply + 1 :]
        self.last.thinking.clear()
        self.last.answers.clear()
        self.last.begun = time.monotonic()
        self.errors = [error for error in self.errors if error.step <= ply]
        self.touch(self.last)

    def end(self, outcome: Outcome, goals: Sequence[int | None] = ()) -> None:
        """Ends the match."""
        if self.running:
            self.outcome, self.goals = outcome, list(goals)
            self.touch(self.last)

    # --- reading

    @property
    def running(self) -> bool:
        """Whether the match goes on."""
        return self.outcome == "running"

    @property
    def last(self) -> Position:
        """Newest position."""
        return self.positions[-1]

    @property
    def plies(self) -> int:
        """Number of joint moves that were told."""
        return len(self.positions) - 1

    @property
    def moves(self) -> list[tuple[Term, ...]]:
        """Joint moves as played, substitutes included; all of a refereed match."""
        return [position.moves for position in self.positions if position.moves is not None]

    @property
    def states(self) -> list[frozenset[Term]]:
        """True facts of each known position; in a refereed match one more than there are moves."""
        return [facts for position in self.positions if (facts := position.facts) is not None]

    @property
    def seconds(self) -> list[list[float]]:
        """Per role, the seconds for each joint move, where they are known."""
        known = [position.seconds for position in self.positions if position.seconds is not None]
        return [[seconds[role] for seconds in known] for role in range(len(self.roles))]

    def thoughts_at(self, position: Position) -> list[tuple[int, Thinking]]:
        """Returns the thoughts in a position by role, as far as they are told."""
        return list(position.thinking.items())

    @property
    def hides(self) -> bool:
        """Whether a person plays who may not know everything: then nothing else is told until the match is over."""
        return self._hides and self.running

    def shown_at(self, position: Position) -> tuple[State | None, tuple[Term | None, ...]]:
        """Returns the state and the moves to it, as far as they are told; None for moves that are not."""
        moves = position.moves or ()
        if not self.hides:
            return position.state, moves
        sight = None if self.eyes is None else position.sights.get(self.eyes)
        own = tuple(move if role == self.eyes else None for role, move in enumerate(moves))
        return None if sight is None else sight.facts, own

    @property
    def getting_ready(self) -> int:
        """Seconds of the start clock: fewer where moves were taken back, as players know the game."""
        return min(self.start_clock, max(self.play_clock, AGAIN_SECONDS)) if self.taken_back else self.start_clock

    # --- as data

    def as_json(self) -> dict[str, Any]:
        """Returns the record as JSON data, `aborted` while the match runs; that takes a while for a long match.

        Facts and moves are texts, facts sorted; None where they are unknown. Thoughts, answers that were not played,
        and what was missed or is in doubt are there by position, if there are any.
        """
        positions = list(self.positions)
        following = [*(position.moves for position in positions[1:]), None]
        by_position: dict[str, list[Any]] = {
            "thoughts": [
                {str(role): thought for role, one in self.thoughts_at(position) if (thought := one.as_json(spell))}
                for position in positions
            ],
            "answers": [_unplayed(one.answers, moves) for one, moves in zip(positions, following, strict=True)],
            "missed": [0, *(after.turn - before.turn - 1 for before, after in itertools.pairwise(positions))],
            "others": [position.states - 1 for position in positions],
        }
        return {
            "game": self.game,
            "match_id": self.match_id,
            "roles": spell_all(self.roles),
            "players": list(self.players),
            "start_clock": self.start_clock,
            "play_clock": self.play_clock,
            "scramble": self.scramble,
            "seed": self.seed,
            "began": self.began,
            "outcome": self.outcome if self.outcome in get_args(Ending) else "aborted",
            "goals": list(self.goals),
            **({} if self.resigned is None else {"resigned": self.resigned}),
            "errors": [error.as_json() for error in list(self.errors)],
            "steps": len(positions) - 1,
            "moves": [None if moves is None else spell_all(moves) for moves in following[:-1]],
            "states": [None if (facts := one.facts) is None else sorted(map(spell, facts)) for one in positions],
            "seconds": [[round(seconds, 4) for seconds in of_role] for of_role in self.seconds],
            **{name: values for name, values in by_position.items() if any(values)},
            "rules": spell_all(self.rules),
        }

    @classmethod
    def from_json(cls, data: Any, began: float = 0.0, **live: Any) -> Self:
        """Reads the result of `as_json`, also that of release 0.2; `began` is for one that does not say when that was.

        `live` is for the class of a match on the page. Raises `DamagedError`.
        """
        with reading():
            known: dict[str, Term] = {}

            def term(text: str) -> Term:
                # States share most of their facts.
                if text not in known:
                    known[text] = read_term(text)
                return known[text]

            ending, resigned = data["outcome"], data.get("resigned")
            if ending not in get_args(Ending):
                raise ValueError("it has no known outcome")
            record = cls(
                read_text(data["game"]),
                read_text(data["match_id"]),
                read_terms(data["roles"]),
                tuple(map(read_text, data["players"])),
                int(number(data["start_clock"])),
                int(number(data["play_clock"])),
                rules=read_terms(data.get("rules", [])),
                began=number(data.get("began", began)),
                outcome=ending,
                goals=[None if goal is None else int(number(goal)) for goal in data["goals"]],
                resigned=None if resigned is None else read_count(resigned),
                errors=list(map(PlayerError.from_json, data["errors"])),
                **live,
            )
            moves, states, seconds = [None, *data["moves"]], data["states"], data["seconds"]
            if not states or len(states) != len(moves) or len(record.players) != len(record.roles):
                raise ValueError("it has not one state more than moves, or a role without a player")
            timed = min(map(len, seconds), default=0) if len(seconds) == len(record.roles) else 0
            turn = -1
            record.positions = []
            for ply, (joint_move, facts) in enumerate(zip(moves, states, strict=True)):
                missed, others, thoughts, answers = (
                    data[name][ply] if ply < len(data.get(name, ())) else nothing
                    for name, nothing in (("missed", 0), ("others", 0), ("thoughts", {}), ("answers", {}))
                )
                turn += 1 + read_count(missed)
                record.positions.append(
                    Position(
                        None if joint_move is None else tuple(map(term, joint_move)),
                        None if facts is None else frozenset(map(term, facts)),
                        states=1 + read_count(others),
                        turn=turn,
                        seconds=[number(of_role[ply - 1]) for of_role in seconds] if 1 <= ply <= timed else None,
                        thinking={record._role(role): Thinking.from_json(one) for role, one in thoughts.items()},
                        answers={record._role(role): term(answer) for role, answer in answers.items()},
                    )
                )
            return record

    def _role(self, text: str) -> int:
        """Returns the index of a role from a JSON object's name. Raises `ValueError`."""
        if int(text) not in range(len(self.roles)):
            raise ValueError("something is no role's")
        return int(text)


def facts_of(state: State) -> frozenset[Term]:
    """Returns the facts of a state, of the likeliest one. Takes a while for a large state."""
    return max(states_from_json(state), key=lambda pair: pair[1])[0] if isinstance(state, bytes) else state


def _size(state: State | None) -> int:
    """Returns the number of facts, roughly."""
    return len(state) // FACT_BYTES if isinstance(state, bytes) else len(state or ())


def _unplayed(answers: dict[int, Term], made: tuple[Term, ...] | None) -> dict[str, str]:
    """Returns the answers that are no part of the joint move made, as text, by role."""
    return {str(role): spell(move) for role, move in list(answers.items()) if (made or ())[role : role + 1] != (move,)}
