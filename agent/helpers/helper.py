"""A helper: searches the worker's questions on one core of the cluster, and reports its findings.

It knows nothing of Ray: `helper_group` makes an actor of it. Two threads call its methods, one of which waits in
`listen`; a third thread searches.
"""

from __future__ import annotations

import logging
import os
import pickle
import platform
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from agent.helpers.messages import Heard, HelperReady, Note, Order, Place, machine_name
from agent.search.team import Assistant

log = logging.getLogger(__name__)


class Helper:
    """Searches for one match."""

    def __init__(self, rank: int, fetch: Callable[[Any], bytes] = lambda content: content) -> None:
        """`fetch` turns the games and settings of `tell` into their bytes."""
        self._rank = rank
        self._fetch = fetch
        self._changed = threading.Condition()
        self._order: Order | None = None
        self._contents: tuple[Any, Any] = (None, None)
        self._stop = np.zeros(1, np.uint8)
        self._game: tuple[int, Any] = (-1, None)
        """Number of the game, and (machine, role)."""
        self._assistant: tuple[int, int, Assistant | None] = (-1, -1, None)
        """Numbers of the assistant's game and setting, and the assistant."""
        self._answering: tuple[int, Assistant | None] = (-1, None)
        """Number of the present question, and its assistant."""
        self._note: Note | None = None
        self._told: bytes | None = None
        threading.Thread(target=self._search, name="helper", daemon=True).start()

    def prepare(self, worker: Place) -> HelperReady:
        """Takes a core that the worker does not use, and loads the kernels; a node compiles them once."""
        name = f"{platform.node()}, process {os.getpid()}"
        from games.kernel_cache import sources_digest

        version = sources_digest()
        if worker.machine == machine_name():
            free = os.sched_getaffinity(0) - worker.cores
            if not free:
                return HelperReady(name, version, "the match's worker uses all cores of its machine")
            for thread in os.listdir("/proc/self/task"):
                os.sched_setaffinity(int(thread), free)
        from agent.kernels.progress import prepare
        from agent.search import registry
        from agent.search.kernel_groups import ALPHA_BETA, CIRCUIT, TREE

        prepare((CIRCUIT, TREE, ALPHA_BETA)).close()
        registry.warm_up()
        return HelperReady(name, version)

    def tell(self, order: Order, game: Any, setting: Any) -> None:
        """Takes an order, unless a later one came first; `game` and `setting` are arguments of `fetch`."""
        with self._changed:
            if self._order is not None and order.number <= self._order.number:
                return
            self._order, self._contents = order, (game, setting)
            self._stop[0] = 1
            self._changed.notify_all()

    def listen(self, seconds: float, note: Note | None = None) -> Heard:
        """Takes a note, if there is one; returns the findings on the present question after some seconds."""
        if note is not None:
            self._take(note)
        time.sleep(seconds)
        question, assistant = self._answering
        answer = assistant.answer() if assistant is not None else None
        data = None if answer is None else pickle.dumps((question, answer))
        if data is None or data == self._told:
            return Heard(question, None)
        self._told = data
        return Heard(question, pickle.dumps(answer))

    def _take(self, note: Note) -> None:
        """Takes a note, or keeps it until its question arrives."""
        question, assistant = self._answering
        if question == note.question and assistant is not None:
            assistant.take(pickle.loads(note.data))
        else:
            self._note = note

    # --- the thread that searches

    def _search(self) -> None:
        done = -1
        while True:
            with self._changed:
                while self._order is None or self._order.number == done:
                    self._changed.wait()
                order, contents = self._order, self._contents
                self._stop[0] = 0
            done = order.number
            try:
                self._follow(order, *contents)
            except Exception:
                # The next question may fare better.
                log.exception("a helper fails")
                self._answering = (-1, None)
                self._assistant = (-1, -1, None)

    def _follow(self, order: Order, game: Any, setting: Any) -> None:
        if not order.working:
            return
        question, assistant = self._answering
        if question != order.question or assistant is None:
            self._answering = (-1, None)
            assistant = self._assistant_for(order, game, setting)
            assistant.begin(order.state)
            self._answering = (order.question, assistant)
            note = self._note
            if note is not None and note.question == order.question:
                assistant.take(pickle.loads(note.data))
        assistant.think(self._stop)

    def _assistant_for(self, order: Order, game: Any, setting: Any) -> Assistant:
        if self._game[0] != order.game:
            self._assistant = (-1, -1, None)
            self._game = (order.game, pickle.loads(self._fetch(game)))
        kept_game, kept_setting, assistant = self._assistant
        if assistant is None or (kept_game, kept_setting) != (order.game, order.setting):
            # Its memory is freed before the next one is made.
            assistant = None
            self._assistant = (-1, -1, None)
            machine, role = self._game[1]
            assistant = pickle.loads(self._fetch(setting)).assistant(machine, role, self._rank)
            self._assistant = (order.game, order.setting, assistant)
        assert assistant is not None
        return assistant
