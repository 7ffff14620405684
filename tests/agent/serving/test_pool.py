"""The pool of processes: children of a few lines that answer, hang or end."""

from __future__ import annotations

import asyncio
import math
import resource
import time
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent.playing import messages
from agent.playing.messages import (
    MOST_STATES,
    MOST_TERMS,
    Alive,
    Begin,
    Channel,
    Checkpoint,
    Distrusted,
    Earlier,
    PackedRules,
    Refused,
    Report,
    Rest,
    Turn,
    Warm,
    parts_of,
)
from agent.search.kernel_groups import playing
from agent.serving import pool as pools
from agent.serving import starting, watchdog
from agent.serving.player import Player, ServeOptions
from agent.serving.pool import ProcessPool
from agent.serving.processes import MOST_UNREAD, Process
from agent.serving.starting import (
    MIN_MEMORY,
    REFERENCE,
    SEARCH,
    SHARE_OF,
    SPARES,
    Kind,
    memory_share,
    start_early,
    start_process,
    too_little_memory,
)
from games.child_process import ChildProcess
from games.memory import KILLED_SOONER
from protocol.messages import Start
from tests.agent.serving.virtual import fake_player
from tests.processes import PATIENCE


def behave(pipe: Connection, conduct: str) -> None:
    """Answers each command, hangs, floods the server or ends, as told."""
    channel = Channel(pipe)
    if conduct == "ends":
        return
    if conduct == "floods":
        pipe.send_bytes(bytes(MOST_STATES + MOST_TERMS + 1))
    if conduct == "is slow":
        time.sleep(3.0)
    if conduct in ("answers", "hangs", "is slow"):
        channel.send(Warm(0.0))
    while conduct == "loops":
        pass
    if conduct in ("sleeps", "hangs", "floods"):
        time.sleep(3600)
    while True:
        command = channel.receive(0.05)
        channel.send(Alive() if command is None else Refused("") if isinstance(command, Begin) else Distrusted(1))


BEGIN = Begin(Start("m", "r", (), 1, 1), Checkpoint(), None, True, True)


class Children:
    """Starts children in place of processes: searches behave as told, in this order, all others well."""

    def __init__(self, *conduct: str) -> None:
        self._conduct = list(conduct)
        self.memories: set[int] = set()
        self.of: dict[Kind, list[ChildProcess]] = {REFERENCE: [], SEARCH: []}

    def __call__(self, kind: Kind, memory: int, without: Collection[str] = ()) -> ChildProcess:
        """Starts one."""
        conduct = self._conduct.pop(0) if self._conduct and kind == SEARCH else "answers"
        process = ChildProcess(behave, conduct, method="spawn")
        self.memories.add(memory)
        self.of[kind].append(process)
        return process


@pytest_asyncio.fixture
async def start(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[..., Children]]:
    """Makes pools start such children, and look at them all the time."""
    for delay in ("LOOK_SECONDS", "FAILURE_DELAY"):
        monkeypatch.setattr(pools, delay, 0.01)
    monkeypatch.setattr(pools, "START_DELAY", {REFERENCE: 0.01, SEARCH: 0.01})
    started: list[Children] = []

    def start(*conduct: str) -> Children:
        children = Children(*conduct)
        started.append(children)
        monkeypatch.setattr(pools, "start_process", children)
        return children

    yield start
    # A process that was being started is in no pool yet.
    for children in started:
        for process in (*children.of[REFERENCE], *children.of[SEARCH]):
            process.end()


async def until(condition: Callable[[], bool]) -> None:
    """Waits until a condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


async def test_kernels_that_nobody_can_load_are_reported(start: Callable[..., Children]) -> None:
    """The second loss in a row is reported; the first may have any reason. A search that is warm ends the problem."""
    children = start("ends", "ends")
    reported: list[int] = []
    pool = ProcessPool(SEARCH, 1, 1, on_unloadable=lambda: reported.append(len(children.of[SEARCH])))
    pool.start()
    await until(lambda: bool(reported and pool.problem))
    assert reported == [2]
    assert "ended before it was warm" in pool.problem
    pool.release(await pool.acquire())
    await until(lambda: not pool.problem)
    await pool.close()


async def test_processes_that_somebody_kills_say_nothing_of_the_kernels(start: Callable[..., Children]) -> None:
    """They may have been too large as well: kernels are not compiled again for that."""
    children = start("sleeps", "sleeps", "sleeps")
    reported: list[int] = []
    pool = ProcessPool(SEARCH, 1, 1, on_unloadable=lambda: reported.append(1))
    pool.start()
    for number in range(3):
        await until(lambda number=number: len(children.of[SEARCH]) > number)  # type: ignore[misc]
        children.of[SEARCH][number].kill()
    pool.release(await pool.acquire())
    assert not reported
    await pool.close()


@pytest.mark.parametrize("conduct", ["sleeps", "hangs", "loops"])
async def test_search_that_hangs_before_its_match_is_replaced(
    start: Callable[..., Children], monkeypatch: pytest.MonkeyPatch, conduct: str
) -> None:
    """One that is not warm and does nothing, a warm one that gives no sign of life, and one in an endless loop."""
    monkeypatch.setattr(pools, "WARM_SECONDS" if conduct == "loops" else "SILENT_AFTER", 1.0)
    children = start(conduct)
    pool = ProcessPool(SEARCH, 1, 1)
    pool.start()
    await until(lambda: len(children.of[SEARCH]) > 1)
    search = await pool.acquire()
    assert search.pid != children.of[SEARCH][0].pid
    pool.release(search)
    await pool.close()


async def test_search_that_does_not_get_to_run_is_waited_for(
    start: Callable[..., Children], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a starved machine: however long it takes to get warm, it uses no more CPU time than it should."""
    monkeypatch.setattr(pools, "WARM_SECONDS", 2.0)
    monkeypatch.setattr(pools, "SILENT_AFTER", 0.05)
    monkeypatch.setattr(watchdog, "state_of", lambda pid: "R")
    children = start("is slow")
    pool = ProcessPool(SEARCH, 1, 1)
    pool.start()
    search = await pool.acquire()
    assert [search.pid] == [child.pid for child in children.of[SEARCH]]
    pool.release(search)
    await pool.close()


@pytest.mark.parametrize("conduct", ["hangs", "floods"])
async def test_process_that_breaks_a_bound_is_lost(start: Callable[..., Children], conduct: str) -> None:
    """What waits for a process to read it has a bound, and so has the length of a report."""
    process = Process(SEARCH, start(conduct)(SEARCH, 1))
    if conduct == "hangs":
        await asyncio.wait_for(process.warm.wait(), PATIENCE)
        for _ in range(MOST_UNREAD + 20):
            process.send(Turn((("x" * 100_000,),), None))
            await asyncio.sleep(0)
    await asyncio.wait_for(process.lost.wait(), PATIENCE)
    await process.end()


async def test_lost_process_keeps_its_number_until_it_is_ended(
    start: Callable[..., Children], caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody else can have the process group that is killed then. One whose report cannot be taken in is lost."""
    process = Process(SEARCH, start()(SEARCH, 1))

    def fail(report: Report) -> None:
        raise ValueError

    process.on_report = fail
    process.send(Rest())
    await asyncio.wait_for(process.lost.wait(), PATIENCE)
    assert "reports what cannot be taken in" in caplog.text
    # A watcher of children would have reaped it in this time, as a rule.
    await asyncio.sleep(0.2)
    assert Path(f"/proc/{process.pid}/stat").exists()
    await process.end()
    assert not Path(f"/proc/{process.pid}/stat").exists()


async def test_reference_is_there_before_it_is_needed(start: Callable[..., Children]) -> None:
    """One that is lost or taken is replaced; early ones are used first, and ended where there are too many."""
    children = start("sleeps")
    early = [children(REFERENCE, 1) for _ in range(3)]
    pool = ProcessPool(REFERENCE, 1, 3)
    pool.start(early)
    taken = await pool.acquire()
    assert taken.pid == early[0].pid
    await until(lambda: early[2].status is not None)
    early[1].kill()
    await until(lambda: len(children.of[REFERENCE]) == 4)
    other = await pool.acquire()
    assert other.pid == children.of[REFERENCE][3].pid
    await until(lambda: len(children.of[REFERENCE]) == 5)
    pool.release(taken)
    pool.release(other)
    await pool.close()
    assert children.memories == {1}


@pytest.mark.parametrize("event", ["another match", "its end"])
async def test_next_spare_leaves_a_match_time_to_get_ready(
    start: Callable[..., Children], monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    """It is started a while after the last one was taken; at once for another match, or when that one has ended."""
    monkeypatch.setitem(pools.START_DELAY, SEARCH, 600.0)
    children = start()
    pool = ProcessPool(SEARCH, 1, 2)
    pool.start()
    search = await pool.acquire()
    await asyncio.sleep(0.2)
    assert len(children.of[SEARCH]) == 1
    if event == "another match":
        pool.release(await pool.acquire())
    pool.release(search)
    await until(lambda: len(children.of[SEARCH]) >= 2)
    await pool.close()


@pytest.mark.parametrize("kind", [REFERENCE, SEARCH])
async def test_matches_and_spares_are_no_more_processes_than_allowed(
    start: Callable[..., Children], kind: Kind
) -> None:
    """A match that wants one more waits until another one's has ended."""
    children = start()
    pool = ProcessPool(kind, 1, 1)
    pool.start()
    processes = [await pool.acquire() for _ in range(1 + SPARES)]
    waiting = asyncio.create_task(pool.acquire())
    await asyncio.sleep(0.2)
    assert not waiting.done()
    assert len(children.of[kind]) == 1 + SPARES
    pool.release(processes.pop())
    processes.append(await asyncio.wait_for(waiting, PATIENCE))
    for process in processes:
        pool.release(process)
    await pool.close()


async def test_who_must_answer_soonest_gets_a_process_first(
    start: Callable[..., Children], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not more of them get ready at a time than there are cores: the others would make the first one late."""
    monkeypatch.setattr(pools, "STARTING", 1)
    children = start()
    pool = ProcessPool(REFERENCE, 1, 4)
    got: list[float] = []

    async def acquire(due: float) -> None:
        process = await pool.acquire(lambda: due)
        got.append(due)
        assert sum(not one.warm.is_set() for one in (*pool.spares, process)) <= 1
        await process.warm.wait()
        pool.release(process)

    waiting = [asyncio.create_task(acquire(due)) for due in (math.inf, 3.0, 1.0, 2.0)]
    await asyncio.sleep(0)
    pool.start()
    await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE)
    assert got == [1.0, 2.0, 3.0, math.inf]
    assert len(children.of[REFERENCE]) >= 4
    await pool.close()


async def test_process_of_a_refused_match_is_kept(start: Callable[..., Children]) -> None:
    """It is ready for the next one; where another spare waits by then, it is ended."""
    children = start()
    pool = ProcessPool(REFERENCE, 1, 2)
    pool.start()
    first = await pool.acquire()
    second = await pool.acquire()
    pool.take_back(first)
    pool.take_back(second)
    assert await asyncio.wait_for(pool.acquire(), PATIENCE) is first
    await until(lambda: children.of[REFERENCE][1].status is not None)
    pool.release(first)
    await pool.close()


async def test_pool_closes_while_it_is_told_of_the_end_of_a_match(start: Callable[..., Children]) -> None:
    """A keeper that woke up at that moment would go on for ever."""
    start()
    pool = ProcessPool(SEARCH, 1, 1)
    pool.start()
    pool.release(await pool.acquire())
    await asyncio.wait_for(pool.close(), PATIENCE)


@pytest.mark.parametrize(("gigabytes", "matches", "share"), [(64, 3, 12.8), (64, 1, 25.6), (4, 7, 2.0)])
def test_matches_and_spares_share_the_memory(
    monkeypatch: pytest.MonkeyPatch, gigabytes: int, matches: int, share: float
) -> None:
    """Four fifths of the memory are theirs; 2 GB each are the least, and the user is told where these are too much."""
    monkeypatch.setattr(starting, "machine_memory", lambda: gigabytes << 30)
    pool = fake_player(monkeypatch)
    Player(ServeOptions(workers=matches))
    assert pool.memory == memory_share(matches) == pytest.approx(share * (1 << 30), rel=1e-3)
    assert bool(too_little_memory(matches)) == ((matches + SPARES) * memory_share(matches) > gigabytes << 30)
    assert memory_share(100) == MIN_MEMORY
    # Who was told a part of the machine shares that out.
    monkeypatch.setattr(starting, "memory_bound", lambda: 3 << 30)
    assert memory_share(1) == pytest.approx(1.2 * (1 << 30), rel=1e-3)


async def test_match_of_any_length_reaches_a_process_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop gets its turn between joint moves, the rules are there as bytes, and what is sent later comes
    later."""
    monkeypatch.setattr(messages, "PART", 2)
    start = Start("m", "r", tuple(("f", str(number)) for number in range(7)), 1, 1)
    begin = replace(BEGIN, start=start, checkpoint=Checkpoint(since=(("a",), ("b",), ("c",))))
    rules: Any = PackedRules(start.rules)
    packed = replace(begin, start=replace(start, rules=rules))
    assert (len(rules), tuple(rules), rules) == (7, start.rules, PackedRules(tuple(rules)))
    assert [type(part) for part in parts_of(packed)] == [Earlier] * 3 + [Begin]
    ours, theirs = Pipe()
    for command in (packed, Rest(), BEGIN):
        for part in parts_of(command):
            ours.send(part)
    channel = Channel(theirs)
    received = [channel.receive() for _ in range(6)]
    assert received == [None, None, None, begin, Rest(), BEGIN]


def test_nothing_is_started_early_without_matches(tmp_path: Path) -> None:
    """References are started early for matches of the journal only."""
    assert start_early(None, 2) == start_early(tmp_path, 2) == []


@pytest.mark.parametrize("kind", [REFERENCE, SEARCH])
async def test_memory_of_a_process_is_limited(kind: Kind) -> None:
    """It has its kind's share of the match's memory; the kernel ends it before the server."""
    process = Process(kind, start_process(kind, MIN_MEMORY, playing()), playing())
    await asyncio.wait_for(process.warm.wait(), PATIENCE)
    assert not process.lost.is_set()
    bound, _ = resource.prlimit(process.pid, resource.RLIMIT_DATA)
    assert MIN_MEMORY // 16 < bound < MIN_MEMORY * SHARE_OF[kind] + (128 << 20)
    order, own = (int(Path(f"/proc/{number}/oom_score_adj").read_text()) for number in (process.pid, "self"))
    assert order == min(1000, own + KILLED_SOONER)
    await process.end()
