"""The supervisor, with servers of a few lines, and once with the real one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.serving import supervisor
from agent.serving.supervisor import Pulse, Supervisor, inherited_socket, listen
from tests.processes import PATIENCE, runs, until

ROOT = Path(__file__).resolve().parents[3]

SUPERVISOR = """
import logging, os, sys
from agent.serving import supervisor
from agent.serving.supervisor import Supervisor, listen
supervisor.PULSE_SECONDS, supervisor.IDLE_SECONDS = 0.1, 1.0
logging.basicConfig(level=logging.INFO)
listener = listen("127.0.0.1", 0)
print(listener.getsockname()[1], flush=True)
heavy = {"numpy", "numba", "aiohttp", "asyncio", "clingo"} & sys.modules.keys()
print(sorted(heavy), file=sys.stderr, flush=True)
sys.exit(Supervisor(listener, [sys.executable, "-c", sys.argv[1]], os.environ).run())
"""

SERVER = """
import os, sys, threading, time
from agent.serving.supervisor import RESTARTS, Pulse, inherited_socket
listener, pulse = inherited_socket(), Pulse()
def give_pulse():
    while True:
        pulse.beat()
        time.sleep(0.05)
threading.Thread(target=give_pulse, daemon=True).start()
while True:
    connection, _ = listener.accept()
    order = connection.recv(100)
    if order == b"crash":
        os.kill(os.getpid(), 9)
    if order == b"stop":
        os.kill(os.getpid(), 19)
    connection.sendall(f"{os.getpid()} {os.environ[RESTARTS]}".encode())
    connection.close()
    if order == b"end":
        sys.exit(0)
"""


class Supervised:
    """A running supervisor."""

    def __init__(self, server: str, log: Path) -> None:
        self.log = log
        with open(log, "wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SUPERVISOR, server], stdout=subprocess.PIPE, stderr=file, cwd=ROOT
            )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def ask(self, order: str) -> list[int]:
        """Returns the answering server's process id and number of restarts; nothing where it crashes."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            connection.sendall(order.encode())
            try:
                return [int(word) for word in connection.recv(100).split()]
            except ConnectionError:
                return []

    def end(self) -> int:
        """Ends the supervisor in an orderly way; returns its exit status."""
        self.process.terminate()
        return self.process.wait(PATIENCE)


StartSupervisor = Callable[[str], Supervised]


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[StartSupervisor]:
    """Starts supervisors that end with the test."""
    started: list[Supervised] = []

    def start(server: str) -> Supervised:
        started.append(Supervised(server, tmp_path / "log"))
        return started[-1]

    yield start
    for supervised in started:
        supervised.end()
        assert supervised.process.stdout is not None
        supervised.process.stdout.close()


def test_connection_during_an_outage_waits_for_the_next_server(supervise: StartSupervisor) -> None:
    """A connection made without a server is not refused: the next server answers it."""
    supervised = supervise(SERVER)
    before, restarts = supervised.ask("hello")
    assert restarts == 0
    for crashes in (1, 2, 3):
        supervised.ask("crash")
        after, restarts = supervised.ask("hello")
        assert after != before
        assert restarts == crashes
        before = after
    assert "ended with signal 9" in supervised.log.read_text()


def test_server_that_hangs_is_replaced(supervise: StartSupervisor) -> None:
    """A stopped server, say, without a sign of life; a connection waits for the next one."""
    supervised = supervise(SERVER)
    before, _ = supervised.ask("hello")
    assert supervised.ask("stop") == []
    after, restarts = supervised.ask("hello")
    assert (after != before, restarts) == (True, 1)
    assert "no sign of life" in supervised.log.read_text()


def test_systemd_is_told_of_the_pulse(tmp_path: Path) -> None:
    """At first that the service is ready, see sd_notify(3)."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        Pulse({"NOTIFY_SOCKET": str(tmp_path / "notify")}).beat()
        assert systemd.recv(100).split() == [b"READY=1", b"WATCHDOG=1"]
    # It may be gone.
    Pulse({"NOTIFY_SOCKET": str(tmp_path / "notify")}).beat()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_is_passed_on(supervise: StartSupervisor, number: signal.Signals) -> None:
    """The server ends in its own way when the supervisor is told to end, and is not restarted."""
    orderly = f"import signal, sys; signal.signal({int(number)}, lambda *_: sys.exit(0))\n" + SERVER
    supervised = supervise(orderly)
    (server, _) = supervised.ask("hello")
    supervised.process.send_signal(number)
    assert supervised.process.wait(PATIENCE) == 0
    until(lambda: not runs(server))


def test_server_that_ends_well_is_not_started_again(supervise: StartSupervisor) -> None:
    """A server with exit status 0 was told to end."""
    supervised = supervise(SERVER)
    supervised.ask("end")
    assert supervised.process.wait(PATIENCE) == 0


def test_server_that_cannot_start_at_all_is_given_up(supervise: StartSupervisor) -> None:
    """An error of the very first start would only come again."""
    assert supervise("import sys; sys.exit(2)").process.wait(PATIENCE) == 2


def test_server_ends_with_its_supervisor(supervise: StartSupervisor) -> None:
    """A killed supervisor leaves nothing behind that holds the port."""
    supervised = supervise(SERVER)
    (server, _) = supervised.ask("hello")
    supervised.process.kill()
    until(lambda: not runs(server))


class Lives(Supervisor):
    """A supervisor of servers that end as told, in a time of its own."""

    def __init__(self, *lives: tuple[float, int]) -> None:
        """`lives` are the seconds and the status of each server."""
        super().__init__(None, [], {})  # type: ignore[arg-type]
        self._lives = iter(lives)
        self.now = 0.0
        self.waits: list[float] = []
        """Seconds waited before restarts."""
        self.interrupted = False
        """Whether a signal comes during the next wait."""

    def monotonic(self) -> float:
        """Returns the time."""
        return self.now

    def sigtimedwait(self, signals: object, seconds: float) -> object:
        """Notes the wait."""
        self.waits.append(seconds)
        return object() if self.interrupted else None

    def _start(self, restarts: int, mask: object) -> int:
        return restarts

    def _wait_for(self, child: int, awaited: object) -> tuple[bool, int]:  # type: ignore[override]
        seconds, status = next(self._lives)
        self.now += seconds
        return False, status

    def run(self) -> int:
        """Runs all servers."""
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(supervisor, "time", self)
            patched.setattr(signal, "sigtimedwait", self.sigtimedwait)
            return super().run()


def test_server_that_crashes_again_and_again_is_restarted_ever_later() -> None:
    """The delay doubles from crash to crash, up to a bound; after a steady run the next restart is immediate."""
    steady, brief = (10.5, -9), (9.5, 1)
    lives = Lives(steady, *(brief,) * 8, steady, brief, (1.0, 0))
    assert lives.run() == 0
    assert lives.waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 0.1])


def test_supervisor_is_told_to_end_between_two_crashes() -> None:
    """No further server is started then."""
    lives = Lives((1.0, -9), (1.0, -9))
    lives.interrupted = True
    assert lives.run() == 0
    assert lives.waits == [0.1]


def test_supervisor_imports_next_to_nothing(supervise: StartSupervisor) -> None:
    """The supervisor stays small: it runs for days."""
    supervised = supervise(SERVER)
    supervised.ask("hello")
    assert supervised.log.read_text().startswith("[]\n")


def test_socket_of_another_process_is_not_taken() -> None:
    """Variables that were meant for a parent process say nothing about descriptor 3."""
    assert inherited_socket({"LISTEN_FDS": "1", "LISTEN_PID": str(os.getppid())}) is None
    assert inherited_socket({"LISTEN_FDS": "0", "LISTEN_PID": str(os.getpid())}) is None
    assert inherited_socket({}) is None


def test_taken_port_is_an_error() -> None:
    """Two servers cannot listen on one port."""
    with listen("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        listen("127.0.0.1", taken.getsockname()[1])


def test_as_many_files_as_allowed_may_be_open() -> None:
    """The limit is raised if the process begins with less than the system allows."""
    code = """
import resource
from agent.serving.supervisor import MOST_DESCRIPTORS, raise_descriptors
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
raise_descriptors()
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (min(MOST_DESCRIPTORS, hard % (1 << 63)), hard)
"""
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
