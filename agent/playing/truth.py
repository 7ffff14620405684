"""The reference process of a match: it tells every turn's situation, which is the truth for all others.

It knows neither kernels nor engines, so that it is ready a moment after a START. The main thread takes commands and
gives signs of life. One other thread checks the rules, and follows the match on the interpreter: both may take long.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from functools import partial

from agent.playing.evidence import Perceive
from agent.playing.messages import Accepted, Begin, Channel, Checkpoint, Command, Refused, Rewind, Situation, Turn
from agent.playing.reference import BUDGET, BUDGET_SHARE, REFINING_SHARE, Reference
from agent.playing.rules import check_rules
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules
from games.gdl.rules.terms import predicate
from games.machine import GameError, Term
from games.perception import Perception

log = logging.getLogger(__name__)


class Truth:
    """The reference process, in one match."""

    def __init__(self, channel: Channel, begin: Begin) -> None:
        self._channel = channel
        self._begin = begin
        self._commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._ended = False
        self._refused = False
        self._told: Situation
        """Situation sent last."""

    def run(self) -> bool:
        """Follows the match until the server closes the channel; raises `EOFError` then.

        Returns whether the process can take another match: this one was refused. If not, it has failed.
        """
        threading.Thread(target=self._work, name="reference", daemon=True).start()
        while not self._ended:
            command = self._channel.listen()
            if command is not None:
                self._commands.put(command)
        return self._refused

    # --- the other thread

    def _work(self) -> None:
        try:
            checked = check_rules(self._begin.start)
            if isinstance(checked, Refused):
                # The next match may begin as soon as this is told.
                self._refused = True
                self._end()
                self._channel.send(checked)
            else:
                self._channel.send(Accepted())
                self._follow(checked)
        except BrokenPipeError:
            pass
        except Exception:
            log.exception("the reference fails")
        self._end()

    def _end(self) -> None:
        self._ended = True
        self._channel.wake()

    def _follow(self, checked: CheckedRules) -> None:
        role = checked.roles.index(self._begin.start.role)
        machine, perceive = Interpreter(checked), _perception(checked, self._begin.start.role)
        checkpoint: Checkpoint | None = self._begin.checkpoint
        reference: Reference | None = None
        seconds, command = self._begin.seconds, None
        while True:
            try:
                if checkpoint is not None:
                    reference = Reference(machine, role, checkpoint, perceive)
                    checkpoint = None
                    self._tell(reference, seconds)
                elif isinstance(command, Turn) and reference is not None:
                    reference.budget = min(BUDGET, BUDGET_SHARE * (seconds or BUDGET))
                    if command.joint_move is not None:
                        reference.follow(command.joint_move)
                        self._tell(reference, seconds)
                    else:
                        self._refine(reference, seconds)
            except (GameError, ValueError) as error:
                # Another process would do no better with these rules, or this checkpoint. The search may go on.
                log.error("the interpreter cannot tell the state: %s: %s", type(error).__name__, error)
                reference, checkpoint = None, None
            command = self._commands.get()
            if isinstance(command, Turn):
                seconds = command.seconds
            elif isinstance(command, Rewind):
                checkpoint = Checkpoint()

    def _tell(self, reference: Reference, seconds: float | None) -> None:
        """Sends the situation. Where the state is in doubt, looks for further states."""
        self._told = reference.situation()
        self._channel.send(self._told)
        self._refine(reference, seconds)

    def _refine(self, reference: Reference, seconds: float | None) -> None:
        """Looks for further states that fit, and sends the situation again where it finds some."""
        end = time.monotonic() + REFINING_SHARE * (seconds or BUDGET)

        def stopped() -> bool:
            return not self._commands.empty() or (self._told.choices > 1 and time.monotonic() > end)

        if reference.refine(stopped) and self._commands.empty():
            self._told = reference.situation()
            self._channel.send(self._told)


def _perception(checked: CheckedRules, role: Term) -> Perceive | None:
    """Returns the function that gives the role's percepts; None in a game of perfect information."""
    if not any(predicate(rule.head) == ("sees", 2) for rule in checked.rules):
        return None
    return partial(Perception(checked).percepts, role=checked.roles.index(role))
