"""The search process of a match: it thinks. Its loss costs strength, no more.

The control thread takes commands, gives signs of life and looks after the compilation; the thinking thread does all
else (`agent.playing.thinker`). The interpreter plays at once, and a circuit as soon as child processes have compiled
it. The match compares both processes' digests in every turn, and ends a search whose circuit is wrong.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

from agent.playing.choice import EngineChoice, choice_for
from agent.playing.messages import CIRCUITS, Begin, Channel, Placement, Prepared, Refused, Rest, Rewind, Turn
from agent.playing.opinions import REPEAT_AFTER
from agent.playing.rehearsal import Rehearsal
from agent.playing.rules import check_rules, place
from agent.playing.thinker import Thinker, under_way
from games.gdl.compile import Limits, start_compilation
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules
from games.machine import StateMachine
from games.memory import memory_part
from games.native.midway import may_begin_midway

log = logging.getLogger(__name__)

POLL = 0.005
"""Seconds between two polls of a compilation."""

MEMORY_BYTES, MEMORY_SHARE = 8 << 30, 3 / 4
"""Most memory of a compilation, in bytes, and as a share of what the process itself may have."""

USED_OF_START_CLOCK, LEFT_OF_START_CLOCK = 0.95, 0.5
"""Share of the start clock to think for, less the seconds. The server's margin is in the rest."""

COMPILATIONS: tuple[tuple[str, ...] | None, ...] = (None, ("plain",))
"""[CIRCUITS] Rewritings to race (None: all), by the number of circuits found wrong in the match: most mistakes are in
rewriting."""


class CompilationLike(Protocol):
    """Interface of `games.gdl.compile.Compilation`."""

    @property
    def failed(self) -> str | None:
        """Reason why there will be no machine; None while there may be one."""

    def poll(self) -> StateMachine | None:
        """Returns the machine; None while it is being compiled."""

    def cancel(self) -> None:
        """Ends the compilation."""


Compile = Callable[[CheckedRules, Limits], CompilationLike]


class Search:
    """The search process, in one match."""

    def __init__(
        self,
        channel: Channel,
        begin: Begin,
        compile: Compile | None = None,
        engines: EngineChoice | None = None,
    ) -> None:
        """`compile` defaults to `games.gdl.compile.start_compilation`, `engines` to the choice of the registry."""
        self._channel, self._begin = channel, begin
        self._compile = compile or partial(start_compilation, freeing=may_begin_midway)
        self._engines = engines
        self._resting = begin.seconds is None and not begin.ponder
        self._started = time.monotonic()
        self._start_ends = self._started + USED_OF_START_CLOCK * begin.start.start_clock - LEFT_OF_START_CLOCK
        self._compilation: CompilationLike | None = None
        self._rehearsal: Rehearsal | None = None
        self._has_circuit = False
        self._prepared = False
        """Whether it was reported what plays, or that nothing can."""

    def run(self) -> bool:
        """Plays until the server closes the channel; raises `EOFError` then.

        Returns whether the process can take another match: this one was refused. If not, the circuit was wrong.
        """
        checked = check_rules(self._begin.start)
        if isinstance(checked, Refused):
            self._channel.send(checked)
            return True
        self._checked = checked
        # Processes are forked here, before any thread exists.
        self._start_compilation()
        self._thinker = Thinker(
            self._begin,
            lambda: Interpreter(checked),
            checked.roles.index(self._begin.start.role),
            self._engines or choice_for(self._begin),
            self._channel.send,
            self._start_ends,
        )
        self._thinker.start()
        try:
            if self._compilation is None:
                self._do_without_circuit()
            while not self._thinker.ended:
                self._take_command(POLL if self._compilation is not None or not self._prepared else REPEAT_AFTER)
                self._thinker.flush()
                self._poll_compilation()
                self._poll_rehearsal()
                if not self._prepared:
                    self._report_prepared()
            return False
        finally:
            self._thinker.end()
            if self._compilation is not None:
                self._compilation.cancel()
            if self._rehearsal is not None:
                self._rehearsal.end()

    def _start_compilation(self) -> None:
        begin = self._begin
        if not begin.compile:
            return
        if begin.distrust >= CIRCUITS:
            log.warning("no circuit can be trusted: played by the interpreter")
            return
        variants = COMPILATIONS[begin.distrust]
        limits = Limits(memory_bytes=memory_part(MEMORY_BYTES, MEMORY_SHARE), variants=variants)
        self._compilation = self._compile(self._checked, limits)
        if not under_way(begin):
            self._rehearsal = Rehearsal(self._checked, begin.start.start_clock)

    def _take_command(self, timeout: float) -> None:
        command = self._channel.listen(timeout)
        if isinstance(command, Turn):
            self._resting = False
            # From now on the match compares the states, and the search needs the processor.
            self._end_rehearsal()
            self._thinker.take(command)
        elif isinstance(command, Rest):
            self._resting = True
            self._thinker.rest()
        elif isinstance(command, Rewind | Placement):
            self._thinker.take(command)

    def _poll_compilation(self) -> None:
        if self._compilation is None:
            return
        machine = self._compilation.poll()
        if machine is not None:
            self._compilation, self._has_circuit = None, True
            self._thinker.take(machine)
            if not self._resting:
                self._thinker.ponder()
            if self._rehearsal is not None:
                self._rehearsal.begin(machine)
        elif self._compilation.failed:
            log.warning("no circuit (%s): played by the interpreter", self._compilation.failed)
            self._compilation = None
            self._do_without_circuit()

    def _do_without_circuit(self) -> None:
        """The interpreter need not leave the processor to the compilation any more."""
        self._end_rehearsal()
        self._thinker.settle()
        if not self._resting:
            self._thinker.ponder()

    def _end_rehearsal(self) -> None:
        if self._rehearsal is not None:
            self._rehearsal.end()
            self._rehearsal = None

    def _poll_rehearsal(self) -> None:
        difference = self._rehearsal.poll() if self._rehearsal is not None else None
        if difference is not None:
            text = difference.describe(
                self._checked.rules, place=lambda statement: place(self._begin.start, (statement,))
            )
            log.error("circuit and interpreter differ in a state of a random match: %s", text)
            self._thinker.distrust()

    def _report_prepared(self) -> None:
        """Reports what plays the match, once that is settled and the engine has used the start clock."""
        thinker = self._thinker
        if self._compilation is not None:
            return
        if thinker.compiled == self._has_circuit:
            waits = thinker.uses_start_clock and time.monotonic() < self._start_ends
            if waits or (self._rehearsal is not None and self._rehearsal.running):
                return
            log.info("ready after %.2f s, engine %s", time.monotonic() - self._started, thinker.engine_name)
            self._channel.send(Prepared(thinker.engine_name, self._has_circuit))
            self._prepared = True
        elif thinker.failed is not None and not self._has_circuit:
            self._channel.send(Refused(f"neither circuit nor interpreter can play this: {thinker.failed}"))
            self._prepared = True
