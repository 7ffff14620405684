"""The control thread of a worker: chooses the gamer that plays the match.

It does nothing slow itself; a `Gamer` follows and searches the game. A gamer with the interpreter plays at once. Child
processes compile the circuit meanwhile, and a gamer with it takes over when it is ready. From then on the circuit is
compared with the interpreter (`agent.worker.crosschecker`). Where they differ, the interpreter is right: it plays until
a circuit of the unrewritten rules is ready, and for good should that one differ too.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Protocol

from agent.worker import messages
from agent.worker.choice import choice_for, monte_carlo
from agent.worker.evidence import Perceive
from agent.worker.gamer import EngineChoice, Gamer, Hooks, Settle
from agent.worker.rules import check_rules, place
from games.gdl.crosscheck import Observation
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules
from games.gdl.rules.terms import predicate
from games.machine import StateMachine, Term
from games.memory import memory_part

if TYPE_CHECKING:
    # A light worker imports neither kernels nor child processes.
    from agent.worker.crosschecker import CrossChecker, Finding
    from games.gdl.compile import Limits

log = logging.getLogger("agent.worker")

POLL = 0.005
"""Seconds between two polls of a compilation."""

MEMORY_BYTES, MEMORY_SHARE = 8 << 30, 3 / 4
"""Most memory of a compilation, in bytes, and as a share of what the worker itself may have."""

USED_OF_START_CLOCK, LEFT_OF_START_CLOCK = 0.95, 0.5
"""Share of the start clock to think for, less the seconds. The server's margin is in the rest."""

COMPILATIONS: tuple[tuple[str, ...] | None, ...] = (None, ("plain",))
"""Rewritings to race (None: all), by the number of circuits found wrong in the match: most mistakes are in rewriting.
After these the interpreter plays."""


class Phase(Enum):
    """Machine that plays, and the one that is to take over."""

    COMPILING = auto()
    """The interpreter plays; a circuit is being compiled."""
    JOINING = auto()
    """The interpreter plays; the circuit's gamer, the successor, gets prepared."""
    CIRCUIT = auto()
    """The circuit plays."""
    FALLING_BACK = auto()
    """The circuit is distrusted; the interpreter's gamer, the successor, gets prepared. Another circuit may be being
    compiled."""
    INTERPRETER = auto()
    """The interpreter plays; no circuit will come."""


class Announcement(Enum):
    """Progress of the report on what plays the match."""

    OPEN = auto()
    """It is not settled what plays."""
    DUE = auto()
    """It is settled, but the engine still uses the start clock."""
    MADE = auto()
    """It was reported what plays, or that nothing can."""


class CompilationLike(Protocol):
    """Interface of `games.gdl.compile.Compilation`."""

    @property
    def failed(self) -> str | None:
        """Reason why there will be no machine; None while there may be one."""

    def poll(self) -> StateMachine | None:
        """Returns the machine; None while it is being compiled."""

    def cancel(self) -> None:
        """Ends the compilation."""


class Session:
    """One match, as its control thread sees it."""

    def __init__(
        self,
        channel: messages.Channel,
        begin: messages.Begin,
        compile: Callable[[CheckedRules, Limits], CompilationLike] | None = None,
        *,
        engines: EngineChoice | None = None,
        light: bool = False,
    ) -> None:
        """`compile` defaults to `games.gdl.compile.start_compilation`, `engines` to the choice of the registry.

        A light session has only the engine that needs no kernels; another worker reports that the match is prepared.
        """
        self._channel = channel
        self._light = light
        self._engines = monte_carlo if light else engines or choice_for(begin)
        self._compile = compile
        self._begin = begin
        self._received: list[messages.Received] = list(begin.checkpoint.since)
        self._seconds = begin.seconds
        self._distrust = begin.distrust
        """Number of circuits found wrong, or failed."""
        self._resting = begin.seconds is None and not begin.ponder
        self._phase = Phase.INTERPRETER
        self._announcement = Announcement.OPEN
        self._gamer: Gamer | None = None
        self._successor: Gamer | None = None
        """To take over once it is prepared."""
        self._compilation: CompilationLike | None = None
        self._crosschecker: CrossChecker | None = None
        self._perceive: Perceive | None = None
        self._summary_due = False
        """Whether the match is over, but the comparison's summary was not logged yet."""
        self._started = time.monotonic()

    def run(self) -> None:
        """Plays until the server closes the channel; raises `EOFError` then. Returns at once from a bad match."""
        try:
            checked = check_rules(self._begin.start)
            if isinstance(checked, messages.Refused):
                self._channel.send(checked)
                return
            self._perceive = _perception(checked, self._begin.start.role)
            if self._begin.compile and self._distrust < len(COMPILATIONS):
                from agent.worker.crosschecker import CrossChecker

                # Processes are forked here, before any thread exists.
                self._start_compilation(checked)
                self._crosschecker = CrossChecker(checked, self._channel.wake)
                self._crosschecker.start()
            self._gamer = self._start_gamer(lambda: Interpreter(checked), thinking=self._begin.seconds is not None)
            threading.Thread(target=self._beat, name="pulse", daemon=True).start()
            while True:
                settled = self._announcement is Announcement.MADE and self._phase in (Phase.CIRCUIT, Phase.INTERPRETER)
                command = self._channel.receive(None if settled else POLL)
                if isinstance(command, messages.Turn):
                    self._turn(command)
                elif isinstance(command, messages.Rewind):
                    self._rewind()
                elif isinstance(command, messages.Rest):
                    self._rest()
                self._check_circuit(checked)
                self._change_gamers()
        finally:
            if self._compilation is not None:
                self._compilation.cancel()
            if self._crosschecker is not None:
                self._crosschecker.end()

    def _beat(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._channel.send(messages.Alive())
                time.sleep(messages.PULSE)

    def _start_compilation(self, checked: CheckedRules) -> None:
        from games.gdl.compile import Limits, start_compilation
        from games.native.midway import may_begin_midway

        variants = COMPILATIONS[self._distrust]
        limits = Limits(memory_bytes=memory_part(MEMORY_BYTES, MEMORY_SHARE), variants=variants)
        compile = self._compile or partial(start_compilation, freeing=may_begin_midway)
        self._compilation = compile(checked, limits)
        self._phase = Phase.COMPILING

    def _start_gamer(
        self,
        make_machine: Callable[[], StateMachine],
        *,
        thinking: bool,
        observed: Callable[[Observation], None] | None = None,
        settle: Settle = lambda seconds, stopped: True,
    ) -> Gamer:
        gamer = Gamer(
            make_machine,
            self._begin.start.role,
            replace(self._begin.checkpoint, since=tuple(self._received)),
            Hooks(
                self._channel.send,
                observed=observed,
                settle=settle,
                ended=self._channel.wake,
                perceive=self._perceive,
                engines=self._engines,
            ),
            thinking=thinking,
            seconds=self._seconds,
            start_ends=self._start_ends,
        )
        gamer.start()
        return gamer

    def _gamers(self) -> list[Gamer]:
        return [gamer for gamer in (self._gamer, self._successor) if gamer is not None]

    def _start_circuit(self, machine: StateMachine) -> Gamer:
        checker = self._crosschecker
        assert checker is not None
        checker.watch(machine)
        return self._start_gamer(
            lambda: machine,
            thinking=not self._resting,
            observed=partial(checker.observed, machine),
            settle=partial(self._settle, checker, machine),
        )

    def _settle(
        self, checker: CrossChecker, machine: StateMachine, seconds: float, stopped: Callable[[], bool]
    ) -> bool:
        """`CrossChecker.settle`, in the gamer's thread."""
        right = checker.settle(machine, seconds, stopped)
        if right:
            self._conclude()
        return right

    def _conclude(self) -> None:
        """Logs what was compared, once, when the match is over. The process ends as soon as the result is reported."""
        if self._summary_due and self._crosschecker is not None:
            self._summary_due = False
            log.info("%s", self._crosschecker.summary())

    def _turn(self, turn: messages.Turn) -> None:
        self._resting = False
        self._seconds = turn.seconds
        if self._crosschecker is not None:
            self._crosschecker.rest(False)
            if turn.joint_move is not None and turn.seconds is None:
                # The match is over. The circuit's gamer still has the last state compared.
                self._summary_due = True
                if self._phase is not Phase.CIRCUIT:
                    self._conclude()
        if turn.joint_move is not None:
            self._received.append(turn.joint_move)
        for gamer in self._gamers():
            gamer.turn(turn)

    def _rewind(self) -> None:
        self._begin = replace(self._begin, checkpoint=messages.Checkpoint())
        self._received.clear()
        for gamer in self._gamers():
            gamer.rewind()

    def _rest(self) -> None:
        self._resting = True
        self._seconds = None
        if self._crosschecker is not None:
            self._crosschecker.rest(True)
        for gamer in self._gamers():
            gamer.rest()

    def _check_circuit(self, checked: CheckedRules) -> None:
        """Replaces a circuit that was found wrong, or that failed while it played."""
        if self._phase not in (Phase.JOINING, Phase.CIRCUIT):
            return
        finding = self._crosschecker.poll() if self._crosschecker is not None else None
        if finding is not None:
            where = "the match" if finding.own else "a random match"
            text = finding.difference.describe(
                checked.rules, place=lambda statement: place(self._begin.start, (statement,))
            )
            log.error("circuit and interpreter differ in a state of %s: %s", where, text)
        elif self._phase is Phase.CIRCUIT and self._gamer is not None and self._gamer.failed:
            log.error("the circuit cannot follow the match: %s", self._gamer.failed)
        else:
            return
        self._replace_circuit(checked, finding)

    def _replace_circuit(self, checked: CheckedRules, finding: Finding | None) -> None:
        assert self._crosschecker is not None
        self._crosschecker.watch(None)
        self._distrust += 1
        # A worker that joins the match later, or takes it up after a restart, must know.
        self._channel.send(messages.Distrusted(self._distrust))
        if self._phase is Phase.CIRCUIT:
            if self._gamer is not None and (finding is None or finding.own):
                # Its reports on the present state are wrong: better none until the interpreter has caught up.
                self._gamer.retire()
            self._successor = self._start_gamer(lambda: Interpreter(checked), thinking=not self._resting)
        else:
            # The circuit has not taken over yet: the interpreter still plays.
            assert self._successor is not None
            self._successor.retire()
            self._successor = None
        if self._distrust < len(COMPILATIONS):
            log.warning("the rules are compiled once more, as they stand")
            self._start_compilation(checked)
        else:
            log.warning("no circuit can be trusted: played by the interpreter")
            self._phase = Phase.INTERPRETER
        if self._successor is not None:
            self._phase = Phase.FALLING_BACK

    def _change_gamers(self) -> None:
        """Lets a prepared successor take over, and reports what plays once that is settled."""
        if self._phase is Phase.COMPILING:
            self._poll_compilation()
        if self._successor is not None:
            if self._successor.prepared.is_set():
                self._take_over(self._successor)
        elif self._phase is Phase.INTERPRETER and self._announcement is Announcement.OPEN:
            assert self._gamer is not None
            if self._gamer.prepared.is_set():
                self._settle_for(self._gamer)
        if self._announcement is Announcement.DUE and not self._thinks_before_the_match():
            self._report_prepared()

    def _poll_compilation(self) -> None:
        assert self._compilation is not None
        machine = self._compilation.poll()
        if machine is not None:
            self._compilation = None
            self._phase = Phase.JOINING
            self._successor = self._start_circuit(machine)
        elif self._compilation.failed:
            self._give_up_circuit(self._compilation.failed)

    def _thinks_before_the_match(self) -> bool:
        assert self._gamer is not None
        return self._gamer.uses_start_clock and time.monotonic() < self._start_ends

    @property
    def _start_ends(self) -> float:
        """Time, by `time.monotonic`, up to which the start clock may be used."""
        return self._started + USED_OF_START_CLOCK * self._begin.start.start_clock - LEFT_OF_START_CLOCK

    def _take_over(self, successor: Gamer) -> None:
        self._successor = None
        joining = self._phase is Phase.JOINING
        if joining and successor.failed:
            self._give_up_circuit(successor.failed)
            return
        if joining:
            self._phase = Phase.CIRCUIT
        else:
            self._phase = Phase.INTERPRETER if self._compilation is None else Phase.COMPILING
        if successor.failed:
            log.error("the interpreter cannot take the match over: %s", successor.failed)
            return
        assert self._gamer is not None
        self._gamer.retire()
        self._gamer = successor
        # Its opinion, perhaps a proof, may be older than the retired gamer's last one, but counts for more.
        successor.repeat()
        self._announcement = Announcement.DUE

    def _settle_for(self, gamer: Gamer) -> None:
        """Plays with the interpreter, as no circuit will come."""
        if gamer.failed:
            self._announcement = Announcement.MADE
            self._channel.send(messages.Refused(f"neither circuit nor interpreter can play this: {gamer.failed}"))
            return
        if not self._resting:
            gamer.ponder()
        self._announcement = Announcement.DUE

    def _give_up_circuit(self, reason: str) -> None:
        log.warning("no circuit (%s): played by the interpreter", reason)
        self._compilation = None
        self._phase = Phase.INTERPRETER
        if self._crosschecker is not None:
            self._crosschecker.watch(None)

    def _report_prepared(self) -> None:
        assert self._gamer is not None
        self._announcement = Announcement.MADE
        if self._light:
            return
        seconds = time.monotonic() - self._started
        log.info("ready after %.2f s, engine %s", seconds, self._gamer.engine_name)
        self._channel.send(messages.Prepared(self._gamer.engine_name, self._phase is Phase.CIRCUIT))


def _perception(checked: CheckedRules, role: Term) -> Perceive | None:
    """Returns the function that gives the role's percepts; None in a game of perfect information."""
    if not any(predicate(rule.head) == ("sees", 2) for rule in checked.rules):
        return None
    from games.perception import Perception

    perception = Perception(checked)
    return partial(perception.percepts, role=checked.roles.index(role))
