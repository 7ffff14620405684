"""A broker without a cluster: `python fake_broker.py MODE FILE`; the file counts how often one was started.

It answers each order with the order's state, and each note with the note. Before, it sends what is late or cannot be
read. MODE `dies`: the first one ends at the first order. `lacks`: there is no Ray. `hangs`: it reads nothing.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from agent.helpers.messages import Content, HelperAnswer, HelperFailed, Join, Note, Order, Present


def main(mode: str, counter: Path) -> None:
    """Serves requests to their end."""
    requests, responses = Connection(os.dup(0), writable=False), Connection(os.dup(1), readable=False)
    starts = len(counter.read_text()) if counter.exists() else 0
    counter.write_text("x" * (starts + 1))
    if mode == "lacks":
        responses.send(HelperFailed("there is no Ray", hopeless=True))
        return
    if mode == "hangs":
        threading.Event().wait()
    join = requests.recv()
    assert isinstance(join, Join)
    responses.send(Present(1))
    contents: dict[int, bytes] = {}
    late = 0
    while True:
        try:
            request = requests.recv()
        except EOFError:
            return
        if isinstance(request, Content):
            contents[request.number] = request.data
        elif isinstance(request, Order):
            if mode == "dies" and starts == 0:
                return
            responses.send(HelperAnswer(0, late, pickle.dumps("late")))
            responses.send(HelperAnswer(1, request.question, b"garbage"))
            known = request.game in contents and request.setting in contents
            responses.send(HelperAnswer(0, request.question, pickle.dumps((request.state, request.working, known))))
            late = request.question
        elif isinstance(request, Note):
            responses.send(HelperAnswer(2, request.question, request.data))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
