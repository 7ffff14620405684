"""What managers say and what players answer, as data. `protocol.messages` reads and writes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from protocol import infix, kif
from protocol.terms import Term, TextPosition

Syntax: TypeAlias = Literal["prefix", "infix"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a message was written, and so how its reply is to be."""

    syntax: Syntax = "prefix"
    message_id: str | None = None
    """Infix messages may carry an id, which their reply repeats: `ping(m7)`, `reply(m7,ready)`."""


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
    source: str = field(default="", repr=False, compare=False)
    syntax: Syntax = field(default="prefix", repr=False, compare=False)

    def locate(self, path: tuple[int, ...]) -> TextPosition:
        """Where in `source` the sub-term of `rules` starts that `path` leads to. Raises `LookupError`."""
        return _locate(self.source, self.syntax, path)


@dataclass(frozen=True, slots=True)
class Start:
    """START: a match begins; `start_clock` seconds to get ready, then `play_clock` seconds per move."""

    match_id: str
    role: Term
    rules: tuple[Term, ...]
    """The statements, their keywords in lower case where they stand as relation or operator."""
    start_clock: int
    play_clock: int
    source: str = field(default="", repr=False, compare=False)
    """The text of the rules as it came, to locate diagnostics in."""
    syntax: Syntax = field(default="prefix", repr=False, compare=False)

    def locate(self, path: tuple[int, ...]) -> TextPosition:
        """Where in `source` the sub-term of `rules` starts that `path` leads to. Raises `LookupError`."""
        return _locate(self.source, self.syntax, path)


@dataclass(frozen=True, slots=True)
class Play:
    """PLAY: the moves just made by all roles, in role order; what is yours?

    GDL-II has two forms. The long one gives `turn`, `last_move` and `percepts`, and no `moves`. The short one looks
    like a joint move and lands in `moves`: in a game with percepts, that is what they are.
    """

    match_id: str
    moves: tuple[Term, ...] | None = None
    """None where there are none: on the first turn, or (short form) when nothing was perceived."""
    turn: int | None = None
    """From 0; None but in the long form."""
    last_move: Term | None = None
    """What the manager executed for this player; None on the first turn."""
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
    """The answer to INFO. A manager schedules a match only where `status` is `available`."""

    name: str
    status: str = "available"
    species: str = "alien"


@dataclass(frozen=True, slots=True)
class Ready:
    """The answer to START, PREVIEW and PING."""


@dataclass(frozen=True, slots=True)
class Busy:
    """The answer to whatever cannot be served: the one refusal that every manager knows."""


@dataclass(frozen=True, slots=True)
class Done:
    """The answer to STOP."""


@dataclass(frozen=True, slots=True)
class Aborted:
    """The answer to ABORT."""


@dataclass(frozen=True, slots=True)
class MoveReply:
    """The answer to PLAY: one ground term, spelled as the rules spell it."""

    move: Term


Reply: TypeAlias = Status | Ready | Busy | Done | Aborted | MoveReply


def _locate(source: str, syntax: Syntax, path: tuple[int, ...]) -> TextPosition:
    return infix.locate(source, path) if syntax == "infix" else kif.locate(source, path)
