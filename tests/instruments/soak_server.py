"""The server of a soak, `ggp-agent serve` with supervisor and journal, and messages to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from agent.errors import CommandError
from agent.processes import children, descendants, module_environment
from protocol.client import says_available
from protocol.compose import Style, headers

HOST = "127.0.0.1"

AVAILABLE_SECONDS = 600.0
"""Longest start of the server: the first one compiles kernels."""

END_SECONDS = 20.0
"""Longest end of the server; then it is killed."""

HOOKS = '''
import signal, time


def hang(number, frame):
    """An endless loop, in the thread that reads commands."""
    while True:
        pass


def jump(number, frame, real=time.time, shifts=[3600.0, -7200.0]):
    """The time of day is an hour ahead of what it was, or two hours behind."""
    global shift
    shift += shifts[0]
    shifts.reverse()
    time.time = lambda: real() + shift


shift = 0.0
signal.signal(signal.SIGUSR1, hang)
signal.signal(signal.SIGUSR2, jump)
'''
"""`sitecustomize`, which Python imports first, for all processes of the server: faults beyond those of signals."""

CACHE = "NUMBA_CACHE_DIR"


def proportional(pid: int) -> int:
    """Returns the bytes of resident memory of a process, those shared by n processes as one n-th; 0 if it is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return 1024 * int(line.split()[1])
    return 0


class SoakError(CommandError):
    """The server could not be started, or did not become available."""


class SoakServer:
    """A running server."""

    def __init__(self, folder: Path, margin: float, workers: int, *, own_kernels: bool = False) -> None:
        """With `own_kernels`, the server gets a copy of the compiled kernels, to be damaged. Raises `SoakError`."""
        self.journal = folder / "journal"
        self.records = folder / "records"
        self.log = folder / "server.log"
        self.kernels = folder / "kernels" if own_kernels else None
        """Its own compiled kernels, if it has any."""
        self._hooks = folder / "hooks"
        self._hooks.mkdir()
        (self._hooks / "sitecustomize.py").write_text(HOOKS)
        result = folder / "serve.json"
        arguments = ("--port", "0", "--margin", str(margin), "--json", str(result))
        folders = ("--journal", str(self.journal), "--records", str(self.records), "--no-memory")
        more = ("--workers", str(workers), *folders)
        with open(self.log, "wb") as log:
            self._process = self._start(*arguments, *more, log=log.fileno())
        end = time.monotonic() + AVAILABLE_SECONDS
        while not (result.exists() and result.read_text().endswith("}\n")):
            if self._process.poll() is not None or time.monotonic() > end:
                self.end()
                raise SoakError(f"the server does not start:\n{self.tail()}")
            time.sleep(0.02)
        self.port = int(json.loads(result.read_text())["port"])

    def _start(self, *arguments: str, log: int) -> subprocess.Popen[bytes]:
        environment = module_environment()
        environment["PYTHONPATH"] = os.pathsep.join((str(self._hooks), environment["PYTHONPATH"]))
        if self.kernels is not None:
            if not self.kernels.exists():
                from games.kernel_cache import cache_folder

                shutil.copytree(cache_folder(), self.kernels / cache_folder().name)
            environment[CACHE] = str(self.kernels)
        return subprocess.Popen(
            [sys.executable, "-m", "agent.cli", "serve", "--host", HOST, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )

    @property
    def pid(self) -> int | None:
        """Process ID of the serving process; None while there is none."""
        return next(iter(children(self._process.pid)), None)

    @property
    def workers(self) -> list[int]:
        """Process IDs of its workers."""
        return children(self.pid) if self.pid is not None else []

    def memory(self) -> tuple[int, int]:
        """Returns the bytes of all its processes together, shared ones counted once, and the number of processes."""
        processes = [self._process.pid, *descendants(self._process.pid)]
        return sum(map(proportional, processes)), len(processes)

    def start_twin(self) -> subprocess.Popen[bytes]:
        """Starts another server on the same port, which has to fail."""
        return self._start("--port", str(self.port), log=subprocess.DEVNULL)

    def tail(self) -> str:
        """Returns the end of the log."""
        return self.log.read_text(errors="replace")[-3000:]

    def end(self) -> None:
        """Ends the server by SIGTERM."""
        self._process.terminate()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    async def send(self, message: str, seconds: float, style: Style = "dresden") -> str:
        """Returns the reply, read to the end of the stream (Dresden) or to the length in the header (ggp-base).

        Raises `OSError`, and `TimeoutError` after that many seconds.
        """
        body = message.encode()
        lines = (f"{name}: {value}\r\n" for name, value in headers(style, HOST).items())
        head = f"POST / HTTP/1.0\r\n{''.join(lines)}Content-Length: {len(body)}\r\n\r\n"
        return (await self._exchange(head.encode() + body, seconds, to_the_end=style == "dresden")).decode()

    async def health(self) -> dict[str, object]:
        """Returns the server's health data. Raises `OSError` and `ValueError`."""
        health: dict[str, object] = await self.get("/healthz")
        return health

    async def get(self, path: str) -> Any:
        """Returns a page's JSON data. Raises `OSError` and `ValueError`."""
        request = f"GET {path} HTTP/1.0\r\nHost: {HOST}:{self.port}\r\n\r\n"
        return json.loads(await self._exchange(request.encode(), 10.0))

    async def _exchange(self, request: bytes, seconds: float, *, to_the_end: bool = True) -> bytes:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(HOST, self.port)
            try:
                writer.write(request)
                if to_the_end:
                    head, found, reply = (await reader.read()).partition(b"\r\n\r\n")
                    if not found:
                        raise ConnectionResetError("no reply")
                    return reply
                head = await reader.readuntil(b"\r\n\r\n")
                _, _, rest = head.lower().partition(b"content-length:")
                return await reader.readexactly(int(rest.split(b"\r\n")[0]))
            except asyncio.IncompleteReadError as error:
                raise ConnectionResetError("no reply") from error
            finally:
                writer.close()

    async def wait_until_available(self) -> None:
        """Waits until it says `available`. Raises `SoakError`."""
        end = time.monotonic() + AVAILABLE_SECONDS
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                if says_available(await self.send("(INFO)", 10.0)):
                    return
            await asyncio.sleep(0.1)
        raise SoakError(f"the server is not available:\n{self.tail()}")
