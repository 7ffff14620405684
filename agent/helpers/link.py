"""The worker's end of its helpers: a `Team` whose methods never wait, over a broker process that may hang or die.

Two threads stand between engine and broker: one sends the newest question, the other hands it the answers.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from agent.errors import first_line
from agent.helpers.messages import (
    Content,
    HelperAnswer,
    HelperFailed,
    Join,
    Note,
    Order,
    Place,
    Present,
    Request,
    Response,
    machine_name,
)
from agent.search.team import Hear, Setting, Team
from games.child_process import ChildLostError, ChildProcess
from games.gdl.running.machine import CircuitMachine
from games.machine import State

log = logging.getLogger(__name__)

FIRST_DELAY, LAST_DELAY = 2.0, 30.0
"""Seconds until a failed broker is followed by another: doubled from the first to the last."""

Broker: TypeAlias = Callable[..., object] | str
"""Work of a broker's process."""

BROKER = "agent.helpers.broker:work"


class ClusterTeam(Team):
    """The helpers of a Ray cluster, if there are any."""

    def __init__(self, address: str, most: int = 0, broker: Broker = BROKER) -> None:
        """Starts looking for at most `most` helpers (0: one on each core). `address` is for `ray.init`."""
        self._join = Join(address, most, Place(machine_name(), frozenset(os.sched_getaffinity(0))))
        self._broker = broker
        self._changed = threading.Condition()
        self._hearing = threading.RLock()
        """Held while an engine hears an answer; reentrant, since it may ask or rest then."""
        self._numbers = 0
        """Number of contents, orders and questions so far."""
        self._game: tuple[Any, int] | None = None
        self._setting: Setting | None = None
        self._contents: dict[str, tuple[int, object]] = {}
        """Numbers and objects of the present game and setting."""
        self._order: Order | None = None
        self._note: Note | None = None
        self._hear: Hear | None = None
        self._size = 0
        self._closed = False
        self._process: ChildProcess | None = None
        threading.Thread(target=self._keep_broker, name="helpers", daemon=True).start()

    # --- the engine's side

    def play(self, machine: CircuitMachine, role: int) -> None:
        with self._changed:
            if self._game is None or self._game[0] is not machine or self._game[1] != role:
                self._game = (machine, role)
                self._contents["game"] = (self._next_number(), self._game)
                self._order = None

    def ask(self, setting: Setting, state: State, hear: Hear) -> None:
        assert isinstance(state, bytes)
        with self._changed:
            if "game" not in self._contents:
                raise ValueError("the game comes before the first question")
            if setting is not self._setting:
                self._setting = setting
                self._contents["setting"] = (self._next_number(), setting)
            game, settings = self._contents["game"][0], self._contents["setting"][0]
            order = self._order
            same = order is not None and (order.game, order.setting, order.state) == (game, settings, state)
            if order is None or not same:
                question = self._next_number()
                self._note = None
            else:
                question = order.question
            self._hear = hear
            if order is None or not same or not order.working:
                self._order = Order(self._next_number(), game, settings, question, state, working=True)
                self._changed.notify_all()

    def rest(self, setting: Setting) -> None:
        with self._hearing, self._changed:
            if self._setting is not setting:
                return
            self._hear = None
            order = self._order
            if order is not None and order.working:
                self._order = Order(
                    self._next_number(), order.game, order.setting, order.question, order.state, working=False
                )
                self._changed.notify_all()

    @property
    def size(self) -> int:
        return self._size

    # --- the owner's side

    def wait(self, helpers: int, seconds: float) -> bool:
        """Waits for at most `seconds` until `helpers` are at work; returns whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: self._size >= helpers, seconds)

    def close(self) -> None:
        """Gives up all helpers."""
        with self._changed:
            self._closed = True
            process = self._process
            self._changed.notify_all()
        if process is not None:
            process.kill()

    # --- the threads

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _keep_broker(self) -> None:
        """Runs a broker, and another one whenever it fails."""
        delay = FIRST_DELAY
        while not self._closed:
            failed = self._run_broker()
            if self._closed:
                return
            with self._changed:
                if self._size:
                    delay = FIRST_DELAY
                self._size = 0
            if failed.hopeless:
                log.warning("no helpers of cluster %s: %s", self._join.address, failed.reason)
                return
            log.warning("no helpers of cluster %s: %s; next try in %.0f s", self._join.address, failed.reason, delay)
            time.sleep(delay)
            delay = min(2 * delay, LAST_DELAY)

    def _run_broker(self) -> HelperFailed:
        """Runs a broker until it ends; returns the reason."""
        try:
            process = ChildProcess(self._broker, method="spawn")
        except OSError as error:
            return HelperFailed(f"its process cannot be started: {error}", hopeless=False)
        with self._changed:
            self._process = process
            if self._closed:
                process.kill()
        ended = threading.Event()
        sender = threading.Thread(target=self._send, args=(process, ended), name="questions", daemon=True)
        sender.start()
        failed = HelperFailed("its process has ended", hopeless=False)
        try:
            while True:
                response: Response | None = process.receive()
                if isinstance(response, HelperFailed):
                    failed = response
                elif response is not None:
                    self._take(response)
        except ChildLostError:
            pass
        except Exception as error:
            log.exception("the broker has failed")
            failed = HelperFailed(first_line(error), hopeless=False)
        finally:
            process.kill()
            with self._changed:
                ended.set()
                self._changed.notify_all()
            sender.join()
            process.end()
        return failed

    def _send(self, process: ChildProcess, ended: threading.Event) -> None:
        """Sends one broker everything new until it has ended."""
        with contextlib.suppress(ChildLostError):
            process.send(self._join)
            known: set[int] = set()
            order: Order | None = None
            note: Note | None = None
            while True:
                with self._changed:
                    while not (ended.is_set() or order is not self._order or note is not self._note):
                        self._changed.wait()
                    if ended.is_set():
                        return
                    contents = [] if self._order is None else list(self._contents.values())
                    fresh = order is not self._order
                    order, note = self._order, self._note
                messages: list[Request] = []
                if order is not None and fresh:
                    messages += [Content(n, pickle.dumps(thing)) for n, thing in contents if n not in known]
                    known = {n for n, _ in contents}
                    messages.append(order)
                if note is not None:
                    messages.append(note)
                for message in messages:
                    process.send(message)

    def _take(self, response: HelperAnswer | Present) -> None:
        if isinstance(response, Present):
            with self._changed:
                self._size = response.helpers
                self._changed.notify_all()
            return
        try:
            content = pickle.loads(response.data)
        except Exception:
            log.exception("an answer of helper %d cannot be read", response.helper)
            return
        with self._hearing:
            with self._changed:
                order = self._order
                if order is None or order.question != response.question:
                    return
                hear = self._hear if order.working else None
            if hear is None:
                return
            try:
                note = hear(content)
            except Exception:
                log.exception("an answer of helper %d is of no use", response.helper)
                return
            if note is not None:
                data = pickle.dumps(note)
                with self._changed:
                    if self._order is not None and self._order.question == response.question:
                        self._note = Note(response.question, data)
                        self._changed.notify_all()
