"""The server of a soak, `ggp-agent serve` with supervisor and journal."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from agent.errors import CommandError
from agent.processes import children, descendants
from games.child_process import module_environment
from games.kernel_cache import cache_folder
from protocol.client import ClientError, PlayerClient, says_available
from protocol.messages import Info

HOST = "127.0.0.1"

PATIENCE = 600.0
"""Longest start of the server in seconds: the first one compiles kernels."""

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


class SoakServer:
    """A running server."""

    def __init__(self, folder: Path, log: Path, margin: float, workers: int, *, own_kernels: bool) -> None:
        """With `own_kernels`, the server gets a copy of the compiled kernels, to be damaged. Raises `CommandError`."""
        self.journal, self.records, self.kernels = folder / "journal", folder / "records", folder / "kernels"
        self._log = log
        (folder / "sitecustomize.py").write_text(HOOKS)
        self._environment = module_environment()
        self._environment["PYTHONPATH"] = os.pathsep.join((str(folder), self._environment["PYTHONPATH"]))
        if own_kernels:
            shutil.copytree(cache_folder(), self.kernels / cache_folder().name)
            self._environment["NUMBA_CACHE_DIR"] = str(self.kernels)
        result = folder / "serve.json"
        options = f"--margin {margin} --workers {workers} --no-memory".split()
        self._options = (*options, "--journal", str(self.journal), "--records", str(self.records))
        with open(log, "wb") as file:
            self._process = self.start(*self._options, "--port", "0", "--json", str(result), log=file.fileno())
        end = time.monotonic() + PATIENCE
        while not (result.exists() and result.read_text().endswith("}\n")):
            if self._process.poll() is not None or time.monotonic() > end:
                self.end()
                raise CommandError(f"the server does not start:\n{log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.02)
        self.port = int(json.loads(result.read_text())["port"])
        self.url = f"http://{HOST}:{self.port}"

    def start(self, *arguments: str, log: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Starts a server: this one, or another one that has to fail."""
        command = [sys.executable, "-m", "agent.cli", "serve", "--host", HOST, *arguments]
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment, start_new_session=True
        )

    def start_again(self) -> None:
        """Kills all processes, the supervisor's among them, and starts the server anew, as systemd does."""
        for process in (self._process.pid, *descendants(self._process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.wait()
        with open(self._log, "ab") as file:
            self._process = self.start(*self._options, "--port", str(self.port), log=file.fileno())

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

    def end(self) -> None:
        """Ends the server by SIGTERM."""
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    async def get(self, path: str) -> Any:
        """Returns a page's JSON data. Raises `OSError` and `ValueError`."""
        with await asyncio.to_thread(urlopen, f"{self.url}{path}", timeout=10.0) as page:
            return json.load(page)

    async def wait_until_available(self) -> None:
        """Waits until it says `available`. Raises `TimeoutError`."""
        async with asyncio.timeout(PATIENCE), PlayerClient(self.url) as client:
            while True:
                with contextlib.suppress(ClientError):
                    if says_available((await client.send(Info(), timeout=10.0)).text):
                        return
                await asyncio.sleep(0.1)


def proportional(pid: int) -> int:
    """Returns the bytes of resident memory of a process, those shared by n processes as one n-th; 0 if it is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return 1024 * int(line.split()[1])
    return 0
