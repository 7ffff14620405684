"""A broker without a cluster. A file counts how often one was started.

It answers each order with the order's state, and each note with the note. Before, it sends what is late or cannot be
read. MODE `dies`: the first one ends at the first order. `lacks`: there is no Ray. `hangs`: it reads nothing.
"""

from __future__ import annotations

import pickle
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from agent.helpers.messages import Content, HelperAnswer, HelperFailed, Join, Note, Order, Present


def serve(mode: str, counter: Path, pipe: Connection) -> None:
    """Serves requests to their end."""
    starts = len(counter.read_text()) if counter.exists() else 0
    counter.write_text("x" * (starts + 1))
    if mode == "lacks":
        pipe.send(HelperFailed("there is no Ray", hopeless=True))
        return
    if mode == "hangs":
        threading.Event().wait()
    join = pipe.recv()
    assert isinstance(join, Join)
    pipe.send(Present(1))
    contents: dict[int, bytes] = {}
    late = 0
    while True:
        try:
            request = pipe.recv()
        except EOFError:
            return
        if isinstance(request, Content):
            contents[request.number] = request.data
        elif isinstance(request, Order):
            if mode == "dies" and starts == 0:
                return
            pipe.send(HelperAnswer(0, late, pickle.dumps("late")))
            pipe.send(HelperAnswer(1, request.question, b"garbage"))
            known = request.game in contents and request.setting in contents
            pipe.send(HelperAnswer(0, request.question, pickle.dumps((request.state, request.working, known))))
            late = request.question
        elif isinstance(request, Note):
            pipe.send(HelperAnswer(2, request.question, request.data))
