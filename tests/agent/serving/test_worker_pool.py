"""The pool of workers, with objects in place of processes."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from agent.search.planning import process as planning
from agent.search.tree import engine as tree
from agent.serving import light_workers, worker_pool
from agent.serving.clock import now
from agent.serving.light_workers import LIGHT, MIN_MEMORY, SPARES, memory_share, start_early, too_little_memory
from agent.serving.player import Player, ServeOptions
from agent.serving.worker_pool import Worker, WorkerPool
from agent.worker import crosschecker, messages, session
from agent.worker.messages import Begin, Channel, Checkpoint, Rest, RulesPart, Turn, frame, parts_of
from games.memory import KILLED_SOONER
from protocol.messages import Start
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


def living() -> Doomed:
    """A worker process that is warm."""
    worker = Doomed()
    worker.lost.clear()
    return worker


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
    pool = WorkerPool(1, 1, on_unloadable=lambda: reported.set_result(started))
    pool.start()
    assert await asyncio.wait_for(reported, PATIENCE) == 2
    assert pool.problem == "a worker ended while it was loading its kernels"
    await pool.close()


async def test_worker_that_never_gets_warm_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is not warm in time is replaced."""
    monkeypatch.setattr(worker_pool, "WARM_SECONDS", 0.05)
    started: list[Doomed] = []

    async def start(memory: int, without: frozenset[str] = frozenset()) -> Doomed:
        worker = living()
        if not started:
            worker.warm.clear()
        started.append(worker)
        return worker

    monkeypatch.setattr(Worker, "start", start)
    pool = WorkerPool(1, 1)
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


async def test_worker_that_reads_nothing_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for a worker to read it has a bound, whatever keeps it from reading."""
    monkeypatch.setattr(worker_pool, "MOST_UNREAD", 5)
    worker = await Worker.start(MIN_MEMORY, LIGHT)
    await asyncio.wait_for(worker.warm.wait(), PATIENCE)
    os.kill(worker.pid, signal.SIGSTOP)
    for _ in range(20):
        worker.send(Turn((("x" * 100_000,),), None))
        await asyncio.sleep(0)
    await asyncio.wait_for(worker.lost.wait(), PATIENCE)
    await worker.close()


async def test_worker_that_reports_too_much_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report beyond the bound is not read."""
    monkeypatch.setattr(worker_pool, "MOST_REPORT", 2)
    worker = await Worker.start(MIN_MEMORY, LIGHT)
    await asyncio.wait_for(worker.lost.wait(), PATIENCE)
    assert worker._told is None
    await worker.close()


async def test_memory_of_a_worker_is_limited() -> None:
    """A worker itself takes no more than half of its share; its children have the rest. The kernel ends it first."""
    pool = WorkerPool(MIN_MEMORY, 1)
    worker = await pool.acquire(patience=0.0)
    await asyncio.wait_for(worker.warm.wait(), PATIENCE)
    bound, _ = resource.prlimit(worker.pid, resource.RLIMIT_DATA)
    assert MIN_MEMORY // 4 < bound < MIN_MEMORY // 2 + (128 << 20)
    order, own = (int(Path(f"/proc/{process}/oom_score_adj").read_text()) for process in (worker.pid, "self"))
    assert order == min(1000, own + KILLED_SOONER)
    await worker.close()
    await pool.close()


@pytest.mark.parametrize(("gigabytes", "workers", "share"), [(64, 3, 10.24), (64, 1, 17.07), (4, 7, 2.0)])
def test_workers_and_their_spares_share_the_memory(
    monkeypatch: pytest.MonkeyPatch, gigabytes: int, workers: int, share: float
) -> None:
    """Four fifths of the memory are theirs; 2 GB each are the least, and the user is told where these are too much."""
    monkeypatch.setattr(light_workers, "machine_memory", lambda: gigabytes << 30)
    pool = fake_player(monkeypatch)
    Player(ServeOptions(workers=workers))
    assert pool.memory == memory_share(workers) == pytest.approx(share * (1 << 30), rel=1e-3)
    assert bool(too_little_memory(workers)) == ((workers + SPARES) * memory_share(workers) > gigabytes << 30)


def test_worker_and_its_children_stay_within_its_memory() -> None:
    """A worker has half of it, and its children together as much; its tree and what that reserves fit into its half."""
    assert crosschecker.MEMORY_SHARE + max(session.MEMORY_SHARE, planning.MEMORY_SHARE) <= 1
    assert 1.8 * tree.MEMORY_SHARE < 1


async def test_lost_worker_keeps_its_number_until_it_is_ended() -> None:
    """Nobody else can have the process group that is killed then; the end is waited for whatever its reports did."""
    worker = await Worker.start(MIN_MEMORY, LIGHT)

    def fail(worker: Worker) -> None:
        raise ValueError

    worker.on_lost = fail
    os.kill(worker.pid, signal.SIGKILL)
    await asyncio.wait_for(worker.lost.wait(), PATIENCE)
    # A watcher of children would have reaped it in this time, as a rule.
    await asyncio.sleep(0.2)
    assert Path(f"/proc/{worker.pid}/stat").exists()
    await worker.close()
    assert not Path(f"/proc/{worker.pid}/stat").exists()
    assert isinstance(worker._reading.exception(), ValueError)


async def test_rules_of_any_length_reach_a_worker_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop gets its turn between them, and what is sent later comes later."""
    monkeypatch.setattr(messages, "PART", 2)
    start = Start("m", "r", tuple(("f", str(number)) for number in range(7)), 1, 1)
    begin = Begin(start, Checkpoint(), None, True, True)
    assert [type(part) for part in parts_of(begin)] == [RulesPart] * 3 + [Begin]
    read_end, write_end = os.pipe()
    for command in (begin, Rest(), replace(begin, start=replace(start, rules=()))):
        for part in parts_of(command):
            os.write(write_end, frame(part))
    channel = Channel(read_end, write_end)
    received = [channel.receive() for _ in range(6)]
    assert received == [None, None, None, begin, Rest(), replace(begin, start=replace(start, rules=()))]
    channel.close()


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
    pool = WorkerPool(1, 1, [echo])
    early = await pool.acquire(patience=0.0)
    assert early.pid == echo.pid
    assert early.without == LIGHT
    assert lacking == []
    await pool.acquire(patience=0.0)
    assert lacking == [LIGHT]
    echo.kill()
    await asyncio.wait_for(early.lost.wait(), PATIENCE)
    await early.close()
    await pool.close()


def test_warm_worker_is_waited_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A match that can wait gets a light worker if none is warm within 0.2 s."""
    lacking: list[frozenset[str]] = []

    async def start(memory: int, without: frozenset[str] = frozenset()) -> SimpleNamespace:
        lacking.append(without)
        return SimpleNamespace()

    async def course() -> None:
        begin = now()
        await WorkerPool(1, 1).acquire()
        assert now() - begin == pytest.approx(0.2)

    monkeypatch.setattr(Worker, "start", start)
    run(monkeypatch, course())
    assert lacking == [LIGHT]


@pytest.mark.parametrize(("event", "later"), [("nothing", 10.0), ("another match", 3.0), ("its end", 3.0)])
def test_the_next_spare_leaves_a_match_time_to_get_ready(
    monkeypatch: pytest.MonkeyPatch, event: str, later: float
) -> None:
    """It is started ten seconds after the last one was taken; at once for another match, or when that one has ended."""
    started: list[float] = []

    async def start(memory: int, without: frozenset[str] = frozenset()) -> Doomed:
        if without != LIGHT:
            started.append(now())
        return living()

    async def course() -> None:
        pool = WorkerPool(1, 2)
        pool.start()
        worker = await pool.acquire()
        taken = now()
        await asyncio.sleep(3.0)
        if event == "another match":
            await pool.acquire()
        elif event == "its end":
            pool.release(worker)
        await asyncio.sleep(20.0)
        await pool.close()
        assert started[1] - taken == pytest.approx(later, abs=worker_pool.RESPAWN_DELAY)

    monkeypatch.setattr(Worker, "start", start)
    run(monkeypatch, course())
    assert len(started) == 2 + (event == "another match")


def test_pool_closes_while_it_is_told_of_the_end_of_a_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """A keeper that woke up at that moment would go on for ever."""

    async def start(memory: int, without: frozenset[str] = frozenset()) -> Doomed:
        return living()

    async def course() -> None:
        pool = WorkerPool(1, 1)
        pool.start()
        pool.release(await pool.acquire())
        async with asyncio.timeout(PATIENCE):
            await pool.close()

    monkeypatch.setattr(Worker, "start", start)
    run(monkeypatch, course())


async def test_light_spare_is_there_before_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A light spare is replaced when it is lost or taken."""
    monkeypatch.setattr(worker_pool, "RESPAWN_DELAY", 0.0)
    started: list[Doomed] = []
    memories: list[int] = []

    async def start(memory: int, without: frozenset[str] = frozenset()) -> Doomed:
        memories.append(memory)
        worker = living()
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
    pool = WorkerPool(1, 1)
    pool.start()
    await until(1)
    started[0].lost.set()
    await until(2)
    taken: object = await pool.acquire(patience=0.0)
    assert taken is started[1]
    await until(3)
    async with asyncio.timeout(PATIENCE):
        while len(memories) == len(started):
            await asyncio.sleep(0)
    await pool.close()
    assert set(memories) == {1}


def test_nothing_is_started_early_without_matches(tmp_path: object) -> None:
    """Light workers are for matches of the journal only."""
    assert start_early(None, 2) == []
    assert start_early(tmp_path, 2) == []  # type: ignore[arg-type]
