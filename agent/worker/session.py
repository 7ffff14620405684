"""A worker's part in one match, as its control thread sees it: who plays, what is compiled, and what is to be trusted.

The thread does nothing that takes long; the game is followed and searched by a `Gamer`. One with the interpreter is
there at once; the circuit is compiled in child processes, and a gamer with it takes over when it is ready. From then on
the circuit is compared with the interpreter (`agent.worker.crosschecker`). Where they differ, the interpreter's word
counts: it plays until a circuit of the rules as they stand, not rewritten before they are grounded, is there, and for
good should that one differ as well.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from agent.worker.choice import choice_for, monte_carlo
from agent.worker.evidence import Perceive
from agent.worker.gamer import EngineChoice, Gamer, Settle
from agent.worker.messages import (
    PULSE,
    Alive,
    Begin,
    Channel,
    Checkpoint,
    Distrusted,
    Prepared,
    Received,
    Refused,
    Rest,
    Rewind,
    Turn,
)
from agent.worker.rules import check_rules, place
from games.gdl.crosscheck import Observation
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules
from games.gdl.rules.terms import predicate
from games.machine import StateMachine, Term

if TYPE_CHECKING:
    # A light worker does without kernels and child processes.
    from agent.worker.crosschecker import CrossChecker, Finding
    from games.gdl.compile import Limits

log = logging.getLogger("agent.worker")

POLL = 0.005
"""Seconds between two looks at a compilation. Set by hand; not tuned."""

USED_OF_START_CLOCK, LEFT_OF_START_CLOCK = 0.95, 0.5
"""A game that is thought about before the match begins has this share of the start clock, less so many seconds: the
server's margin is among what is left. Set by hand; not tuned."""


COMPILATIONS: tuple[tuple[str, ...] | None, ...] = (None, ("plain",))
"""Which rewritings to race (None: all), by the number of circuits that were found wrong in the match: at last the rules
as they stand, since most mistakes are in rewriting. After these the interpreter plays."""


class CompilationLike(Protocol):
    """What a session needs of `games.gdl.compile.Compilation`."""

    @property
    def failed(self) -> str | None:
        """Why there will be no machine; None while there may be."""

    def poll(self) -> StateMachine | None:
        """The machine, as soon as it is there."""

    def cancel(self) -> None:
        """Gives up."""


class Session:
    """The control thread's view of the match."""

    def __init__(
        self,
        channel: Channel,
        begin: Begin,
        compile: Callable[[CheckedRules, Limits], CompilationLike] | None = None,
        *,
        engines: EngineChoice | None = None,
        light: bool = False,
    ) -> None:
        """`compile` is `games.gdl.compile.start_compilation` and `engines` the choice of the registry unless said
        otherwise. A light session has only the engine that needs no kernels, and leaves it to another worker to say
        that the match is prepared."""
        self._channel = channel
        self._light = light
        self._engines = monte_carlo if light else engines or choice_for(begin)
        self._compile = compile
        self._begin = begin
        self._received: list[Received] = list(begin.checkpoint.since)
        self._seconds = begin.seconds
        self._distrust = begin.distrust
        """How many circuits were found to be wrong, or failed."""
        self._resting = begin.seconds is None and not begin.ponder
        self._prepared = False
        """Whether it was reported what plays the match, or that nothing can."""
        self._chosen = False
        """Whether what plays the match is still to be reported: it makes use of the start clock."""
        self._gamer: Gamer | None = None
        self._successor: Gamer | None = None
        """The one that is to play instead, until it is prepared."""
        self._circuit: Gamer | None = None
        """The one of these whose machine is a circuit."""
        self._compilation: CompilationLike | None = None
        self._crosschecker: CrossChecker | None = None
        self._perceive: Perceive | None = None
        self._over = False
        """Whether the match is over and it was not yet said what was compared."""
        self._started = time.monotonic()

    def run(self) -> None:
        """Plays until the server closes the channel, and raises `EOFError` then; returns at once from a bad match."""
        try:
            checked = check_rules(self._begin.start)
            if isinstance(checked, Refused):
                self._channel.send(checked)
                return
            self._perceive = _perception(checked, self._begin.start.role)
            if self._begin.compile and self._distrust < len(COMPILATIONS):
                from agent.worker.crosschecker import CrossChecker

                # Processes are forked here, before any thread exists.
                self._compilation = self._start_compilation(checked)
                self._crosschecker = CrossChecker(checked, self._channel.wake)
                self._crosschecker.start()
            self._gamer = self._start_gamer(lambda: Interpreter(checked), thinking=self._begin.seconds is not None)
            threading.Thread(target=self._beat, name="pulse", daemon=True).start()
            while True:
                awaited = self._chosen or not self._prepared
                changing = awaited or self._compilation is not None or self._successor is not None
                command = self._channel.receive(POLL if changing else None)
                if isinstance(command, Turn):
                    self._turn(command)
                elif isinstance(command, Rewind):
                    self._rewind()
                elif isinstance(command, Rest):
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
                self._channel.send(Alive())
                time.sleep(PULSE)

    def _start_compilation(self, checked: CheckedRules) -> CompilationLike:
        from games.gdl.compile import Limits, start_compilation

        variants = COMPILATIONS[self._distrust]
        return (self._compile or start_compilation)(
            checked, Limits() if variants is None else Limits(variants=variants)
        )

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
            self._channel.send,
            thinking=thinking,
            seconds=self._seconds,
            start_ends=self._start_ends,
            observed=observed,
            settle=settle,
            ended=self._channel.wake,
            perceive=self._perceive,
            engines=self._engines,
        )
        gamer.start()
        return gamer

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
        """Says what was compared, once, when the match is over: this process is, too, as soon as that is reported."""
        if self._over and self._crosschecker is not None:
            self._over = False
            log.info("%s", self._crosschecker.summary())

    def _turn(self, turn: Turn) -> None:
        self._resting = False
        self._seconds = turn.seconds
        if self._crosschecker is not None:
            self._crosschecker.rest(False)
            if turn.joint_move is not None and turn.seconds is None:
                # No answer is wanted. A circuit's gamer still has the last state compared.
                self._over = True
                if self._circuit is None or self._circuit is not self._gamer:
                    self._conclude()
        if turn.joint_move is not None:
            self._received.append(turn.joint_move)
        for gamer in (self._gamer, self._successor):
            if gamer is not None:
                gamer.turn(turn)

    def _rewind(self) -> None:
        self._begin = replace(self._begin, checkpoint=Checkpoint())
        self._received.clear()
        for gamer in (self._gamer, self._successor):
            if gamer is not None:
                gamer.rewind()

    def _rest(self) -> None:
        self._resting = True
        self._seconds = None
        if self._crosschecker is not None:
            self._crosschecker.rest(True)
        for gamer in (self._gamer, self._successor):
            if gamer is not None:
                gamer.rest()

    def _check_circuit(self, checked: CheckedRules) -> None:
        """Sees whether the circuit is still to be trusted, and lets the next more trustworthy way take over if not."""
        if self._circuit is None:
            return
        finding = self._crosschecker.poll() if self._crosschecker is not None else None
        if finding is not None:
            where = "the match" if finding.own else "a random match"
            text = finding.difference.describe(
                checked.rules, place=lambda statement: place(self._begin.start, (statement,))
            )
            log.error("circuit and interpreter differ in a state of %s: %s", where, text)
        elif self._circuit is self._gamer and self._circuit.failed:
            log.error("the circuit cannot follow the match: %s", self._circuit.failed)
        else:
            return
        self._replace_circuit(checked, finding)

    def _replace_circuit(self, checked: CheckedRules, finding: Finding | None) -> None:
        assert self._crosschecker is not None
        assert self._circuit is not None
        self._crosschecker.watch(None)
        self._distrust += 1
        # What joins the match later, or takes it up again after a restart, has to know.
        self._channel.send(Distrusted(self._distrust))
        if self._circuit is self._gamer:
            if finding is None or finding.own:
                # What it says of the present state is wrong; until the interpreter has followed, silence is better.
                self._circuit.retire()
            self._successor = self._start_gamer(lambda: Interpreter(checked), thinking=not self._resting)
        else:
            # It has not taken over yet: the interpreter still plays.
            self._circuit.retire()
            self._successor = None
        self._circuit = None
        if self._distrust < len(COMPILATIONS):
            log.warning("the rules are compiled once more, as they stand")
            self._compilation = self._start_compilation(checked)
        else:
            log.warning("no circuit can be trusted: played by the interpreter")

    def _change_gamers(self) -> None:
        """Lets a gamer that is prepared take over, or keeps the present one once it is clear that none comes."""
        if self._successor is None and self._compilation is not None:
            machine = self._compilation.poll()
            if machine is not None:
                self._compilation = None
                self._successor = self._circuit = self._start_circuit(machine)
            elif self._compilation.failed:
                self._give_up_circuit(self._compilation.failed)
        if self._successor is not None:
            if self._successor.prepared.is_set():
                self._take_over(self._successor)
        elif self._compilation is None and not (self._prepared or self._chosen):
            assert self._gamer is not None
            if self._gamer.prepared.is_set():
                self._settle_for(self._gamer)
        if self._chosen and not self._thinks_before_the_match():
            self._report_prepared()

    def _thinks_before_the_match(self) -> bool:
        """Whether the gamer makes use of the start clock, and there is some left."""
        assert self._gamer is not None
        return self._gamer.uses_start_clock and time.monotonic() < self._start_ends

    @property
    def _start_ends(self) -> float:
        """Until when the start clock may be used, by `time.monotonic`."""
        return self._started + USED_OF_START_CLOCK * self._begin.start.start_clock - LEFT_OF_START_CLOCK

    def _take_over(self, successor: Gamer) -> None:
        self._successor = None
        if successor.failed and successor is self._circuit:
            self._give_up_circuit(successor.failed)
            return
        if successor.failed:
            log.error("the interpreter cannot take the match over: %s", successor.failed)
            return
        assert self._gamer is not None
        self._gamer.retire()
        self._gamer = successor
        # It may have thought before it took over, perhaps to a proof: what the other one said meanwhile is worth less.
        successor.repeat()
        self._chosen = True

    def _settle_for(self, gamer: Gamer) -> None:
        """Plays with the interpreter, for want of anything else."""
        if gamer.failed:
            self._prepared = True
            self._channel.send(Refused(f"neither circuit nor interpreter can play this: {gamer.failed}"))
            return
        if not self._resting:
            gamer.ponder()
        self._chosen = True

    def _give_up_circuit(self, reason: str) -> None:
        log.warning("no circuit (%s): played by the interpreter", reason)
        self._compilation = None
        self._circuit = None
        if self._crosschecker is not None:
            self._crosschecker.watch(None)

    def _report_prepared(self) -> None:
        assert self._gamer is not None
        self._prepared, self._chosen = True, False
        if self._light:
            return
        seconds = time.monotonic() - self._started
        log.info("ready after %.2f s, engine %s", seconds, self._gamer.engine_name)
        self._channel.send(Prepared(self._gamer.engine_name, self._gamer is self._circuit))


def _perception(checked: CheckedRules, role: Term) -> Perceive | None:
    """What the role perceives of a step; None in a game of perfect information."""
    if not any(predicate(rule.head) == ("sees", 2) for rule in checked.rules):
        return None
    from games.perception import Perception

    perception = Perception(checked)
    return partial(perception.percepts, role=checked.roles.index(role))
