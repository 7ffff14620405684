"""The pool of workers, with objects in place of processes."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from agent.serving import worker_pool
from agent.serving.clock import now
from agent.serving.light_workers import LIGHT, MIN_MEMORY, memory_share, start_early
from agent.serving.player import Player, ServeOptions
from agent.serving.worker_pool import Worker, WorkerPool
from tests.agent.serving.virtual import fake_player, run
from tests.processes import PATIENCE


class Doomed:
    """A worker process that ends while it loads its kernels."""

    without: frozenset[str] = frozenset()
    pid = 0

    def __init__(self) -> None:
        self.warm = asyncio.Event()
        self.lost = asyncio.Event()
        self.warm.set()
        self.lost.set()

    def seems_to_hang(self) -> bool:
        """Returns False: it has ended."""
        return False

    async def close(self) -> None:
        """Does nothing."""


async def test_kernels_that_nobody_can_load_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second loss in a row is reported; the first may have any reason."""
    monkeypatch.setattr(worker_pool, "FAILURE_DELAY", 0.0)
    monkeypatch.setattr(worker_pool, "RESPAWN_DELAY", 0.01)
    started = 0

    async def start(memory: int, without: frozenset[str] = frozenset()) -> Doomed:
        nonlocal started
        started += without != LIGHT
        return Doomed()

    monkeypatch.setattr(Worker, "start", start)
    reported: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    pool = WorkerPool(1, on_unloadable=lambda: reported.set_result(started))
    pool.start()
    assert await asyncio.wait_for(reported, PATIENCE) == 2
    assert pool.problem == "a worker ended while it was loading its kernels"
    await pool.close()


async def test_worker_that_never_gets_warm_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is not warm in time is replaced."""
    monkeypatch.setattr(worker_pool, "WARM_SECONDS", 0.05)
    started: list[Doomed] = []

    async def start(memory: int, without: frozenset[str] = frozenset()) -> Doomed:
        worker = Doomed()
        worker.lost.clear()
        if not started:
            worker.warm.clear()
        started.append(worker)
        return worker

    monkeypatch.setattr(Worker, "start", start)
    pool = WorkerPool(1)
    pool.start()
    acquired: object = await asyncio.wait_for(pool.acquire(latest=True), PATIENCE)
    assert acquired is started[1]
    assert pool.problem == ""
    await pool.close()


async def test_spare_that_hangs_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spare without a sign of life, as of a stopped process, is replaced."""
    worker = await Worker.start(MIN_MEMORY, LIGHT)
    await asyncio.wait_for(worker.warm.wait(), PATIENCE)

    monkeypatch.setattr(worker_pool, "SILENT_AFTER", 600.0)
    monkeypatch.setattr(worker_pool, "WARM_SECONDS", 600.0)
    told = worker._told
    async with asyncio.timeout(PATIENCE):
        while worker._told == told:
            assert not worker.seems_to_hang()
            await asyncio.sleep(0.01)
    os.kill(worker.pid, signal.SIGSTOP)
    monkeypatch.setattr(worker_pool, "SILENT_AFTER", 0.01)
    async with asyncio.timeout(PATIENCE):
        while not worker.seems_to_hang():
            await asyncio.sleep(0.02)
    await worker.close()


async def test_memory_of_a_worker_is_limited() -> None:
    """A worker takes no more than its share: a match that needs too much must not take the machine down."""
    pool = WorkerPool(MIN_MEMORY)
    worker = await pool.acquire(patience=0.0)
    await asyncio.wait_for(worker.warm.wait(), PATIENCE)
    assert resource.prlimit(worker.pid, resource.RLIMIT_AS)[0] == 2 << 30
    await worker.close()
    await pool.close()


@pytest.mark.parametrize(("gigabytes", "workers", "share"), [(64, 3, 12.8), (64, 1, 25.6), (4, 7, 2.0)])
def test_workers_and_their_spare_share_the_memory(
    monkeypatch: pytest.MonkeyPatch, gigabytes: int, workers: int, share: float
) -> None:
    """Four fifths of the machine's memory are theirs; 2 GB each are the least."""
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": gigabytes << 18}.__getitem__)
    pool = fake_player(monkeypatch)
    Player(ServeOptions(workers=workers))
    assert pool.memory == memory_share(workers) == pytest.approx(share * (1 << 30))


async def test_match_gets_a_light_worker_where_none_is_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """An urgent match gets a light worker at once, an early one first."""
    lacking: list[frozenset[str]] = []

    async def start(memory: int, without: frozenset[str] = frozenset()) -> SimpleNamespace:
        lacking.append(without)
        return SimpleNamespace()

    monkeypatch.setattr(Worker, "start", start)
    echo = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    pool = WorkerPool(1, [echo])
    early = await pool.acquire(patience=0.0)
    assert early.pid == echo.pid
    assert early.without == LIGHT
    assert lacking == []
    await pool.acquire(patience=0.0)
    assert lacking == [LIGHT]
    echo.kill()
    await asyncio.wait_for(early.lost.wait(), PATIENCE)
    await early._process.wait()
    assert echo.stdout is not None
    echo.stdout.close()
    await pool.close()


def test_warm_worker_is_waited_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A match that can wait gets a light worker if none is warm within 0.2 s."""
    lacking: list[frozenset[str]] = []

    async def start(memory: int, without: frozenset[str] = frozenset()) -> SimpleNamespace:
        lacking.append(without)
        return SimpleNamespace()

    async def course() -> None:
        begin = now()
        await WorkerPool(1).acquire()
        assert now() - begin == pytest.approx(0.2)

    monkeypatch.setattr(Worker, "start", start)
    run(monkeypatch, course())
    assert lacking == [LIGHT]


async def test_light_spare_is_there_before_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A light spare is replaced when it is lost or taken."""
    monkeypatch.setattr(worker_pool, "RESPAWN_DELAY", 0.0)
    started: list[Doomed] = []
    memories: list[int] = []

    async def start(memory: int, without: frozenset[str] = frozenset()) -> Doomed:
        memories.append(memory)
        worker = Doomed()
        worker.lost.clear()
        if without == LIGHT:
            started.append(worker)
        else:
            worker.warm.clear()
        return worker

    async def until(count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(started) < count:
                await asyncio.sleep(0)

    monkeypatch.setattr(Worker, "start", start)
    pool = WorkerPool(1)
    pool.start()
    await until(1)
    started[0].lost.set()
    await until(2)
    taken: object = await pool.acquire(patience=0.0)
    assert taken is started[1]
    await until(3)
    await pool.close()
    assert len(memories) > len(started)
    assert set(memories) == {1}


def test_nothing_is_started_early_without_matches(tmp_path: object) -> None:
    """Light workers are for matches of the journal only."""
    assert start_early(None, 2) == []
    assert start_early(tmp_path, 2) == []  # type: ignore[arg-type]
