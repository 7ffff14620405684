"""No message makes the event loop walk through more than so much: its other matches wait meanwhile."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from agent.serving.player import ServeOptions, serve
from tests.loop_work import LoopWork

MOST_INSTRUCTIONS = 400_000
"""Most instructions of one callback, some milliseconds: the longest messages that are read and walked through at once
take about half."""

SMALL = "(role x) (init (at 1)) (<= (legal x wait) (true (at 1))) (<= (next (at 1)) (true (at 1))) (<= terminal (at 2))"
PLAIN = f"{SMALL} (goal x 0)"
FACTS = PLAIN + "".join(f"(n {number})" for number in range(100)) + "(<= (init (f ?x ?y ?z)) (n ?x) (n ?y) (n ?z))"
"""A state of a million facts."""
NOTED = PLAIN + "".join(f"(init (f {number}))" for number in range(3000)) + "(<= (next (f ?n)) (true (f ?n)))"
"""A state of as many as are shown."""
MOVES = PLAIN + "".join(f"(legal x (go {number} {'(a ' * 20}b{')' * 20}))" for number in range(5000))
ROLES = PLAIN + "".join(f"(role r{number}) (legal r{number} wait)" for number in range(20_000))
STATEMENTS = PLAIN + "".join(f"(p {number})" for number in range(80_000))
STATEMENT = PLAIN + f"(p {'a ' * 500_000})"


def send(port: int, message: str) -> str:
    """Returns the answer to a message, empty if it is none."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection, suppress(OSError):
        connection.request("POST", "/", message)
        return connection.getresponse().read().decode()
    return ""


def conversation(name: str, rules: str) -> Iterator[str]:
    """A match of two turns, with START twice."""
    yield from [f"(START {name} x ({rules}) 2 2)"] * 2
    yield f"(PLAY {name} NIL)"
    yield f"(PLAY {name} (wait))"
    yield f"(STOP {name} (wait))"


def strangers() -> dict[str, Callable[[], Iterator[str]]]:
    """Conversations by what is large in them."""
    sheets = {
        "facts": FACTS,
        "noted facts": NOTED,
        "moves": MOVES,
        "roles": ROLES,
        "statements": STATEMENTS,
        "statement": STATEMENT,
    }
    found = {name: partial(conversation, name.replace(" ", "-"), rules) for name, rules in sheets.items()}

    def told() -> Iterator[str]:
        yield f"(START told x ({PLAIN}) 2 2)"
        yield "(PLAY told NIL)"
        for size in (4_000, 400_000):
            yield f"(PLAY told (({'a ' * size})))"
        yield "(ABORT told)"

    return {**found, "joint moves": told}


@pytest.mark.parametrize("what", strangers())
def test_messages_take_bounded_work(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is large, no callback of the event loop walks through it."""
    work = LoopWork()

    async def course() -> None:
        port = asyncio.get_running_loop().create_future()
        options = ServeOptions(margin=0.5, journal=tmp_path / "journal", records=tmp_path / "records")
        serving = asyncio.create_task(serve(options, port.set_result))
        tell = partial(asyncio.to_thread, send, await port)
        # Much is imported by the first match.
        for message in conversation("first", PLAIN):
            await tell(message)
        with work.counted(monkeypatch):
            answers = [await tell(message) for message in strangers()[what]()]
            # What is left of it.
            await asyncio.sleep(1.0)
        print(what, work.most, work.where, [answer[:20] for answer in answers])
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(course())
    assert work.most <= MOST_INSTRUCTIONS, f"{work.most} instructions, most of them in {work.where}"
