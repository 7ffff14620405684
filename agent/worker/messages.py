"""What passes between the server process and a match's worker process, and the channel that carries it.

One pickled object per frame, four bytes of length in front. Both ends are our own code on one machine.
"""

from __future__ import annotations

import os
import pickle
import select
import struct
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from games.machine import Term
from protocol.messages import Start

if TYPE_CHECKING:
    # With it comes NumPy, without which server and workers are ready to answer sooner after a crash.
    from agent.search.engine import Opinion

JointMove: TypeAlias = tuple[Term, ...]
"""One move per role, in the order of the roles."""

PULSE = 0.5
"""Seconds between two signs of life. Set by hand; not tuned."""

HEADER = struct.Struct("!I")
"""The length of the frame that follows."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """A joint move of which only the own part is known, as in a game of imperfect information (GDL-II)."""

    own: Term | None
    """The own move as the manager executed it, or where it does not say, as it was answered; None where that is not
    known either."""
    percepts: tuple[Term, ...] | None = None
    """What the own role perceived (`sees`); None where that is not known."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A joint move with what helps to judge whether others were missed before it.

    Stands in place of a bare joint move where the state is in doubt, or may be by now.
    """

    moves: JointMove
    answered: Term | None
    """What was answered last; None where that is not known."""
    missed: float | None
    """How many joint moves may have been missed before this one, as far as the time that passed tells; None where there
    was no interruption."""


Received: TypeAlias = JointMove | Unseen | Judged
"""What a PLAY or STOP says about the last joint move."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """From where to take a match up: some known state, and what was received from there on."""

    turn: int = 0
    """How many joint moves had been received when the known state was reached."""
    facts: frozenset[Term] | None = None
    """The known state; None for the initial one."""
    disputed: JointMove | None = None
    """The last joint move received before it, where that was not legal (see `agent.worker.reference`)."""
    since: tuple[Received, ...] = ()
    """What was received after the known state."""


# ------------------------------------------------------------------------------------------- server -> worker


@dataclass(frozen=True, slots=True)
class Cluster:
    """Other machines that may help."""

    address: str
    """As Ray takes it; `auto` for a cluster that this machine belongs to."""
    helpers: int = 0
    """Cores to use at most; 0 for all."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Take part in a match. The first command that a worker gets."""

    start: Start
    checkpoint: Checkpoint
    seconds: float | None
    """How long the first turn lasts, where one is running."""
    ponder: bool
    """Whether to think while no turn is running."""
    compile: bool
    """Whether to try for a circuit; without, the match is played by the interpreter."""
    distrust: int = 0
    """How many circuits of the match's rules were found to be wrong, or failed, until now."""
    memory: Path | None = None
    """The folder of what was learnt in earlier matches; None for a match that is played without."""
    cluster: Cluster | None = None
    """Where to find helpers; None for a match that is played without."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn begins."""

    joint_move: Received | None
    """What the roles did last; None where the state has not changed."""
    seconds: float | None
    """How long the turn lasts; None where no answer is wanted."""


@dataclass(frozen=True, slots=True)
class Rest:
    """The turn was answered; think no more until the next one."""


@dataclass(frozen=True, slots=True)
class Rewind:
    """The match begins again from its initial state."""


Command: TypeAlias = Begin | Turn | Rest | Rewind


# ------------------------------------------------------------------------------------------- worker -> server


@dataclass(frozen=True, slots=True)
class Warm:
    """The kernels are loaded; `Begin` can be served at full speed."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Refused:
    """The match cannot be played at all: the rules have no meaning or the role does not exist."""

    reason: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """The match will be played with this engine; nothing is gained by waiting any longer."""

    engine: str
    compiled: bool
    """Whether on a circuit; if not, with the interpreter."""


@dataclass(frozen=True, slots=True)
class Situation:
    """The reference state of a turn."""

    turn: int
    """How many joint moves were received until here."""
    role: int
    """The own role's index."""
    legal: tuple[Term, ...]
    """The own legal moves; empty where the rules leave none."""
    terminal: bool
    goals: tuple[int | None, ...] | None
    """In a terminal state, per role."""
    checkpoint: Checkpoint
    """This state, for whoever has to take the match over from here."""
    repeatable: bool
    """Whether the joint move that led here would be legal once more."""
    states: int = 1
    """How many states fit what was received: the one that is described is the likeliest, and `legal` holds the moves
    that are legal in most of them."""


@dataclass(frozen=True, slots=True)
class Thought:
    """The engine's newest opinion on a turn."""

    turn: int
    opinion: Opinion
    engine: str
    reason: str = ""
    """Why this engine plays, for whoever watches."""


@dataclass(frozen=True, slots=True)
class Distrusted:
    """One more circuit of the match's rules was found to be wrong, or failed."""

    circuits: int
    """How many by now: for whoever has to take the match over (see `Begin`)."""


@dataclass(frozen=True, slots=True)
class Alive:
    """Nothing but a sign of life, sent every `PULSE` seconds, during a match and before one."""


Report: TypeAlias = Warm | Refused | Prepared | Situation | Thought | Distrusted | Alive


def frame(message: object) -> bytes:
    """A message as it travels."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return HEADER.pack(len(body)) + body


class Channel:
    """The worker's end: blocking, reads in one thread, writes from any, and any can wake the one that reads."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._lock = threading.Lock()
        self._woken_fd, self._waking_fd = os.pipe()

    def send(self, report: Report) -> None:
        """Writes one report. Raises `BrokenPipeError` when the server is gone."""
        rest = memoryview(frame(report))
        with self._lock:
            while rest:
                rest = rest[os.write(self._write_fd, rest) :]

    def receive(self, timeout: float | None = None) -> Command | None:
        """The next command; None when none came within `timeout` seconds, or before a call of `wake`.

        Raises `EOFError` when the server is gone.
        """
        ready = select.select([self._read_fd, self._woken_fd], [], [], timeout)[0]
        if self._woken_fd in ready:
            os.read(self._woken_fd, 1 << 10)
        if self._read_fd not in ready:
            return None
        (length,) = HEADER.unpack(self._read(HEADER.size))
        command: Command = pickle.loads(self._read(length))
        return command

    def wake(self) -> None:
        """Lets the thread that waits in `receive`, or is the next to, return from it."""
        os.write(self._waking_fd, b"!")

    def close(self) -> None:
        """Closes both directions: a forked child must not keep them open when the worker itself has died."""
        for descriptor in (self._read_fd, self._write_fd, self._woken_fd, self._waking_fd):
            os.close(descriptor)

    def _read(self, count: int) -> bytes:
        parts: list[bytes] = []
        while count:
            part = os.read(self._read_fd, min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
