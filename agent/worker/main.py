"""The worker process: plays one match, and may hang or die without the match noticing more than a weaker move.

Started by `agent.serving.worker_pool` as `python -m agent.worker.main`; commands come on standard input, reports leave
on standard output (see `agent.worker.messages`). The control thread here does nothing that takes long; the game is
followed and searched in a `Seat`. The interpreter's seat is there at once; the circuit is compiled in child processes
and takes over when it is ready.
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

from agent.search import registry
from agent.worker.gamer import Seat
from agent.worker.messages import (
    LOG_FORMAT,
    PULSE,
    Alive,
    Begin,
    Channel,
    Position,
    Ready,
    Received,
    Refused,
    Report,
    Rest,
    Rewind,
    Turn,
    Warm,
)
from games.gdl.compile import Compilation, start_compilation
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules, check
from games.gdl.rules.diagnostics import InvalidRulesError
from games.machine import StateMachine
from protocol.kif import write

log = logging.getLogger("agent.worker")

NICENESS = 1
"""Lets the server process, which only ever runs for moments, have its turn first; too little to matter otherwise."""

POLL = 0.005
"""Seconds between two looks at a compilation."""


class Session:
    """The control thread's view of the match."""

    def __init__(self, channel: Channel, begin: Begin) -> None:
        self._channel = channel
        self._begin = begin
        self._received: list[Received] = list(begin.position.since)
        self._seconds = begin.seconds
        self._resting = begin.seconds is None and not begin.ponder
        self._ready = False
        self._seat: Seat | None = None
        self._coming: Seat | None = None
        self._compilation: Compilation | None = None
        self._started = time.monotonic()

    def run(self) -> None:
        """Plays until the server closes the channel, and raises `EOFError` then; returns at once from a bad match."""
        try:
            checked = self._check()
            if checked is None:
                return
            if self._begin.compile:
                # Its processes are forked here, before any thread exists.
                self._compilation = start_compilation(checked)
            self._seat = self._take_seat(lambda: Interpreter(checked), thinking=self._begin.seconds is not None)
            threading.Thread(target=self._beat, name="pulse", daemon=True).start()
            while True:
                command = self._channel.receive(POLL if self._expecting() else None)
                if isinstance(command, Turn):
                    self._turn(command)
                elif isinstance(command, Rewind):
                    self._rewind()
                elif isinstance(command, Rest):
                    self._rest()
                self._change_seats()
        finally:
            if self._compilation is not None:
                self._compilation.cancel()

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

    def _expecting(self) -> bool:
        return not self._ready

    def _send(self, report: Report) -> None:
        self._channel.send(report)

    def _take_seat(self, make_machine: Callable[[], StateMachine], *, thinking: bool) -> Seat:
        known = self._begin.position
        position = Position(known.turn, known.facts, known.disputed, tuple(self._received))
        seat = Seat(
            make_machine, self._begin.start.role, position, self._send, thinking=thinking, seconds=self._seconds
        )
        seat.start()
        return seat

    def _turn(self, turn: Turn) -> None:
        self._resting = False
        self._seconds = turn.seconds
        if turn.joint_move is not None:
            self._received.append(turn.joint_move)
        for seat in (self._seat, self._coming):
            if seat is not None:
                seat.turn(turn)

    def _rewind(self) -> None:
        self._begin = replace(self._begin, position=Position())
        self._received.clear()
        for seat in (self._seat, self._coming):
            if seat is not None:
                seat.rewind()

    def _rest(self) -> None:
        self._resting = True
        self._seconds = None
        for seat in (self._seat, self._coming):
            if seat is not None:
                seat.rest()

    def _change_seats(self) -> None:
        """Takes the circuit's seat once it is ready, or stays in the interpreter's once it is clear that none comes."""
        if self._ready:
            return
        if self._compilation is not None and self._coming is None:
            machine = self._compilation.poll()
            if machine is not None:
                self._coming = self._take_seat(lambda: machine, thinking=not self._resting)
            elif self._compilation.failed:
                self._give_up_circuit(self._compilation.failed)
        if self._coming is not None and self._coming.seated.is_set():
            if self._coming.failed:
                self._give_up_circuit(self._coming.failed)
            else:
                assert self._seat is not None
                self._seat.retire()
                self._seat, self._coming = self._coming, None
                self._settle()
        elif self._compilation is None and self._seat is not None and self._seat.seated.is_set():
            if self._seat.failed:
                self._ready = True
                self._channel.send(Refused(f"neither circuit nor interpreter can play this: {self._seat.failed}"))
                return
            if not self._resting:
                self._seat.ponder()
            self._settle()

    def _give_up_circuit(self, reason: str) -> None:
        log.warning("no circuit (%s): played by the interpreter", reason)
        self._compilation = None
        self._coming = None

    def _settle(self) -> None:
        assert self._seat is not None
        self._ready = True
        seconds = time.monotonic() - self._started
        log.info("ready after %.2f s, engine %s", seconds, self._seat.engine_name)
        self._channel.send(Ready(self._seat.engine_name))


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
        # Seats may be deep in a search or a slow machine; nothing of theirs is worth waiting for.
        os._exit(0)


if __name__ == "__main__":
    main()
