"""The process between a match's worker and its helpers: `python -m agent.helpers.broker`.

The worker's requests come on standard input, responses leave on standard output. It is the driver of a Ray job: when it
ends, as it does with the worker, all actors of the match end. If Ray hangs or crashes it, the worker only misses
answers.
"""

from __future__ import annotations

import logging
import os
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


def main() -> None:
    """The process."""
    from agent.logs import start_logging

    pipe = Connection(os.dup(0)), Connection(os.dup(1))
    # Other output must not get between the responses.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    start_logging()
    # Ray takes more than the worker's memory bound allows.
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    try:
        _Broker(*pipe).run()
    finally:
        # Ray's own exit waits for the cluster.
        os._exit(0)


class _Broker:
    """Passes messages between worker and helpers."""

    def __init__(self, requests: Connection, responses: Connection) -> None:
        self._requests = requests
        self._responses = responses
        self._sending = threading.Lock()

    def run(self) -> None:
        """Runs until the worker ends, or there is no cluster."""
        join = self._requests.recv()
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
        try:
            while True:
                waiting.put(self._requests.recv())
        except (EOFError, OSError):
            os._exit(0)

    def _send(self, response: Response) -> None:
        with self._sending:
            self._responses.send(response)


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


if __name__ == "__main__":
    main()
