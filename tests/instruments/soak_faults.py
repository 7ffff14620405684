"""Faults of a soak: of processes, disks, clocks and connections of a running server.

None needs privileges. Faults beyond those of signals are done by hooks in the server's processes (see `soak_server`).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import resource
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from protocol.messages import LONGEST_CLOCK
from tests.instruments.soak_server import HOST, SoakError, SoakServer

WRONG_INPUT = 2
"""Exit status of commands that cannot run."""

NEIGHBOUR = "hostile neighbour"
"""Name of the fault that plays matches of its own."""

MEMORY_LEFT = 1 << 20
"""Bytes left to a worker without memory."""

Undo: TypeAlias = Callable[[], None]


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong."""

    inflict: Callable[[SoakServer, random.Random], Awaitable[Undo | None]]
    """Inflicts the fault; the result, if any, mends it after the match."""
    outage: bool = False
    """Whether the server is down for a moment."""
    usual: bool = True
    """Whether it is chosen by default."""


def _signal_worker(number: signal.Signals) -> Fault:
    async def inflict(server: SoakServer, rng: random.Random) -> None:
        if workers := server.workers:
            os.kill(rng.choice(workers), number)

    return Fault(inflict)


async def _kill_server(server: SoakServer, rng: random.Random) -> None:
    if server.pid is not None:
        os.kill(server.pid, signal.SIGKILL)


async def _kill_server_while_it_writes(server: SoakServer, rng: random.Random) -> None:
    await _tear_journal(server, rng)
    await _kill_server(server, rng)


async def _tear_journal(server: SoakServer, rng: random.Random) -> None:
    for path in server.journal.glob("*.jsonl"):
        with open(path, "a") as file:
            file.write('{"moves": ["le')


async def _exhaust_worker(server: SoakServer, rng: random.Random) -> None:
    if workers := server.workers:
        worker = rng.choice(workers)
        pages = int(Path(f"/proc/{worker}/statm").read_text().split()[5])
        _, hard = resource.prlimit(worker, resource.RLIMIT_DATA)
        resource.prlimit(worker, resource.RLIMIT_DATA, (pages * resource.getpagesize() + MEMORY_LEFT, hard))


async def _fill_disk(server: SoakServer, rng: random.Random) -> Undo | None:
    """Lets no file grow any more, journal and log included."""
    pid = server.pid
    if pid is None:
        return None
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, hard))

    def mend() -> None:
        with contextlib.suppress(OSError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)

    return mend


async def _take_journal_away(server: SoakServer, rng: random.Random) -> Undo | None:
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


async def _jump(server: SoakServer, rng: random.Random) -> None:
    if server.pid is not None:
        os.kill(server.pid, signal.SIGUSR2)


async def _take_port(server: SoakServer, rng: random.Random) -> None:
    """Starts a second server on the port, which has to give up."""
    twin = server.start_twin()
    status = await asyncio.to_thread(twin.wait)
    if status != WRONG_INPUT:
        raise SoakError(f"a second server on the same port ended with status {status}")


async def _send_half(server: SoakServer, rng: random.Random) -> None:
    await _send_bytes(server, b"POST / HTTP/1.0\r\nContent-Length: 100\r\n\r\n(PLAY ((((")


async def _send_junk(server: SoakServer, rng: random.Random) -> None:
    body = rng.choice(
        (rng.randbytes(10_000), b'play(m,["' + b'\\"' * 5_000, b"(" * 10_000, b"(START " + b"(a " * 5_000)
    )
    head = rng.choice((b"POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body), b""))
    await _send_bytes(server, head + body)


async def _send_bytes(server: SoakServer, data: bytes) -> None:
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_connection(HOST, server.port)
        writer.write(data)
        await writer.drain()
        writer.close()


LARGE, PIECE = 1 << 20, 1 << 14
"""Bytes of a large body, and of what is sent of it at a time."""

SLOW_BODIES = 24
"""Large bodies that a hostile neighbour sends at once."""

NEIGHBOURS_RULES = (
    "(role x) (role y) (init (at 1)) (<= (legal x wait) (true (at 1))) (<= (legal y (go ?n)) (n ?n)) (n 1) (n 2)"
    "(<= (next (at 1)) (true (at 1))) (<= (sees x ?n) (does y (go ?n))) (<= terminal (true (at 2)))"
    "(goal x 0) (goal y 0)"
)
"""A game of imperfect information, of which turns may be missed."""

_neighbours: set[int] = set()
"""Ports of the servers that have a hostile neighbour: one is enough."""


async def _move_in(server: SoakServer, rng: random.Random) -> Undo | None:
    """A hostile neighbour, until it is told to go: slow large bodies, matches that begin and end, turn numbers that are
    far ahead, and records that are broken."""
    if server.port in _neighbours:
        return None
    _neighbours.add(server.port)
    tasks = [asyncio.create_task(_send_slowly(server)) for _ in range(SLOW_BODIES)]
    tasks += [asyncio.create_task(_begin_and_end(server, rng)), asyncio.create_task(_break_records(server, rng))]

    def move_out() -> None:
        _neighbours.discard(server.port)
        for task in tasks:
            task.cancel()

    return move_out


async def _send_slowly(server: SoakServer) -> None:
    while True:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(HOST, server.port)
            try:
                writer.write(b"POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n(PLAY " % LARGE)
                for _ in range(LARGE // PIECE):
                    writer.write(b"( " * (PIECE // 2))
                    await writer.drain()
                    await asyncio.sleep(0.05)
            finally:
                writer.close()
        await asyncio.sleep(0.05)


async def _begin_and_end(server: SoakServer, rng: random.Random) -> None:
    messages = [f"(START hostile x ({NEIGHBOURS_RULES}) {LONGEST_CLOCK} {LONGEST_CLOCK})"]
    messages += [f"(PLAY hostile {turn} wait (1))" for turn in (1, LONGEST_CLOCK, LONGEST_CLOCK)]
    while True:
        for message in (*messages, rng.choice(("(STOP hostile NIL)", "(ABORT hostile)"))):
            # The answer to START may take as long as its clock.
            with contextlib.suppress(OSError):
                await server.send(message, 0.3)


async def _break_records(server: SoakServer, rng: random.Random) -> None:
    broken = (
        b"[" * 100_000,
        b'{"goals": [1e999], "a": "' + b'\\"' * 500_000,
        rng.randbytes(100_000),
        b'{"roles": NaN}',
    )
    for number in itertools.count():
        (server.records / f"broken-{number % 100}.json").write_bytes(rng.choice(broken))
        with contextlib.suppress(OSError, ValueError):
            await server.get("/page/matches")
        await asyncio.sleep(0.1)


def _damage_kernels(change: Callable[[Path, random.Random], None]) -> Fault:
    async def inflict(server: SoakServer, rng: random.Random) -> None:
        assert server.kernels is not None
        for path in server.kernels.rglob("*.nb?"):
            change(path, rng)
        # Running workers have loaded their kernels already.
        for worker in server.workers:
            os.kill(worker, signal.SIGKILL)

    return Fault(inflict, usual=False)


def _truncate(path: Path, rng: random.Random) -> None:
    os.truncate(path, rng.randrange(path.stat().st_size + 1))


def _overwrite(path: Path, rng: random.Random) -> None:
    with open(path, "r+b") as file:
        file.seek(rng.randrange(path.stat().st_size + 1))
        file.write(rng.randbytes(64))


FAULTS: dict[str, Fault] = {
    "server killed": Fault(_kill_server, outage=True),
    "server killed in mid-write": Fault(_kill_server_while_it_writes, outage=True),
    "worker killed": _signal_worker(signal.SIGKILL),
    "worker stopped": _signal_worker(signal.SIGSTOP),
    "worker segmentation fault": _signal_worker(signal.SIGSEGV),
    "worker endless loop": _signal_worker(signal.SIGUSR1),
    "worker out of memory": Fault(_exhaust_worker),
    "journal torn": Fault(_tear_journal),
    "journal gone": Fault(_take_journal_away),
    "disk full": Fault(_fill_disk),
    "clock jumps": Fault(_jump),
    "port taken": Fault(_take_port),
    "half a message": Fault(_send_half),
    "junk": Fault(_send_junk),
    NEIGHBOUR: Fault(_move_in),
    "kernels truncated": _damage_kernels(_truncate),
    "kernels damaged": _damage_kernels(_overwrite),
}
"""Faults by name. The last two cost minutes of compiling, and are not among the usual ones."""

USUAL = tuple(name for name, fault in FAULTS.items() if fault.usual)
