"""Matches in virtual time, which passes only when nothing is left to do: every instant is exact.

Objects stand in for worker processes.
"""

from __future__ import annotations

import asyncio
import gc
import selectors
from collections.abc import Callable, Collection, Coroutine, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import TypeVar

import pytest
from agent.worker.messages import (
    PULSE,
    Begin,
    Checkpoint,
    Command,
    Distrusted,
    Prepared,
    Report,
    Rewind,
    Situation,
    Thought,
    Turn,
    count_turns,
)

from agent.search.engine import Opinion, Score
from agent.search.kernel_groups import playing
from agent.serving import clock, player

Result = TypeVar("Result")
Run = Callable[[Coroutine[None, None, None]], None]


class _Jumping(selectors.SelectSelector):
    """Passes virtual time instead of waiting."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everything waits for something that will never come"
            self._loop.seconds += max(0.0, timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop with a clock of its own."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.seconds


def fake_player(monkeypatch: pytest.MonkeyPatch, *workers: FakeWorker, keeper: FakeKeeper | None = None) -> FakePool:
    """Makes players use these workers, and kernels that are compiled; returns their pool."""
    pool = FakePool(*workers)

    def make(memory: int, *_: object) -> FakePool:
        pool.memory = memory
        return pool

    monkeypatch.setattr(player, "WorkerPool", make)
    monkeypatch.setattr(player, "KernelKeeper", lambda groups: keeper or FakeKeeper())
    # This process is large, and has better things to do.
    monkeypatch.setattr(gc, "collect", lambda: None)
    return pool


def run(monkeypatch: pytest.MonkeyPatch, course: Coroutine[None, None, Result]) -> Result:
    """Runs a coroutine to its end in virtual time; `agent.serving` sees the same clock."""
    loop = VirtualLoop()
    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=loop.time))
    try:
        return loop.run_until_complete(course)
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


class FakeWorker:
    """A worker process that always reports the same legal moves and an opinion, `delay` seconds after each command,
    until it is ended or hangs."""

    def __init__(
        self,
        pid: int,
        *,
        delay: float = 0.0,
        prepares: bool = True,
        proves: bool = False,
        engine: str = "fake",
        without: Collection[str] = (),
    ) -> None:
        self.pid = pid
        self.without = frozenset(without)
        self.prepared: Prepared | None = None
        self._engine = engine
        self.commands: list[Command] = []
        self.lost = asyncio.Event()
        self.on_report = None
        self.on_lost = None
        self.released = False
        self._delay = delay
        self._prepares = prepares
        self._proves = proves
        self._turn = 0
        self._silent_since: float | None = None
        self._begun = False
        self._expected = 0.0

    @property
    def heard(self) -> float | None:
        """Time of the last sign of life."""
        if not self._begun:
            return None
        return clock.now() // PULSE * PULSE if self._silent_since is None else max(self._silent_since, self._expected)

    @heard.setter
    def heard(self, instant: float | None) -> None:
        self._begun = instant is not None
        self._expected = instant or 0.0

    def send(self, command: Command) -> None:
        """Takes a command."""
        self.commands.append(command)
        if isinstance(command, Begin):
            self._begun = True
            self._turn = command.checkpoint.turn + count_turns(*command.checkpoint.since)
            if self._prepares:
                self._report(Prepared(self._engine, True))
        elif isinstance(command, Turn) and command.joint_move is not None:
            self._turn += count_turns(command.joint_move)
        elif isinstance(command, Rewind):
            self._turn = 0
        self._report(Situation(self._turn, 0, ("a", "b"), False, None, Checkpoint(self._turn), False))
        self._report(Thought(self._turn, Opinion("b", Score(60.0), final=self._proves), self._engine))

    def distrust(self, circuits: int) -> None:
        """Finds one more circuit wrong."""
        self._report(Distrusted(circuits))

    def hang(self) -> None:
        """Makes the worker hang."""
        self._silent_since = clock.now()

    def die(self) -> None:
        """Ends like a killed process."""
        self._silent_since = clock.now()
        self.lost.set()
        if self.on_lost is not None:
            self.on_lost(self)

    def _report(self, report: Report) -> None:
        asyncio.get_running_loop().call_later(self._delay, self._pass_on, report)

    def _pass_on(self, report: Report) -> None:
        if self._silent_since is None and not self.released and self.on_report is not None:
            if isinstance(report, Prepared):
                self.prepared = report
            self.on_report(self, report)


class FakeKeeper:
    """All kernels are compiled."""

    ready = frozenset(playing())
    failed: Mapping[str, str] = MappingProxyType({})
    finished = True

    def close(self) -> None:
        """Nothing is left to end."""


class FakePool:
    """Gives out prepared workers, one after the other."""

    warm = True
    problem = ""
    memory = 0
    """Bytes of address space for each worker."""

    def __init__(self, *workers: FakeWorker, without: Collection[str] = ()) -> None:
        self._waiting = list(workers)
        self.without = frozenset(without)
        """Groups of kernels that are not compiled yet."""

    def start(self, *, at_once: bool = True) -> None:
        """Nothing is started."""

    def do_without(self, groups: Collection[str]) -> None:
        """Notes the groups that are not compiled yet."""
        self.without = frozenset(groups)

    def spare_lacks(self, group: str) -> bool:
        """Returns whether a group is not compiled yet."""
        return group in self.without

    def end_early(self) -> None:
        """There are no early workers."""

    async def close(self) -> None:
        """Nothing is left to end."""

    def can_better(self, worker: FakeWorker) -> bool:
        """Returns whether a worker lacks kernels that are there."""
        return not worker.without <= self.without

    async def acquire(self, latest: bool = False, patience: float = 0.0) -> FakeWorker:
        """Returns the next worker; waits for ever when there is none left."""
        if not self._waiting:
            await asyncio.Event().wait()
        return self._waiting.pop(0)

    def release(self, worker: FakeWorker) -> None:
        """Ends a worker."""
        worker.released = True

    def take_back(self, worker: FakeWorker) -> None:
        """Keeps a worker."""
        self._waiting.append(worker)
