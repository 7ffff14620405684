"""The pool of workers: processes of a few lines that answer, hang or end."""

from __future__ import annotations

import asyncio
import itertools
import os
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from agent.worker import crosschecker, messages, session
from agent.worker.messages import Begin, Channel, Checkpoint, Report, Rest, RulesPart, Turn, frame, parts_of

from agent.processes import module_environment
from agent.search.planning import process as planning
from agent.search.tree import engine as tree
from agent.serving import light_workers, worker_pool
from agent.serving.light_workers import LIGHT, MIN_MEMORY, SPARES, memory_share, start_early, too_little_memory
from agent.serving.player import Player, ServeOptions
from agent.serving.worker_pool import MOST_UNREAD, Worker, WorkerPool
from games.memory import KILLED_SOONER
from protocol.messages import Start
from tests.agent.serving.virtual import fake_player
from tests.processes import PATIENCE

CHILD = """
import os, signal, sys, time
from agent.processes import end_with_parent
from agent.worker.messages import HEADER, Alive, Channel, Distrusted, Warm
end_with_parent(signal.SIGKILL)
conduct, channel = sys.argv[1], Channel(0, 1)
if conduct == "ends":
    sys.exit()
if conduct == "floods":
    os.write(1, HEADER.pack((1 << 32) - 1))
if conduct in ("answers", "hangs"):
    channel.send(Warm(0.0))
if conduct != "answers":
    time.sleep(3600)
try:
    while True:
        channel.send(Alive() if channel.receive(0.05) is None else Distrusted(1))
except (EOFError, BrokenPipeError):
    pass
"""


class Children:
    """Starts processes in place of workers: those with kernels behave as told, in this order, all others well."""

    def __init__(self, *conduct: str) -> None:
        self._conduct = list(conduct)
        self.memories: set[int] = set()
        self.light: list[subprocess.Popen[bytes]] = []
        self.others: list[subprocess.Popen[bytes]] = []

    def __call__(self, memory: int, without: Collection[str]) -> subprocess.Popen[bytes]:
        """Starts one."""
        light = frozenset(without) >= LIGHT
        conduct = "answers" if light or not self._conduct else self._conduct.pop(0)
        process = subprocess.Popen(
            [sys.executable, "-c", CHILD, conduct],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=module_environment(),
            start_new_session=True,
        )
        self.memories.add(memory)
        (self.light if light else self.others).append(process)
        return process


@pytest_asyncio.fixture
async def start(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[..., Children]]:
    """Makes pools start such children, and look at them all the time."""
    for delay in ("RESPAWN_DELAY", "FAILURE_DELAY", "START_DELAY"):
        monkeypatch.setattr(worker_pool, delay, 0.01)

    processes: list[list[subprocess.Popen[bytes]]] = []

    def start(*conduct: str) -> Children:
        children = Children(*conduct)
        processes.extend((children.light, children.others))
        monkeypatch.setattr(worker_pool, "start_process", children)
        return children

    yield start
    # Pipes are closed a moment after their processes; those of a process that was being started are not.
    await asyncio.sleep(0.05)
    for process in itertools.chain(*processes):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()


async def until(condition: Callable[[], bool]) -> None:
    """Waits until a condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


async def warm(pool: WorkerPool) -> Worker:
    """Returns a warm worker of the pool, which may take a while."""
    return await pool.acquire(patience=PATIENCE)


async def test_kernels_that_nobody_can_load_are_reported(start: Callable[..., Children]) -> None:
    """The second loss in a row is reported; the first may have any reason. A worker that is warm ends the problem."""
    children = start("ends", "ends")
    reported: list[int] = []
    pool = WorkerPool(1, 1, on_unloadable=lambda: reported.append(len(children.others)))
    pool.start()
    await until(lambda: bool(reported))
    assert reported == [2]
    assert pool.problem == "a worker ended while it was loading its kernels"
    pool.release(await warm(pool))
    assert pool.problem == ""
    await pool.close()


@pytest.mark.parametrize("constant", ["WARM_SECONDS", "SILENT_AFTER"])
async def test_worker_that_hangs_before_its_match_is_replaced(
    start: Callable[..., Children], monkeypatch: pytest.MonkeyPatch, constant: str
) -> None:
    """One that is not warm in time, and a warm one that gives no sign of life."""
    monkeypatch.setattr(worker_pool, constant, 1.0)
    children = start("sleeps" if constant == "WARM_SECONDS" else "hangs")
    pool = WorkerPool(1, 1)
    pool.start()
    await until(lambda: len(children.others) > 1)
    monkeypatch.setattr(worker_pool, constant, PATIENCE)
    worker = await warm(pool)
    assert worker.pid != children.others[0].pid
    pool.release(worker)
    await pool.close()


@pytest.mark.parametrize("conduct", ["hangs", "floods"])
async def test_worker_that_breaks_a_bound_is_lost(start: Callable[..., Children], conduct: str) -> None:
    """What waits for a worker to read it has a bound, and so has the length of a report."""
    start(conduct)
    worker = await Worker.start(1)
    if conduct == "hangs":
        await asyncio.wait_for(worker.warm.wait(), PATIENCE)
        for _ in range(MOST_UNREAD + 20):
            worker.send(Turn((("x" * 100_000,),), None))
            await asyncio.sleep(0)
    await asyncio.wait_for(worker.lost.wait(), PATIENCE)
    await worker.close()


async def test_lost_worker_keeps_its_number_until_it_is_ended(
    start: Callable[..., Children], caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody else can have the process group that is killed then. One whose report cannot be taken in is lost."""
    start()
    worker = await Worker.start(1)

    def fail(worker: Worker, report: Report) -> None:
        raise ValueError

    worker.on_report = fail
    worker.send(Rest())
    await asyncio.wait_for(worker.lost.wait(), PATIENCE)
    assert "a report cannot be taken in" in caplog.text
    # A watcher of children would have reaped it in this time, as a rule.
    await asyncio.sleep(0.2)
    assert Path(f"/proc/{worker.pid}/stat").exists()
    await worker.close()
    assert not Path(f"/proc/{worker.pid}/stat").exists()


async def test_match_gets_a_light_worker_where_none_is_warm(start: Callable[..., Children]) -> None:
    """An urgent match gets one at once, an early one first; a match that can wait gets a warm one if there is one."""
    children = start("sleeps")
    early = children(1, LIGHT)
    pool = WorkerPool(1, 3, [early])
    pool.start()
    workers = [await pool.acquire(patience=patience) for patience in (0.0, 0.0, 0.01)]
    assert workers[0].pid == early.pid
    children.others[0].kill()
    workers.append(await warm(pool))
    assert [worker.without for worker in workers] == [LIGHT, LIGHT, LIGHT, frozenset()]
    for worker in workers:
        pool.release(worker)
    await pool.close()


@pytest.mark.parametrize("event", ["another match", "its end"])
async def test_next_spare_leaves_a_match_time_to_get_ready(
    start: Callable[..., Children], monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    """It is started a while after the last one was taken; at once for another match, or when that one has ended."""
    monkeypatch.setattr(worker_pool, "START_DELAY", 600.0)
    children = start()
    pool = WorkerPool(1, 2)
    pool.start()
    worker = await warm(pool)
    await asyncio.sleep(0.2)
    assert len(children.others) == 1
    if event == "another match":
        pool.release(await warm(pool))
    pool.release(worker)
    await until(lambda: len(children.others) >= 2)
    await pool.close()


async def test_matches_and_spares_are_no_more_processes_than_allowed(start: Callable[..., Children]) -> None:
    """A match that wants one more waits until another one's has ended."""
    children = start()
    pool = WorkerPool(1, 1)
    workers = [await pool.acquire(patience=0.0) for _ in range(1 + SPARES)]
    waiting = asyncio.create_task(pool.acquire(patience=0.0))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    assert len(children.light) == 1 + SPARES
    pool.release(workers.pop())
    workers.append(await asyncio.wait_for(waiting, PATIENCE))
    for worker in workers:
        pool.release(worker)
    await pool.close()


async def test_pool_closes_while_it_is_told_of_the_end_of_a_match(start: Callable[..., Children]) -> None:
    """A keeper that woke up at that moment would go on for ever."""
    start()
    pool = WorkerPool(1, 1)
    pool.start()
    pool.release(await warm(pool))
    await asyncio.wait_for(pool.close(), PATIENCE)


async def test_light_spare_is_there_before_it_is_needed(start: Callable[..., Children]) -> None:
    """A light spare is replaced when it is lost or taken. All workers get their memory."""
    children = start("sleeps")
    pool = WorkerPool(1, 1)
    pool.start()
    await until(lambda: len(children.light) == 1)
    children.light[0].kill()
    await until(lambda: len(children.light) == 2)
    taken = await pool.acquire(patience=0.0)
    assert taken.pid == children.light[1].pid
    await until(lambda: len(children.light) == 3)
    pool.release(taken)
    await until(lambda: len(children.others) == 1)
    await pool.close()
    assert children.memories == {1}


@pytest.mark.usefixtures("start")
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


def test_nothing_is_started_early_without_matches(tmp_path: Path) -> None:
    """Light workers are for matches of the journal only."""
    assert start_early(None, 2) == start_early(tmp_path, 2) == []
