"""Messages between the server process and a match's two processes, and their channel.

Both processes get the rules and each joint move. The reference tells each turn's situation; the search tells opinions.
Nothing that the server process reads is as large as a stranger likes: states are bytes with a bound and a digest.

Both ends are our own code on one machine.
"""

from __future__ import annotations

import logging
import os
import pickle
import select
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from games.machine import Term
from protocol.messages import Start

if TYPE_CHECKING:
    # It imports NumPy, without which server and reference answer sooner.
    from agent.search.engine import Opinion

log = logging.getLogger(__name__)

JointMove: TypeAlias = tuple[Term, ...]
"""One move per role, in the order of the roles."""

PULSE = 0.5
"""Seconds between two signs of life."""

MOST_STATES = 1 << 19
"""Most bytes of the states in a report: the server process passes them on without reading them."""

MOST_TERMS = 1 << 16
"""Most bytes of a report beside these, which the server process reads in less than a millisecond. What is too long is
left out (see `Channel.send`)."""

MOST_MISSED = 1000
"""Most turns by which a message's number may be ahead."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """A joint move of which only the own part is known, as in a game of imperfect information (GDL-II)."""

    own: Term | None
    """The own move, as executed by the manager if it tells that, else as answered; None if unknown."""
    percepts: tuple[Term, ...] | None = None
    """The own role's percepts (`sees`); None if unknown."""
    missed: int = 0
    """Number of joint moves before this one of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A joint move where the state is, or may be, in doubt."""

    moves: JointMove
    answered: Term | None = None
    """Our last answer; None if unknown."""
    interrupted: bool = False
    """Whether other joint moves may have been missed before this one."""


Received: TypeAlias = JointMove | Unseen | Judged
"""The last joint move, as told by a PLAY or STOP."""


def count_turns(*history: Received) -> int:
    """Returns the number of joint moves, with those missed for certain."""
    return sum(1 + (received.missed if isinstance(received, Unseen) else 0) for received in history)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The knowledge of a match in some turn, and the messages since then, from which to take the match up."""

    turn: int = 0
    """Number of joint moves received by then."""
    states: bytes | None = None
    """See `Situation.possible`; None for the initial state."""
    disputed: JointMove | None = None
    """See `Situation.disputed`."""
    since: tuple[Received, ...] = ()
    """Joint moves received since then."""


# ---------------------------------------------------------------------------------------------- server -> process


CIRCUITS = 2
"""Circuits of a match that may be found wrong: after these the interpreter searches, too."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster whose cores may help."""

    address: str
    """Ray's address; `auto` for a cluster that this machine belongs to."""
    helpers: int = 0
    """Most cores to use; 0 for all."""


PART = 1000
"""Statements pickled at once, in about a millisecond in which no other thread runs."""


class PackedRules:
    """Rules as bytes, in place of a tuple: neither the event loop nor garbage collection walks through them.

    Where they are sent to, they arrive as a tuple. Making them, and iterating, takes a while.
    """

    def __init__(self, rules: Sequence[Term]) -> None:
        self._parts = tuple(pickled(tuple(rules[begin : begin + PART])) for begin in range(0, len(rules), PART))
        self._length = len(rules)
        # One statement at a time: others have their turn meanwhile.
        self._hash = hash(tuple([hash(statement) for statement in rules]))

    @property
    def size(self) -> int:
        """Number of bytes."""
        return sum(map(len, self._parts))

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Term]:
        return iter(_unpacked(*self._parts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PackedRules) and hash(self) == hash(other)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return _unpacked, self._parts


def _unpacked(*parts: bytes) -> tuple[Term, ...]:
    return tuple(chain.from_iterable(map(pickle.loads, parts)))


@dataclass(frozen=True, slots=True)
class Begin:
    """Take part in a match. A process's first command."""

    start: Start
    checkpoint: Checkpoint
    seconds: float | None
    """Length of the running turn; None if none is running."""
    ponder: bool
    """Whether to think while no turn is running: during the start clock, or while others are to move."""
    compile: bool
    """Whether to compile a circuit; if not, the interpreter plays. The reference compiles none."""
    distrust: int = 0
    """Number of circuits of the match's rules found wrong, or failed, by now."""
    memory: Path | None = None
    """Folder of what earlier matches have learnt; None to play without."""
    cluster: Cluster | None = None
    """Helpers' cluster; None to play without."""
    level: str | None = None
    """Level to play at, without memory and helpers; None to play as well as the clocks allow."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn begins."""

    joint_move: Received | None
    """The last joint move; None if the state has not changed."""
    seconds: float | None
    """Length of the turn; None if no answer is wanted."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Stop thinking until the next turn: this one was answered."""


@dataclass(frozen=True, slots=True)
class Rewind:
    """Begin the match again from its initial state."""


@dataclass(frozen=True, slots=True)
class Placement:
    """To the search alone: think about the reference's state, or states, of a turn."""

    turn: int
    """Number of joint moves received by now."""
    digest: bytes
    """See `Situation.digest`."""
    possible: bytes
    """See `Situation.possible`; passed on as it is."""
    legal: tuple[Term, ...] | None
    """The moves to choose from where several states are possible; None if the state is known."""


Command: TypeAlias = Begin | Turn | Rest | Rewind | Placement


@dataclass(frozen=True, slots=True)
class Earlier:
    """The next of the joint moves since the checkpoint of the `Begin` that follows: there may be very many."""

    received: Received


# ---------------------------------------------------------------------------------------------- process -> server

MOST_SHOWN = 1000
"""Most legal moves that a situation names."""

MOST_FACTS = 1 << 16
"""Most bytes of states in the journal, and on the page: more take longer to write than to reach."""


@dataclass(frozen=True, slots=True)
class Warm:
    """The process is ready for `Begin`."""

    seconds: float
    """Time that this took."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The match cannot be played: its rules are invalid or its role does not exist."""

    reason: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """From the reference: the rules are valid, and have the role."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The search is ready to play with this engine."""

    engine: str
    compiled: bool
    """Whether a circuit plays; if not, the interpreter."""


@dataclass(frozen=True, slots=True)
class Situation:
    """The knowledge of a turn: by the reference for certain, by the search as its machine has it."""

    turn: int
    """Number of joint moves received by now."""
    role: int
    """The own role's index."""
    digest: bytes
    """Of the state's facts and the own legal moves; of all states and their weights where there are several. Two
    processes that give the same are of one opinion."""
    legal: tuple[Term, ...]
    """The own legal moves, the first `MOST_SHOWN` at most; empty if there are none."""
    choices: int
    """Number of own legal moves."""
    terminal: bool
    goals: tuple[int | None, ...] | None
    """[roles]; None unless the state is terminal."""
    repeatable: bool
    """Whether the joint move that led here would be legal once more."""
    disputed: JointMove | None = None
    """From the reference: the last joint move, if it was illegal and not applied."""
    states: int = 1
    """Number of states that fit all messages. If several, `legal` holds the moves that are legal in most of them."""
    possible: bytes = b""
    """From the reference: the state, or a sample of the possible ones, as JSON: a list of pairs of a weight and a list
    of facts. Where it is long, the server process never reads it; empty if it is too long for a report."""

    @property
    def checkpoint(self) -> Checkpoint | None:
        """From where another process can take the match up; None if the states are too large to tell."""
        return Checkpoint(self.turn, self.possible, self.disputed) if self.possible else None


@dataclass(frozen=True, slots=True)
class Astray:
    """From the search: it does not know the state of this turn, and wants a `Placement` once the reference tells it."""

    turn: int


@dataclass(frozen=True, slots=True)
class Thought:
    """The engine's newest opinion on a turn."""

    turn: int
    digest: bytes
    """Of the situation that it is about. The move is legal there."""
    opinion: Opinion
    engine: str
    reason: str = ""
    """Reason why this engine plays, for the page."""


@dataclass(frozen=True, slots=True)
class Distrusted:
    """From the search, its last report: one more circuit of the match's rules was found wrong, or failed."""

    circuits: int
    """Number of such circuits by now (see `Begin.distrust`)."""


@dataclass(frozen=True, slots=True)
class Alive:
    """A sign of life, sent every `PULSE` seconds, in a match and before one."""


Report: TypeAlias = Warm | Refused | Accepted | Prepared | Situation | Astray | Thought | Distrusted | Alive


def parts_of(command: Command) -> Iterator[Command | Earlier]:
    """Yields a command, in parts where it may be long; `Channel.receive` puts them together."""
    if isinstance(command, Begin):
        yield from map(Earlier, command.checkpoint.since)
        command = replace(command, checkpoint=replace(command.checkpoint, since=()))
    yield command


def shortened(report: Report) -> Report | None:
    """Returns a report with less in it; None if nothing can be left out."""
    if isinstance(report, Situation):
        return replace(report, legal=report.legal[: len(report.legal) // 2]) if report.legal else None
    if isinstance(report, Thought):
        bare = replace(report.opinion, info={}, candidates=(), line=())
        return replace(report, opinion=bare) if bare != report.opinion else None
    return None


def pickled(message: object) -> bytes:
    """Returns a message as it is sent."""
    return pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)


class Channel:
    """The process's end. One thread reads, blocking; any thread may write, or wake the one that reads."""

    _last_sign = 0.0
    """Time of the last sign of life."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self._woken_fd, self._waking_fd = os.pipe()
        self._earlier: list[Received] = []

    def send(self, report: Report) -> None:
        """Writes a report, shortened to `MOST_TERMS`. Raises `BrokenPipeError` if the server is gone."""
        data = pickled(report)
        states = len(report.possible) if isinstance(report, Situation) else 0
        while len(data) > states + MOST_TERMS:
            shorter = shortened(report)
            if shorter is None:
                log.warning("a report of %d bytes is left out: %s", len(data), type(report).__name__)
                return
            report, data = shorter, pickled(shorter)
        try:
            with self._lock:
                self._pipe.send_bytes(data)
        except ConnectionResetError as error:
            raise BrokenPipeError from error

    def receive(self, timeout: float | None = None) -> Command | None:
        """Returns the next command; None if none came whole within `timeout` seconds, or before a call of `wake`.

        Raises `EOFError` if the server is gone.
        """
        sources: list[Connection | int] = [self._pipe, self._woken_fd]
        ready = select.select(sources, [], [], timeout)[0]
        if self._woken_fd in ready:
            os.read(self._woken_fd, 1 << 10)
        if self._pipe not in ready:
            return None
        try:
            command: Command | Earlier = self._pipe.recv()
        except ConnectionResetError as error:
            raise EOFError from error
        if isinstance(command, Earlier):
            self._earlier.append(command.received)
            return None
        if isinstance(command, Begin):
            command = replace(command, checkpoint=replace(command.checkpoint, since=tuple(self._earlier)))
            self._earlier.clear()
        return command

    def listen(self, timeout: float = PULSE) -> Command | None:
        """Returns as `receive` does; sends a sign of life before where one is due."""
        now = time.monotonic()
        if now >= self._last_sign + PULSE:
            self._last_sign = now
            self.send(Alive())
        return self.receive(min(timeout, PULSE))

    def wake(self) -> None:
        """Makes the present or next call of `receive` return."""
        os.write(self._waking_fd, b"!")
