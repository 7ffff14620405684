"""Faults of a soak: of processes, disks, clocks and connections of a running server.

None needs privileges. Faults beyond those of signals are done by hooks in the server's processes (see `soak_server`).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import resource
import signal
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import TypeAlias

from agent.commands.options import WRONG_INPUT
from agent.errors import CommandError
from protocol.messages import LONGEST_CLOCK
from tests.instruments.soak_server import HOST, SoakServer

MEMORY_LEFT = 1 << 20
"""Bytes left to a worker without memory."""

Undo: TypeAlias = Callable[[], object]
"""Mends a fault after the match. May raise `OSError`."""
Fault: TypeAlias = Callable[[SoakServer, Random], Awaitable[Undo | None]]
"""Inflicts something on a server that is up. Raises `OSError` where it is too late for that."""


async def _signal_server(number: int, server: SoakServer, rng: Random) -> None:
    assert server.pid is not None
    os.kill(server.pid, number)


async def _signal_worker(number: int, server: SoakServer, rng: Random) -> None:
    if workers := server.workers:
        os.kill(rng.choice(workers), number)


async def _kill_all(server: SoakServer, rng: Random) -> None:
    for process in server.workers:
        os.kill(process, signal.SIGKILL)


async def _kill_kind(searches: bool, server: SoakServer, rng: Random) -> None:
    for process in server.workers:
        # References know no NumPy.
        if ("numpy" in Path(f"/proc/{process}/maps").read_text()) == searches:
            os.kill(process, signal.SIGKILL)


async def _start_again(server: SoakServer, rng: Random) -> None:
    # Without its journal, a server that nobody restarts would rightly refuse to begin.
    if server.journal.is_dir():
        server.start_again()


async def _tear_journal(server: SoakServer, rng: Random) -> None:
    for path in server.journal.glob("*.jsonl"):
        with open(path, "a") as file:
            file.write('{"moves": ["le')


async def _kill_server_while_it_writes(server: SoakServer, rng: Random) -> None:
    await _tear_journal(server, rng)
    await _signal_server(signal.SIGKILL, server, rng)


async def _exhaust_worker(server: SoakServer, rng: Random) -> None:
    if workers := server.workers:
        worker = rng.choice(workers)
        pages = int(Path(f"/proc/{worker}/statm").read_text().split()[5])
        _, hard = resource.prlimit(worker, resource.RLIMIT_DATA)
        resource.prlimit(worker, resource.RLIMIT_DATA, (pages * resource.getpagesize() + MEMORY_LEFT, hard))


async def _fill_disk(server: SoakServer, rng: Random) -> Undo | None:
    """Lets no file grow any more, journal and log included."""
    assert server.pid is not None
    limit = partial(resource.prlimit, server.pid, resource.RLIMIT_FSIZE)
    _, hard = limit()
    return partial(limit, limit((1, hard)))


async def _take_journal_away(server: SoakServer, rng: Random) -> Undo | None:
    """Puts a file in the folder's place, which not even root can write to."""
    aside = server.journal.with_name("journal-aside")
    if aside.exists():
        return None
    server.journal.rename(aside)
    server.journal.touch()

    def mend() -> None:
        server.journal.unlink()
        aside.rename(server.journal)

    return mend


async def _take_port(server: SoakServer, rng: Random) -> None:
    """Starts a second server on the port, which has to give up."""
    status = await asyncio.to_thread(server.start("--port", str(server.port)).wait)
    if status != WRONG_INPUT:
        raise CommandError(f"a second server on the same port ended with status {status}")


async def _send_half(server: SoakServer, rng: Random) -> None:
    await _send_bytes(server, b"POST / HTTP/1.0\r\nContent-Length: 100\r\n\r\n(PLAY ((((")


async def _send_junk(server: SoakServer, rng: Random) -> None:
    body = rng.choice(
        (rng.randbytes(10_000), b'play(m,["' + b'\\"' * 5_000, b"(" * 10_000, b"(START " + b"(a " * 5_000)
    )
    await _send_bytes(server, rng.choice((b"POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body), b"")) + body)


async def _send_bytes(server: SoakServer, *pieces: bytes, pause: float = 0.0, wait: float = 0.0) -> None:
    """Sends pieces with pauses in between, and waits for an answer, but not for long."""
    with contextlib.suppress(OSError):
        reader, writer = await asyncio.open_connection(HOST, server.port, local_addr=(STRANGER, 0))
        try:
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(pause)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(reader.read(), wait)
        finally:
            writer.close()


STRANGER = "127.0.0.2"
"""Address of whoever is no manager."""
LARGE, PIECE = 1 << 20, 1 << 14
"""Bytes of a large body, and of what is sent of it at a time."""
SLOW_BODIES, JUNK_BODIES = 24, 12
"""Large bodies that a hostile neighbour sends at once, and smaller ones that are no messages."""
RULES = "(role x) (init (at 1)) (<= (legal x wait) (true (at 1))) (<= (next (at 1)) (true (at 1))) (<= terminal (at 2))"
HIDING = RULES + "(role y) (<= (legal y (go ?n)) (n ?n)) (n 1) (n 2) (<= (sees x ?n) (does y (go ?n))) (goal x 0)"
"""A game of imperfect information, of which turns may be missed."""
MILLION = RULES + "".join(f"(n {number})" for number in range(100)) + "(<= (init (f ?a ?b ?c)) (n ?a) (n ?b) (n ?c))"
"""A game with a million facts in a state."""
LONG = RULES + "".join(f"(fact {number})" for number in range(LARGE // 16))
"""Some 900 KB of rules."""
CONVERSATIONS = (
    (
        f"(START hostile x ({HIDING}) {LONGEST_CLOCK} {LONGEST_CLOCK})",
        *(f"(PLAY hostile {turn} wait (1))" for turn in (1, LONGEST_CLOCK, LONGEST_CLOCK)),
        "(STOP hostile NIL)",
    ),
    (f"(START million x ({MILLION}) 25 6)", "(PLAY million NIL)", *["(PLAY million (wait))"] * 20, "(ABORT million)"),
    (f"(START long x ({LONG}) 25 6)", f"(START long x ({LONG}) 25 6)", "(PLAY long NIL)", "(ABORT long)"),
    *((f"(START held-{number} x ({RULES}) 3600 3600)",) for number in range(2)),
)
"""What a hostile neighbour says in matches of its own, again and again."""
NEIGHBOURS_MATCHES = 3
"""Number of these in which PLAY comes, so that they keep their places."""
_neighbours: set[int] = set()
"""Ports of the servers that have a hostile neighbour: one is enough."""


async def _move_in(server: SoakServer, rng: Random) -> Undo | None:
    """A hostile neighbour, until it is told to go: slow large bodies, endless junk, matches of its own with all that is
    large, and records that are broken."""
    if server.port in _neighbours:
        return None
    _neighbours.add(server.port)
    work = [_break_records(server, rng), *(_converse(server, messages) for messages in CONVERSATIONS)]
    work += [_send_slowly(server, b"(PLAY ", LARGE, 0.05) for _ in range(SLOW_BODIES)]
    work += [_send_slowly(server, b"junk ", PIECE + 1024, 0.2) for _ in range(JUNK_BODIES)]
    tasks = [asyncio.create_task(one) for one in work]

    def move_out() -> None:
        _neighbours.discard(server.port)
        for task in tasks:
            task.cancel()

    return move_out


async def _send_slowly(server: SoakServer, begin: bytes, size: int, pause: float) -> None:
    body = begin + b"( " * (size // 2)
    pieces = [body[place : place + PIECE] for place in range(0, len(body), PIECE)]
    while True:
        await _send_bytes(server, b"POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body), *pieces, pause=pause)


async def _converse(server: SoakServer, messages: Sequence[str]) -> None:
    while True:
        for message in messages:
            # The answer to START may take as long as its clock.
            head = f"POST / HTTP/1.0\r\nContent-Length: {len(message)}\r\n\r\n"
            await _send_bytes(server, head.encode() + message.encode(), wait=0.5)
            await asyncio.sleep(0.05)


async def _break_records(server: SoakServer, rng: Random) -> None:
    broken = [
        b"[" * 100_000,
        b'{"goals": [1e999], "a": "' + b'\\"' * 500_000,
        rng.randbytes(100_000),
        b'{"roles": NaN}',
    ]
    for number in itertools.count():
        (server.records / f"broken-{number % 100}.json").write_bytes(rng.choice(broken))
        with contextlib.suppress(OSError, ValueError):
            await server.get("/page/matches")
        await asyncio.sleep(0.1)


async def _damage_kernels(truncate: bool, server: SoakServer, rng: Random) -> None:
    for path in server.kernels.rglob("*.nb?"):
        place = rng.randrange(path.stat().st_size + 1)
        with open(path, "r+b") as file:
            file.seek(place)
            file.truncate() if truncate else file.write(rng.randbytes(64))
    # Running workers have loaded their kernels already.
    await _kill_all(server, rng)


NEIGHBOUR = "hostile neighbour"
"""Plays matches of its own."""

FAULTS: dict[str, Fault] = {
    "server killed": partial(_signal_server, signal.SIGKILL),
    "server killed in mid-write": _kill_server_while_it_writes,
    "worker killed": partial(_signal_worker, signal.SIGKILL),
    "references killed": partial(_kill_kind, False),
    "searches killed": partial(_kill_kind, True),
    "all workers killed": _kill_all,
    "server killed with its supervisor": _start_again,
    "worker stopped": partial(_signal_worker, signal.SIGSTOP),
    "worker segmentation fault": partial(_signal_worker, signal.SIGSEGV),
    "worker endless loop": partial(_signal_worker, signal.SIGUSR1),
    "worker out of memory": _exhaust_worker,
    "journal torn": _tear_journal,
    "journal gone": _take_journal_away,
    "disk full": _fill_disk,
    "clock jumps": partial(_signal_server, signal.SIGUSR2),
    "port taken": _take_port,
    "half a message": _send_half,
    "junk": _send_junk,
    NEIGHBOUR: _move_in,
    "kernels truncated": partial(_damage_kernels, True),
    "kernels damaged": partial(_damage_kernels, False),
}
USUAL = tuple(FAULTS)[:-2]
"""Faults by default: the others cost minutes of compiling."""
