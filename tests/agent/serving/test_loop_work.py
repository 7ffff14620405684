"""No message makes the event loop walk through more than so much: its other matches wait meanwhile."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from agent.serving.player import ServeOptions, serve
from tests.loop_work import LoopWork

MOST_INSTRUCTIONS = 300_000
"""Most instructions of one callback, some milliseconds: the longest messages that are read and walked through at once
take about half."""

SMALL = "(role x) (init (at 1)) (<= (legal x wait) (true (at 1))) (<= (next (at 1)) (true (at 1))) (<= terminal (at 2))"
PLAIN = f"{SMALL} (goal x 0)"
FACTS = PLAIN + "".join(f"(n {number})" for number in range(40)) + "(<= (init (f ?x ?y ?z)) (n ?x) (n ?y) (n ?z))"
"""A state of 64,000 facts: its JSON is too long to be told."""
SHOWN = PLAIN + "".join(f"(init (f {number}))" for number in range(3000)) + "(<= (next (f ?n)) (true (f ?n)))"
"""A state of as many as are shown."""
MOVES = PLAIN + "".join(f"(legal x (go {number} {'(a ' * 20}b{')' * 20}))" for number in range(5000))
ROLES = PLAIN + "".join(f"(role r{number}) (legal r{number} wait)" for number in range(20_000))
STATEMENTS = PLAIN + "".join(f"(p {number})" for number in range(80_000))
STATEMENT = PLAIN + f"(p {'a ' * 500_000})"


def send(port: int, message: str) -> bytes:
    """Returns the answer to a message."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("POST", "/", message)
        return connection.getresponse().read()


def look(port: int) -> None:
    """Looks at the newest match as a page does."""
    key = ""
    for path in ("", "/{key}", "/{key}/positions/0", "/{key}/record"):
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("GET", f"/page/matches{path.format(key=key)}")
            data = json.load(connection.getresponse())
        key = key or data["matches"][0]["key"]


def conversation(name: str, rules: str) -> Iterator[str]:
    """A match of two turns, with START twice."""
    yield from [f"(START {name} x ({rules}) 1 1)"] * 2
    yield f"(PLAY {name} NIL)"
    yield f"(PLAY {name} (wait))"
    yield f"(STOP {name} (wait))"


def long_moves() -> Iterator[str]:
    """Joint moves that are read, and one that is not."""
    yield f"(START told x ({PLAIN}) 1 1)"
    for move in ("NIL", f"(({'a ' * 1_800}))", f"(({'a ' * 400_000}))"):
        yield f"(PLAY told {move})"
    yield "(ABORT told)"


STRANGERS = {
    "facts": conversation("facts", FACTS),
    "facts that are shown": conversation("shown", SHOWN),
    "moves": conversation("moves", MOVES),
    "roles": conversation("roles", ROLES),
    "statements": conversation("statements", STATEMENTS),
    "statement": conversation("statement", STATEMENT),
    "joint moves": long_moves(),
}
"""Messages, by what is large in them."""


def test_messages_take_bounded_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is large, no callback of the event loop walks through it."""
    found: dict[str, LoopWork] = {}

    async def course() -> None:
        port = asyncio.get_running_loop().create_future()
        options = ServeOptions(margin=0.5, journal=tmp_path / "journal", records=tmp_path / "records")
        serving = asyncio.create_task(serve(options, port.set_result))
        tell, see = partial(asyncio.to_thread, send, await port), partial(asyncio.to_thread, look, await port)
        # Much is imported by the first match.
        for message in conversation("first", PLAIN):
            await tell(message)
            await see()
        for what, messages in STRANGERS.items():
            found[what] = LoopWork()
            with found[what].counted(monkeypatch):
                for message in messages:
                    if message.startswith(("(STOP", "(ABORT")):
                        await see()
                    assert await tell(message)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(course())
    told = "; ".join(f"{what}: {work.most} ({work.where})" for what, work in found.items())
    assert max(work.most for work in found.values()) <= MOST_INSTRUCTIONS, told
