"""Managers' messages and players' replies, as data. `protocol.messages` reads and writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from protocol import infix, kif
from protocol.terms import Term, TextPosition

Syntax: TypeAlias = Literal["prefix", "infix"]

LONGEST_CLOCK = 999_999_999
"""Longest clock of a message, in seconds; also the last turn that GDL-II's long form can name."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The form of a message, and so of its reply."""

    syntax: Syntax = "prefix"
    message_id: str | None = None
    """Optional id of an infix message, repeated in its reply: `ping(m7)`, `reply(m7,ready)`."""


@dataclass(frozen=True, slots=True)
class Info:
    """INFO, or no message at all: who are you, and are you free?"""


@dataclass(frozen=True, slots=True)
class Ping:
    """PING: are you there?"""

    id: str | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """PREVIEW: the rules of a match that may come, and seconds to look at them."""

    rules: tuple[Term, ...]
    clock: int
    """Seconds, 0 to `LONGEST_CLOCK`."""
    source: str = field(default="", repr=False, compare=False)
    syntax: Syntax = field(default="prefix", repr=False, compare=False)

    def locate(self, path: tuple[int, ...]) -> TextPosition:
        """The position in `source` of the sub-term of `rules` at `path`. Raises `LookupError`."""
        return _locate(self.source, self.syntax, path)


@dataclass(frozen=True, slots=True)
class Start:
    """START: a match begins; `start_clock` seconds to get ready, then `play_clock` seconds per move.

    Clocks are 0 to `LONGEST_CLOCK`.
    """

    match_id: str
    role: Term
    rules: tuple[Term, ...]
    """Statements with GDL's keywords in lower case, and constants out of parentheses."""
    start_clock: int
    play_clock: int
    source: str = field(default="", repr=False, compare=False)
    """The rules' text as received, to locate diagnostics in."""
    syntax: Syntax = field(default="prefix", repr=False, compare=False)
    listed: frozenset[str] = field(default=frozenset(), compare=False)
    """Names of the constants that replies have in parentheses."""

    def locate(self, path: tuple[int, ...]) -> TextPosition:
        """The position in `source` of the sub-term of `rules` at `path`. Raises `LookupError`."""
        return _locate(self.source, self.syntax, path)


@dataclass(frozen=True, slots=True)
class Play:
    """PLAY: the moves just made by all roles, in role order; what is yours?

    GDL-II has two forms. The long one gives `turn`, `last_move` and `percepts`, and no `moves`. The short one looks
    like a joint move: in a game with percepts, `moves` holds the percepts.
    """

    match_id: str
    moves: tuple[Term, ...] | None = None
    """None on the first turn, and in the short form when nothing was perceived."""
    turn: int | None = None
    """Turn number from 0; None except in the long form."""
    last_move: Term | None = None
    """The player's move as the manager executed it; None on the first turn."""
    percepts: tuple[Term, ...] | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """STOP: the match is over after these last moves. Fields as in `Play`."""

    match_id: str
    moves: tuple[Term, ...] | None = None
    turn: int | None = None
    last_move: Term | None = None
    percepts: tuple[Term, ...] | None = None


@dataclass(frozen=True, slots=True)
class Abort:
    """ABORT: forget the match."""

    match_id: str


Message: TypeAlias = Info | Ping | Preview | Start | Play | Stop | Abort


@dataclass(frozen=True, slots=True)
class Status:
    """The answer to INFO. Managers schedule matches only for a player whose `status` is `available`."""

    name: str
    status: str = "available"
    species: str = "alien"


@dataclass(frozen=True, slots=True)
class Ready:
    """The answer to START, PREVIEW and PING."""


@dataclass(frozen=True, slots=True)
class Busy:
    """The refusal of any message: the only one that every manager knows."""


@dataclass(frozen=True, slots=True)
class Done:
    """The answer to STOP."""


@dataclass(frozen=True, slots=True)
class Aborted:
    """The answer to ABORT."""


@dataclass(frozen=True, slots=True)
class MoveReply:
    """The answer to PLAY: one ground term, spelled as in the rules."""

    move: Term


Reply: TypeAlias = Status | Ready | Busy | Done | Aborted | MoveReply


def _locate(source: str, syntax: Syntax, path: tuple[int, ...]) -> TextPosition:
    return infix.locate(source, path) if syntax == "infix" else kif.locate(source, path)
