"""The worker process: plays one match, and may hang or die without the match noticing more than a weaker move.

Started by `agent.serving.worker_pool` as `python -m agent.worker.main`; commands come on standard input, reports leave
on standard output (see `agent.worker.messages`). The control thread here does nothing that takes long; the game is
followed and searched by a `Gamer`. One with the interpreter is there at once; the circuit is compiled in child
processes, and a gamer with it takes over when it is ready. From then on the circuit is compared with the interpreter
(`agent.worker.crosschecker`). Where they differ, the interpreter's word counts: it plays until a circuit of the rules
as they stand, not rewritten before they are grounded, is there, and for good should that one differ as well.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from agent.processes import LOG_FORMAT
from agent.search import registry
from agent.worker.crosschecker import CrossChecker, Finding
from agent.worker.gamer import Gamer
from agent.worker.messages import (
    PULSE,
    Alive,
    Begin,
    Channel,
    Checkpoint,
    Prepared,
    Received,
    Refused,
    Rest,
    Rewind,
    Turn,
    Warm,
)
from games.gdl.compile import Limits, start_compilation
from games.gdl.crosscheck import Observation
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules, check
from games.gdl.rules.diagnostics import InvalidRulesError
from games.machine import StateMachine
from protocol.kif import write

log = logging.getLogger("agent.worker")

NICENESS = 1
"""Lets the server process, which only ever runs for moments, have its turn first; too little to matter otherwise. Set
by hand; not tuned."""

POLL = 0.005
"""Seconds between two looks at a compilation. Set by hand; not tuned."""


TRUSTED_VARIANTS = ("plain",)
"""How the rules are grounded after a circuit was found to be wrong: as they stand. Most mistakes are in rewriting."""


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
        compile: Callable[[CheckedRules, Limits], CompilationLike] = start_compilation,
    ) -> None:
        self._channel = channel
        self._compile = compile
        self._begin = begin
        self._received: list[Received] = list(begin.checkpoint.since)
        self._seconds = begin.seconds
        self._resting = begin.seconds is None and not begin.ponder
        self._prepared = False
        """Whether it was reported what plays the match, or that nothing can."""
        self._gamer: Gamer | None = None
        self._successor: Gamer | None = None
        """The one that is to play instead, until it is prepared."""
        self._circuit: Gamer | None = None
        """The one of these whose machine is a circuit."""
        self._compilation: CompilationLike | None = None
        self._crosschecker: CrossChecker | None = None
        self._more_trusted = [Limits(variants=TRUSTED_VARIANTS)]
        """How to compile once more after a difference."""
        self._started = time.monotonic()

    def run(self) -> None:
        """Plays until the server closes the channel, and raises `EOFError` then; returns at once from a bad match."""
        try:
            checked = self._check()
            if checked is None:
                return
            if self._begin.compile:
                # Processes are forked here, before any thread exists.
                self._compilation = self._compile(checked, Limits())
                self._crosschecker = CrossChecker(checked, self._channel.wake)
                self._crosschecker.start()
            self._gamer = self._start_gamer(lambda: Interpreter(checked), thinking=self._begin.seconds is not None)
            threading.Thread(target=self._beat, name="pulse", daemon=True).start()
            while True:
                changing = not self._prepared or self._compilation is not None or self._successor is not None
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

    def _check(self) -> CheckedRules | None:
        start = self._begin.start
        try:
            checked = check(start.rules)
        except InvalidRulesError as error:
            found = [d for d in error.diagnostics if d.severity == "error"]
            places = [f"{self._place(d.path)}{d.message}" for d in found[:5]]
            self._channel.send(Refused("; ".join(places) or str(error)))
            return None
        except Exception as error:
            log.exception("the rules cannot be checked")
            self._channel.send(Refused(f"{type(error).__name__} while the rules were checked"))
            return None
        for diagnostic in checked.diagnostics[:20]:
            log.warning("%s%s", self._place(diagnostic.path), diagnostic.message)
        if start.role not in checked.roles:
            roles = ", ".join(map(write, checked.roles))
            self._channel.send(Refused(f"there is no role {write(start.role)}, only {roles}"))
            return None
        return checked

    def _place(self, path: tuple[int, ...]) -> str:
        start = self._begin.start
        if not path or not start.source:
            return ""
        position = start.locate(path)
        return f"line {position.line}, column {position.column}: "

    def _start_gamer(
        self,
        make_machine: Callable[[], StateMachine],
        *,
        thinking: bool,
        observed: Callable[[Observation], None] | None = None,
    ) -> Gamer:
        gamer = Gamer(
            make_machine,
            self._begin.start.role,
            replace(self._begin.checkpoint, since=tuple(self._received)),
            self._channel.send,
            thinking=thinking,
            seconds=self._seconds,
            observed=observed,
            ended=self._channel.wake,
        )
        gamer.start()
        return gamer

    def _start_circuit(self, machine: StateMachine) -> Gamer:
        checker = self._crosschecker
        assert checker is not None
        checker.watch(machine)
        return self._start_gamer(
            lambda: machine, thinking=not self._resting, observed=partial(checker.observed, machine)
        )

    def _turn(self, turn: Turn) -> None:
        self._resting = False
        self._seconds = turn.seconds
        if self._crosschecker is not None:
            self._crosschecker.rest(False)
            if turn.joint_move is not None and turn.seconds is None:
                # No answer is wanted: the match is over, and so is this process as soon as its result is reported.
                log.info("%s", self._crosschecker.summary())
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
            text = finding.difference.describe(checked.rules, place=lambda statement: self._place((statement,)))
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
        if self._more_trusted:
            log.warning("the rules are compiled once more, as they stand")
            self._compilation = self._compile(checked, self._more_trusted.pop(0))
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
        elif self._compilation is None and not self._prepared:
            assert self._gamer is not None
            if self._gamer.prepared.is_set():
                self._settle_for(self._gamer)

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
        self._report_prepared()

    def _settle_for(self, gamer: Gamer) -> None:
        """Plays with the interpreter, for want of anything else."""
        if gamer.failed:
            self._prepared = True
            self._channel.send(Refused(f"neither circuit nor interpreter can play this: {gamer.failed}"))
            return
        if not self._resting:
            gamer.ponder()
        self._report_prepared()

    def _give_up_circuit(self, reason: str) -> None:
        log.warning("no circuit (%s): played by the interpreter", reason)
        self._compilation = None
        self._circuit = None
        if self._crosschecker is not None:
            self._crosschecker.watch(None)

    def _report_prepared(self) -> None:
        assert self._gamer is not None
        self._prepared = True
        seconds = time.monotonic() - self._started
        log.info("ready after %.2f s, engine %s", seconds, self._gamer.engine_name)
        self._channel.send(Prepared(self._gamer.engine_name))


def main(argv: Sequence[str] | None = None) -> None:
    """Loads the kernels, says so, and plays the first match that it is given and that has a meaning."""
    parser = argparse.ArgumentParser(prog="agent.worker.main", description=__doc__)
    parser.add_argument("--memory", type=int, required=True, help="bytes of address space")
    options = parser.parse_args(argv)

    # Whatever else prints must not get between the reports.
    channel = Channel(os.dup(0), os.dup(1))
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.register_at_fork(after_in_child=channel.close)
    handler = logging.StreamHandler()
    logging.basicConfig(level=logging.INFO, format=LOG_FORMAT, handlers=[handler])
    if os.getpriority(os.PRIO_PROCESS, 0) < NICENESS:
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = options.memory if hard == resource.RLIM_INFINITY else min(options.memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))

    started = time.monotonic()
    registry.warm_up()
    try:
        channel.send(Warm(time.monotonic() - started))
        while True:
            command = channel.receive()
            if isinstance(command, Begin):
                name = command.start.match_id.replace("%", "%%")
                handler.setFormatter(logging.Formatter(LOG_FORMAT.replace("%(message)s", f"{name}: %(message)s")))
                Session(channel, command).run()
    except (EOFError, BrokenPipeError):
        pass
    finally:
        sys.stderr.flush()
        # Gamers may be deep in a search or a slow machine; nothing of theirs is worth waiting for.
        os._exit(0)


if __name__ == "__main__":
    main()
