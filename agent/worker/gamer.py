"""The gamer: a worker's thread that follows the match on one machine and thinks with one engine."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from agent.search.engine import Engine, Limit, Opinion
from agent.worker.belief_search import NAME as BELIEF_SEARCH
from agent.worker.belief_search import BeliefSearch
from agent.worker.evidence import Perceive
from agent.worker.messages import Checkpoint, Received, Report, Rewind, Thought, Turn
from agent.worker.opinions import Opinions
from agent.worker.reference import BUDGET, Reference
from games.gdl.crosscheck import Observation
from games.machine import State, StateMachine, Term

log = logging.getLogger(__name__)

Settle: TypeAlias = Callable[[float, Callable[[], bool]], bool]
"""`CrossChecker.settle`: takes the most seconds to wait, and whether to stop; returns False if a state is wrong."""

EngineChoice: TypeAlias = Callable[[StateMachine, int], Iterator[Engine]]
"""Gives the engines that can play a game in a role, best first."""

HOLD_SECONDS = 0.25
"""Most seconds that a report which ends the turn or the match waits for its state to be compared."""

HOLD_SHARE = 0.1
"""The same as a share of the turn. Less than the share after which the match calls a stand-by."""

REFINING_SHARE = 0.3
"""Share of a turn for finding further states that fit, after the first report of legal moves."""

BUDGET_SHARE = 0.08
"""Share of a turn for finding the states that fit a message, and again for their legal moves. Less than the share after
which the match calls a stand-by."""

IN_DOUBT = "several states fit what was told: the moves are compared in samples of them"
"""Reason why the search over beliefs thinks, for the page."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Functions that a gamer calls, in its own thread."""

    send: Callable[[Report], None]
    """Takes the gamer's reports."""
    observed: Callable[[Observation], None] | None = None
    """Takes the machine's word on each state of the match."""
    settle: Settle = lambda seconds, stopped: True
    """Waits until the states observed are found right or wrong, before a report that ends the turn or the match."""
    ended: Callable[[], None] = lambda: None
    """Called when the gamer plays no more."""
    perceive: Perceive | None = None
    """Gives the role's percepts in a game of imperfect information."""
    engines: EngineChoice | None = None
    """Gives the engines, best first; None for those of `agent.search.registry`."""


class Gamer:
    """Follows the match, sends every turn's situation at once, then thinks until the next turn.

    A retired gamer may be stuck in a slow machine: its thread is a daemon, and its reports are dropped.
    """

    def __init__(
        self,
        make_machine: Callable[[], StateMachine],
        role: Term,
        checkpoint: Checkpoint,
        hooks: Hooks,
        *,
        thinking: bool,
        seconds: float | None,
        start_ends: float | None = None,
    ) -> None:
        """`make_machine` runs in the gamer's thread. `thinking` says whether to think before the next turn begins.

        `seconds` is the length of the present turn, if one is running; `start_ends` the time (`time.monotonic`) up to
        which the start clock may be used.
        """
        self.prepared = threading.Event()
        """Set when the first situation was sent and the engine can think, or when the gamer has failed."""
        self.failed: str | None = None
        """Reason why this gamer cannot play; None if it can."""
        self._make_machine = make_machine
        self._role_term = role
        self._checkpoint = checkpoint
        self._hooks = hooks
        self._tasks: deque[Turn | Rewind] = deque()
        self._changed = threading.Condition()
        self._sending = threading.Lock()
        self._stop = np.zeros(1, np.uint8)
        self._thinking = thinking
        self._seconds = seconds
        self._start_ends = start_ends
        self._retired = False
        self._turned = checkpoint.turn > 0 or bool(checkpoint.since) or seconds is not None
        """Whether the match has begun."""
        self._exhausted = False
        """Whether thinking on is of no use to the engine."""
        self._engine: Engine | None = None
        self._engines: Iterator[Engine] = iter(())
        self._choose_engines = hooks.engines
        self._doubt: BeliefSearch | None = None
        """Search that replaces the engine while the state is in doubt."""
        self._opinions = Opinions(self._send_opinion, self._is_settled, self._stop)
        self._thread = threading.Thread(target=self._run, name="gamer", daemon=True)

    # --- from the control thread

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

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

    def turn(self, turn: Turn) -> None:
        """Begins a turn: stops thinking, follows the joint move, thinks on."""
        with self._changed:
            self._thinking = self._turned = True
            self._assign(turn)

    def rewind(self) -> None:
        """Goes back to the initial state."""
        with self._changed:
            self._assign(Rewind())

    def _assign(self, task: Turn | Rewind) -> None:
        self._tasks.append(task)
        self._stop[0] = 1
        self._changed.notify()

    def ponder(self) -> None:
        """Begins to think, if it does not yet."""
        with self._changed:
            if not self._thinking:
                self._thinking = True
                self._changed.notify()

    def rest(self) -> None:
        """Stops thinking until the next turn."""
        with self._changed:
            self._thinking = False
            self._stop[0] = 1

    def retire(self) -> None:
        """Stops for good. Nothing is sent after the return."""
        with self._changed:
            with self._sending:
                self._retired = True
            self._stop[0] = 1
            self._changed.notify()

    def repeat(self) -> None:
        """Sends the newest opinion again, after another gamer's."""
        self._opinions.repeat()

    # --- the thread

    def _run(self) -> None:
        try:
            machine = self._make_machine()
            role = machine.roles.index(self._role_term)
            reference = Reference(machine, role, self._checkpoint, self._hooks.perceive)
            self._announce(reference)
            if self._choose_engines is None:
                # Imports all engines with their kernels: only after the legal moves are reported.
                from agent.search.registry import engines_for

                self._choose_engines = engines_for
            self._engines = self._choose_engines(machine, role)
            self._next_engine(reference.state)
            self._weigh(reference)
            self.prepared.set()
            self._play(reference)
        except (BrokenPipeError, EOFError):
            pass
        except Exception as error:
            self.failed = f"{type(error).__name__}: {error}"
            if not self._retired:
                log.exception("the gamer fails")
        finally:
            self.prepared.set()
            self._hooks.ended()

    def _play(self, reference: Reference) -> None:
        while True:
            with self._changed:
                while not (self._retired or self._tasks or (self._thinking and not self._exhausted)):
                    self._changed.wait()
                if self._retired:
                    return
                task = self._tasks.popleft() if self._tasks else None
            if task is not None:
                self._exhausted = False
            if isinstance(task, Turn):
                self._seconds = task.seconds
                if task.joint_move is not None:
                    self._follow(reference, task.joint_move, last=task.seconds is None)
            elif isinstance(task, Rewind):
                reference = Reference(reference.machine, reference.role, Checkpoint(), self._hooks.perceive)
                self._announce(reference)
                assert self._choose_engines is not None
                self._engines = self._choose_engines(reference.machine, reference.role)
                self._next_engine(reference.state)
                self._weigh(reference)
            with self._changed:
                if self._tasks or self._retired or not self._thinking:
                    continue
                self._stop[0] = 0
            assert self._opinions.situation is not None
            if not self._opinions.situation.terminal:
                self._think(reference)
            # An engine that returns unasked has no use for more time.
            self._exhausted = not self._stop[0]

    def _follow(self, reference: Reference, received: Received, *, last: bool) -> None:
        before, doubtful = reference.state, self._doubt is not None
        reference.budget = min(BUDGET, BUDGET_SHARE * (self._seconds or BUDGET))
        steps = reference.follow(received)
        self._announce(reference, last=last)
        self._weigh(reference)
        if reference.sure and (doubtful or (not steps and reference.state != before)):
            self._begin_anew(reference.state)
            return
        for joint_move, state in steps:
            engine = self._engine
            if engine is None:
                return
            try:
                engine.advance(joint_move, state)
            except Exception:
                log.exception("engine %s cannot follow the match: dropped", engine.name)
                self._next_engine(reference.state)
                return

    def _weigh(self, reference: Reference) -> None:
        """Replaces the engine by a search over beliefs while the state is in doubt."""
        self._doubt = None
        situation = self._opinions.situation
        if not reference.sure and situation is not None:
            self._doubt = BeliefSearch(reference.machine, reference.role, reference.belief, situation.legal)

    def _begin_anew(self, state: State) -> None:
        """Gives the engine a known state that was reached by an unknown way."""
        engine = self._engine
        if engine is None:
            return
        try:
            engine.begin(state)
        except Exception:
            log.exception("engine %s cannot begin: dropped", engine.name)
            self._next_engine(state)

    def _announce(self, reference: Reference, *, last: bool = False) -> None:
        """Reports the present state, and has the machine's states compared.

        The report comes first, unless it alone would end the turn or the match.
        """
        situation = reference.situation()
        self._opinions.begin(situation)
        if last or situation.terminal or len(situation.legal) <= 1:
            self._show_states(reference)
            if self._is_settled():
                self._send(situation)
        else:
            self._send(situation)
            self._show_states(reference)

    def _is_settled(self) -> bool:
        """Waits a moment until the present state is compared, unless a turn begins; returns False if it is wrong."""
        seconds = HOLD_SECONDS if self._seconds is None else min(HOLD_SECONDS, HOLD_SHARE * self._seconds)
        return self._hooks.settle(seconds, lambda: self._retired or bool(self._tasks))

    def _show_states(self, reference: Reference) -> None:
        observed = self._hooks.observed
        if observed is not None and not self._retired:
            for seen in reference.observations():
                observed(seen)

    def _next_engine(self, state: State) -> None:
        """Begins with the next best engine. With none left, the match goes on with any legal move."""
        # Its memory is free for the next one, where nothing else holds it.
        self._engine = None
        for engine in self._engines:
            try:
                engine.begin(state)
            except Exception:
                log.exception("engine %s cannot begin: dropped", engine.name)
                continue
            self._engine = engine
            return

    def _think_in_doubt(self, reference: Reference) -> None:
        """Looks for more possible states, then thinks: a move that is legal in a few of them may be illegal."""
        known = self._opinions.situation
        assert known is not None
        end = time.monotonic() + REFINING_SHARE * (self._seconds or BUDGET)
        forced = len(known.legal) <= 1
        if reference.refine(lambda: bool(self._stop[0]) or (not forced and time.monotonic() > end)):
            situation = reference.situation()
            if situation.legal != known.legal and not self._stop[0]:
                self._opinions.amend(situation)
                self._send(situation)
            self._weigh(reference)
        if self._doubt is not None:
            self._doubt.think(self._stop, self._opinions.report)

    def _think(self, reference: Reference) -> None:
        state = reference.state
        if self._doubt is not None:
            self._think_in_doubt(reference)
            return
        while self._engine is not None and not self._stop[0]:
            try:
                if self._turned or self._start_ends is None:
                    self._engine.think(self._stop, self._opinions.report, Limit(self._seconds))
                else:
                    left = self._start_ends - time.monotonic()
                    self._engine.prepare(self._stop, self._opinions.report, Limit(left if left > 0 else None))
                return
            except (BrokenPipeError, EOFError):
                raise
            except Exception:
                log.exception("engine %s fails: dropped", self._engine.name)
                self._next_engine(state)

    def _send_opinion(self, turn: int, opinion: Opinion) -> None:
        author, reason = self.engine_name, self._engine.reason if self._engine else ""
        if self._doubt is not None:
            author, reason = BELIEF_SEARCH, IN_DOUBT
        self._send(Thought(turn, opinion, author, reason))

    def _send(self, report: Report) -> None:
        with self._sending:
            if not self._retired:
                self._hooks.send(report)
