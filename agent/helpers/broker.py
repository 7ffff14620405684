"""The process between a match's worker and its helpers.

It is the driver of a Ray job: when it ends, as it does with the worker, all actors of the match end. If Ray hangs or
crashes it, the worker only misses answers.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import resource
import threading
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from agent.errors import InputError, first_line
from agent.helpers.connection import NoClusterError, connect
from agent.helpers.messages import Content, HelperFailed, Join, Note, Order, Present, Request, Response

if TYPE_CHECKING:
    # Imports Ray, which is optional.
    from agent.helpers.helper_group import HelperGroup

log = logging.getLogger(__name__)

STEP_SECONDS = 0.5
"""Seconds of one wait for helpers."""


def work(pipe: Connection) -> None:
    """Is the broker."""
    from agent.logs import start_logging

    start_logging()
    # Ray takes more than the worker's memory bound allows.
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    _Broker(pipe).run()


class _Broker:
    """Passes messages between worker and helpers."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._sending = threading.Lock()

    def run(self) -> None:
        """Runs until the worker ends, or there is no cluster."""
        join = self._pipe.recv()
        assert isinstance(join, Join)
        waiting: queue.SimpleQueue[Request] = queue.SimpleQueue()
        threading.Thread(target=self._receive, args=(waiting,), name="requests", daemon=True).start()
        try:
            connect(join.address)
            from agent.helpers.helper_group import HelperGroup

            group = HelperGroup(join.place, join.most, self._send, lambda helpers: self._send(Present(helpers)))
            threading.Thread(target=_forward, args=(waiting, group), name="orders", daemon=True).start()
            while True:
                group.step(STEP_SECONDS)
        except Exception as error:
            hopeless = isinstance(error, InputError) and not isinstance(error, NoClusterError)
            self._send(HelperFailed(first_line(error), hopeless=hopeless))

    def _receive(self, waiting: queue.SimpleQueue[Request]) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                waiting.put(self._pipe.recv())

    def _send(self, response: Response) -> None:
        with self._sending:
            self._pipe.send(response)


def _forward(waiting: queue.SimpleQueue[Request], group: HelperGroup) -> None:
    """Passes the worker's requests on to the helpers."""
    while True:
        request = waiting.get()
        try:
            if isinstance(request, Content):
                group.keep(request)
            elif isinstance(request, Order):
                group.tell(request)
            elif isinstance(request, Note):
                group.note(request)
        except Exception:
            log.exception("helpers cannot be told")
