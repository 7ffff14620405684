"""The thinking thread of a search: it follows the match on one machine and thinks with one engine.

The interpreter plays until there is a circuit. Then the circuit begins in the same place, whatever the interpreter was
doing. The thread keeps the joint moves since the last state that it was told, so any machine can follow them.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from agent.playing.belief_search import NAME as BELIEF_SEARCH
from agent.playing.belief_search import BeliefSearch
from agent.playing.choice import EngineChoice
from agent.playing.messages import (
    Astray,
    Begin,
    Checkpoint,
    Distrusted,
    JointMove,
    Judged,
    Placement,
    Received,
    Report,
    Rewind,
    Turn,
    Unseen,
    count_turns,
)
from agent.playing.opinions import Opinions
from agent.playing.situation import describe, illegal_role, legal_moves
from agent.record.spelling import states_from_json
from agent.search.engine import Engine, Limit, Opinion
from agent.search.levels import PREFIX, level_of
from games.machine import GameError, Interrupted, State, StateMachine, Term

log = logging.getLogger(__name__)

IN_DOUBT = "several states fit what was told: the moves are compared in samples of them"
"""Reason why the search over beliefs thinks, for the page."""

Task: TypeAlias = Turn | Rewind | Placement | StateMachine
"""A command of the server, or the circuit that plays from now on."""


class Thinker:
    """Follows the match, sends every turn's situation at once, then thinks until the next turn.

    It may be stuck in a slow machine: its thread is a daemon.
    """

    def __init__(
        self,
        begin: Begin,
        make_machine: Callable[[], StateMachine],
        role: int,
        engines: EngineChoice,
        send: Callable[[Report], None],
        start_ends: float,
    ) -> None:
        """`make_machine` gives the interpreter, in the thread. The start clock may be used until `start_ends`, by
        `time.monotonic`."""
        self.compiled: bool | None = None
        """Whether a circuit plays; None until the first machine has an engine."""
        self.failed: str | None = None
        """Reason why the interpreter cannot play."""
        self.ended = False
        """Whether nothing more will come: the circuit was wrong, or the server is gone."""
        self._begin, self._make_machine, self._role = begin, make_machine, role
        self._choose_engines, self._send, self._start_ends = engines, send, start_ends
        self._tasks: deque[Task] = deque()
        self._replaced = False
        """Whether a circuit is among the tasks."""
        self._changed = threading.Condition()
        self._stop = np.zeros(1, np.uint8)
        self._seconds = begin.seconds
        self._thinking = begin.seconds is not None
        self._turned = under_way(begin)
        """Whether the match has begun."""
        self._exhausted = False
        """Whether thinking on is of no use to the engine."""
        self._level = None if begin.level is None else level_of(PREFIX + begin.level)
        self._settled = False
        """Whether there will be no other machine."""
        self._machine: StateMachine | None = None
        self._circuit = False
        """Whether the machine is a circuit."""
        self._engine: Engine | None = None
        self._engines: Iterator[Engine] = iter(())
        self._doubt: BeliefSearch | None = None
        """Search that replaces the engine while the state is in doubt."""
        self._opinions = Opinions(send, self._stop)
        self._go_to(Checkpoint())
        self._thread = threading.Thread(target=self._run, name="thinking", daemon=True)

    # --- from the control thread

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def end(self) -> None:
        """Ends the thread, as soon as the machine lets it."""
        with self._changed:
            self.ended = True
            self._stop[0] = 1
            self._changed.notify()

    def take(self, task: Task) -> None:
        """Takes a command, or a circuit; stops thinking."""
        with self._changed:
            if isinstance(task, Turn):
                self._thinking = self._turned = True
            self._tasks.append(task)
            self._replaced |= isinstance(task, StateMachine)
            self._stop[0] = 1
            self._changed.notify()

    def settle(self) -> None:
        """Takes it that there will be no circuit."""
        with self._changed:
            self._settled, self._exhausted = True, False
            self._changed.notify()

    def ponder(self) -> None:
        """Begins to think, if it does not yet."""
        with self._changed:
            self._thinking = True
            self._changed.notify()

    def rest(self) -> None:
        """Stops thinking until the next turn."""
        with self._changed:
            self._thinking = False
            self._stop[0] = 1

    def flush(self) -> None:
        """Sends an opinion that was kept back."""
        self._opinions.flush()

    @property
    def engine_name(self) -> str:
        """Name of the engine that thinks."""
        return self._engine.name if self._engine else "none"

    @property
    def uses_start_clock(self) -> bool:
        """Whether the match should wait for the engine, which makes use of the start clock."""
        opinion = self._opinions.newest
        thoughtful = self._engine is not None and self._engine.uses_start_clock and self._thinking
        return thoughtful and not (self._turned or self._exhausted or (opinion is not None and opinion.final))

    # --- the thread

    def _run(self) -> None:
        try:
            self._safely(self._start)
            while not self.ended:
                self._go_on()
        except (BrokenPipeError, EOFError):
            pass
        finally:
            self.ended = True

    def _start(self) -> None:
        self._go_to(self._begin.checkpoint)
        self._use(self._make_machine())

    def _go_on(self) -> None:
        """Does the next task, or thinks until there is one."""
        with self._changed:
            while not (self.ended or self._tasks or (self._thinking and not self._exhausted)):
                self._changed.wait()
            task = self._tasks.popleft() if self._tasks else None
        if task is not None:
            self._exhausted = False
            self._safely(lambda: self._do(task))
        with self._changed:
            if self._tasks or self.ended or not self._thinking:
                return
            self._stop[0] = 0
        self._think()
        # An engine that returns unasked has no use for more time.
        self._exhausted = not self._stop[0]
        if self._exhausted and self._level is not None and (self._settled or self._circuit):
            # No clock ends a turn at a level.
            self._opinions.finish()

    def _safely(self, work: Callable[[], None]) -> None:
        """Does some work with the machine. A circuit that fails ends the search; the interpreter waits for one."""
        try:
            work()
        except Interrupted:
            # A circuit is waiting. It follows what this machine has not.
            self._begin_anew()
        except (BrokenPipeError, EOFError):
            raise
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            log.error("the %s cannot follow the match: %s", "circuit" if self._circuit else "interpreter", text)
            if self._circuit:
                self.distrust()
            else:
                self.failed = text
                self._begin_anew()
                self._send(Astray(self._turn))

    def _do(self, task: Task) -> None:
        if isinstance(task, StateMachine):
            self._replaced, self._circuit = False, True
            self._use(task)
        elif isinstance(task, Turn):
            self._seconds = task.seconds
            if task.joint_move is not None:
                self._note(task.joint_move)
                self._catch_up()
        elif isinstance(task, Rewind):
            self._go_to(Checkpoint())
            self._catch_up()
        elif task.possible and task.turn == self._turn and task.digest != self._digest:
            self._take_place(task)

    def _use(self, machine: StateMachine) -> None:
        """Plays on with another machine."""
        # The last engine's memory is free for the next one.
        self._engine = self._doubt = None
        self._machine = machine
        self._engines = self._choose_engines(machine, self._role)
        self._begin_anew()
        self._catch_up()
        self.compiled = self._circuit

    # --- the way to the present turn, for any machine

    def _go_to(self, checkpoint: Checkpoint) -> None:
        """Notes a checkpoint's state, and the messages since then."""
        self._turn = checkpoint.turn
        self._astray = False
        """Whether the state is not known."""
        self._facts: frozenset[Term] | None = None
        """Last known state; None for the initial one."""
        if checkpoint.states is not None:
            try:
                (self._facts, _), *others = states_from_json(checkpoint.states)
                self._astray = bool(others)
            except ValueError:
                self._astray = True
        self._place: Placement | None = None
        """States to think about where there are several."""
        self._moves: list[JointMove] = []
        """Joint moves since the last known state."""
        self._begin_anew()
        for received in checkpoint.since:
            self._note(received)

    def _note(self, received: Received) -> None:
        """Notes a turn's message. Only a joint move leads to a known state."""
        self._turn += count_turns(received)
        if isinstance(received, Unseen | Judged) or self._place is not None:
            self._astray = True
        else:
            self._moves.append(received)

    def _take_place(self, place: Placement) -> None:
        """Begins anew where the reference is."""
        self._place = None if place.legal is None else place
        (self._facts, _), *_ = states_from_json(place.possible)
        self._moves, self._astray = [], False
        self._begin_anew()
        self._catch_up()
        if self._circuit and self._digest not in (None, place.digest):
            log.error("circuit and interpreter differ in turn %d", self._turn)
            self.distrust()

    # --- the machine's state

    def _begin_anew(self) -> None:
        """Forgets the machine's state. It will be found again from the last known one."""
        self._state: State | None = None
        self._legal: list[list[Term]] = []
        """Legal moves of every role."""
        self._made = 0
        """Number of joint moves made by the machine."""
        self._digest: bytes | None = None
        """Digest of what to think about; None if it is not known."""
        self._over = False
        """Whether the match is over."""

    def _catch_up(self) -> None:
        """Follows the way to the present turn, sends its situation, and tells the engine."""
        machine = self._machine
        self._doubt = None
        if machine is None:
            return
        with machine.interruptible(lambda: self._replaced or self.ended):
            if self._place is not None and not self._astray:
                self._weigh(machine, self._place)
                return
            fresh = self._state is None
            steps = self._follow(machine)
            if steps is None:
                self._astray = True
                self._begin_anew()
                self._send(Astray(self._turn))
                return
            last = self._moves[-1] if self._moves else None
            situation = describe(machine, self._state, self._role, self._turn, self._legal, last)
            self._digest, self._over = situation.digest, situation.terminal
            self._opinions.begin(self._turn, situation.digest, frozenset(self._legal[self._role]))
            self._send(situation)
            if fresh:
                self._begin_engine()
            else:
                self._advance_engine(steps)

    def _follow(self, machine: StateMachine) -> list[tuple[JointMove, State]] | None:
        """Makes the joint moves not made yet; returns them, each with the state after it.

        Returns None if the way is not known, or a joint move is illegal.
        """
        if self._astray:
            return None
        if self._state is None:
            self._state = machine.initial() if self._facts is None else machine.state(self._facts)
            self._legal = legal_moves(machine, self._state)
        steps = []
        for joint_move in self._moves[self._made :]:
            if len(joint_move) != len(machine.roles) or illegal_role(joint_move, self._legal) is not None:
                return None
            self._state = machine.next(self._state, joint_move)
            self._legal = legal_moves(machine, self._state)
            self._made += 1
            steps.append((joint_move, self._state))
        return steps

    def _weigh(self, machine: StateMachine, place: Placement) -> None:
        """Thinks about several states."""
        states = [(machine.state(facts), weight) for facts, weight in states_from_json(place.possible)]
        legal = place.legal or ()
        self._digest = place.digest
        self._opinions.begin(place.turn, place.digest, frozenset(legal))
        self._doubt = BeliefSearch(machine, self._role, states, legal)

    def distrust(self) -> None:
        """Ends the search: its circuit is wrong. Any thread may call it."""
        self._send(Distrusted(self._begin.distrust + 1))
        self.end()

    # --- the engine

    def _begin_engine(self) -> None:
        """Gives the engine the present state; where it fails, the next best one takes its place.

        With none left, the match goes on with any legal move.
        """
        current = [] if self._engine is None else [self._engine]
        self._engine = None
        for engine in itertools.chain(current, self._engines):
            try:
                engine.begin(self._state)
            except Interrupted:
                raise
            except Exception:
                log.exception("engine %s cannot begin: dropped", engine.name)
                continue
            self._engine = engine
            return

    def _drop_engine(self) -> None:
        # Its memory is free for the next one, where nothing else holds it.
        self._engine = None
        self._begin_engine()

    def _advance_engine(self, steps: list[tuple[JointMove, State]]) -> None:
        if self._engine is None:
            return
        try:
            for joint_move, state in steps:
                self._engine.advance(joint_move, state)
        except Interrupted:
            raise
        except Exception:
            log.exception("engine %s cannot follow the match: dropped", self._engine.name)
            self._drop_engine()

    def _think(self) -> None:
        if self._digest is None or self._over:
            return
        if self._doubt is not None:
            self._think_in_doubt(self._doubt)
            return
        while self._engine is not None and not self._stop[0]:
            try:
                self._ask(self._engine)
                return
            except (BrokenPipeError, EOFError):
                raise
            except Exception:
                log.exception("engine %s fails: dropped", self._engine.name)
                self._drop_engine()

    def _think_in_doubt(self, doubt: BeliefSearch) -> None:
        try:
            playouts = None if self._level is None else self._level.nodes
            doubt.think(self._stop, lambda opinion: self._opinions.report(opinion, BELIEF_SEARCH, IN_DOUBT), playouts)
        except GameError:
            log.exception("the search over several states fails")
            self._doubt = None

    def _ask(self, engine: Engine) -> None:
        def report(opinion: Opinion) -> None:
            self._opinions.report(opinion, engine.name, engine.reason)

        if self._turned:
            engine.think(self._stop, report, Limit(self._seconds))
        else:
            left = self._start_ends - time.monotonic()
            engine.prepare(self._stop, report, Limit(left if left > 0 else None))


def under_way(begin: Begin) -> bool:
    """Returns whether a match has begun, so that its start clock is over."""
    checkpoint = begin.checkpoint
    return checkpoint.turn > 0 or bool(checkpoint.since) or begin.seconds is not None
