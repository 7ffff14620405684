"""Matches in virtual time, which passes only when nothing is left to do: every instant is exact.

Objects stand in for the processes of matches.
"""

from __future__ import annotations

import asyncio
import gc
import selectors
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace
from typing import Any, ClassVar, TypeVar

import pytest

from agent.kernels import upkeep
from agent.playing.messages import (
    PULSE,
    Accepted,
    Astray,
    Begin,
    Command,
    Placement,
    Prepared,
    Report,
    Rest,
    Rewind,
    Situation,
    Thought,
    Turn,
    count_turns,
)
from agent.search.engine import Opinion, Score
from agent.search.kernel_groups import playing
from agent.serving import clock, player
from agent.serving.starting import REFERENCE, SEARCH, Kind
from games.machine import Term

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

    def run_in_executor(self, executor: object, func: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """Works at once: a thread's time is not virtual."""
        done = self.create_future()
        try:
            done.set_result(func(*arguments))
        except Exception as error:
            done.set_exception(error)
        return done


def fake_player(monkeypatch: pytest.MonkeyPatch, *processes: FakeProcess, keeper: FakeKeeper | None = None) -> FakePool:
    """Makes players use these processes, and kernels that are compiled; returns their pool."""
    pool = FakePool(*processes)

    def make(kind: Kind, memory: int, *_: object) -> FakePoolOfKind:
        pool.memory = memory
        return pool.of[kind]

    monkeypatch.setattr(player, "ProcessPool", make)
    monkeypatch.setattr(upkeep, "KernelKeeper", lambda groups: keeper or FakeKeeper())
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


class FakeProcess:
    """A process of a match: answers each command after `delay` seconds, until it is ended or hangs."""

    kind: ClassVar[Kind]
    accepts: ClassVar[bool] = False
    """Whether it tells that the rules are valid."""

    def __init__(self, pid: int = 0, *, delay: float = 0.0, without: Collection[str] = ()) -> None:
        self.pid = pid
        self.delay = delay
        self.without = frozenset(without)
        self.commands: list[Command] = []
        self.lost = asyncio.Event()
        self.on_report: Callable[[Report], None] | None = None
        self.on_lost: Callable[[], None] | None = None
        self.released = False
        self.turn = 0
        """Number of joint moves told."""
        self._silent_since: float | None = None

    @property
    def heard(self) -> float:
        """Time of the last sign of life."""
        return clock.now() // PULSE * PULSE if self._silent_since is None else self._silent_since

    def hangs(self, idle_seconds: float, busy_seconds: float) -> bool:
        """Whether it has been silent for long."""
        return clock.now() - self.heard > idle_seconds

    @property
    def begun(self) -> list[Begin]:
        """The commands with which it was told to take part."""
        return [command for command in self.commands if isinstance(command, Begin)]

    def send(self, command: Command) -> None:
        """Takes a command."""
        self.commands.append(command)
        if isinstance(command, Begin):
            self.turn = command.checkpoint.turn + count_turns(*command.checkpoint.since)
        elif isinstance(command, Turn) and command.joint_move is not None:
            self.turn += count_turns(command.joint_move)
        elif isinstance(command, Rewind):
            self.turn = 0
        if isinstance(command, Begin) and self.accepts:
            # Checking rules takes a moment; a state may take long.
            asyncio.get_running_loop().call_soon(self._pass_on, Accepted())
        if not isinstance(command, Rest):
            self.report(*self.answers(command))

    def answers(self, command: Command) -> Iterable[Report]:
        """Yields the reports that answer a command."""
        raise NotImplementedError

    def report(self, *reports: Report) -> None:
        """Sends reports, after the delay."""
        asyncio.get_running_loop().call_later(self.delay, self._pass_on, *reports)

    def hang(self) -> None:
        """Makes the process hang."""
        self._silent_since = clock.now()

    def die(self) -> None:
        """Ends like a killed process."""
        self._silent_since = clock.now()
        self.lost.set()
        if self.on_lost is not None:
            self.on_lost()

    def _pass_on(self, *reports: Report) -> None:
        for report in reports:
            if self._silent_since is None and not self.released and self.on_report is not None:
                self.on_report(report)


class FakeReference(FakeProcess):
    """A reference that always tells the same legal moves."""

    kind = REFERENCE
    accepts = True

    def __init__(self, pid: int = 100, *, states: int = 1, legal: tuple[Term, ...] = ("a", "b"), **how: Any) -> None:
        super().__init__(pid, **how)
        self.states = states
        self.legal = legal

    def answers(self, command: Command) -> Iterable[Report]:
        """Tells the situation of each turn once."""
        if not isinstance(command, Turn) or command.joint_move is not None:
            yield self.situation()

    def situation(self) -> Situation:
        """Returns the situation now."""
        return situation(self.turn, *self.legal, states=self.states)


class FakeSearch(FakeProcess):
    """A search that always has the same opinion, and a situation of its own."""

    kind = SEARCH

    def __init__(
        self,
        pid: int = 200,
        *,
        prepares: bool = True,
        proves: bool = False,
        move: Term = "b",
        engine: str = "fake",
        wrong: bool = False,
        astray: bool = False,
        **how: Any,
    ) -> None:
        """`wrong`: it has another state than the reference; `astray`: it never knows the state by itself."""
        super().__init__(pid, **how)
        self._prepares = prepares
        self._proves = proves
        self._move = move
        self._engine = engine
        self._wrong = wrong
        self._astray = astray

    def answers(self, command: Command) -> Iterable[Report]:
        """Tells the situation and an opinion of each turn."""
        if isinstance(command, Begin) and self._prepares:
            yield Prepared(self._engine, True)
        digest = b"wrong" if self._wrong else digest_of(self.turn)
        if isinstance(command, Placement):
            digest = command.digest
        elif isinstance(command, Turn) and command.joint_move is None:
            pass
        else:
            if self._astray:
                yield Astray(self.turn)
                return
            yield replace(situation(self.turn), digest=digest)
        yield Thought(self.turn, digest, Opinion(self._move, Score(60.0), final=self._proves), self._engine)


def digest_of(turn: int, states: int = 1, legal: tuple[Term, ...] = ("a", "b")) -> bytes:
    """Returns the digest of the state of a turn."""
    return f"{turn}/{states}/{legal}".encode()


def situation(turn: int, *legal: Term, states: int = 1, **other: Any) -> Situation:
    """Returns the situation of a turn."""
    legal = legal or ("a", "b")
    rest = {"terminal": False, "goals": None, "repeatable": False, "possible": b'[[1.0,["f"]]]', **other}
    return Situation(turn, 0, digest_of(turn, states, legal), legal, len(legal), states=states, **rest)


class FakeKeeper:
    """All kernels are compiled."""

    ready = frozenset(playing())
    failed: Mapping[str, str] = MappingProxyType({})
    finished = True

    def close(self) -> None:
        """Nothing is left to end."""


class FakePoolOfKind:
    """The pool of one kind."""

    def __init__(self, kind: Kind, both: FakePool) -> None:
        self.kind = kind
        self._both = both

    @property
    def ready(self) -> object:
        """Something, while there is a spare."""
        return self if self._both.warm else None

    @property
    def problem(self) -> str:
        """Reason for which the last process is of no use."""
        return self._both.problem

    def start(self, early: object = (), delay: float = 0.0) -> None:
        """Nothing is started."""

    async def close(self) -> None:
        """Nothing is left to end."""

    def do_without(self, groups: Collection[str]) -> None:
        """Notes the groups that are not compiled yet."""
        self._both.do_without(groups)

    def lacks(self, group: str) -> bool:
        """Returns whether a group is not compiled yet."""
        return group in self._both.without

    def can_better(self, process: FakeProcess) -> bool:
        """Returns whether the next search has kernels that this one lacks."""
        waiting = self._both.waiting[self.kind]
        return bool(waiting) and not process.without <= waiting[0].without | self._both.without

    async def acquire(self, due: object) -> FakeProcess:
        """Returns the next process."""
        return await self._both.acquire(self.kind)

    def release(self, process: FakeProcess) -> None:
        """Ends a process."""
        process.released = True
        process.on_report = process.on_lost = None

    def take_back(self, process: FakeProcess) -> None:
        """Keeps a process."""
        process.on_report = process.on_lost = None
        self._both.waiting[self.kind].append(process)


class FakePool:
    """Gives out processes, one after the other; as many good references as are wanted, if it was given none."""

    warm = True
    problem = ""
    memory = 0
    """Bytes of address space for each match."""

    def __init__(self, *processes: FakeProcess, without: Collection[str] = ()) -> None:
        self.waiting: dict[Kind, list[FakeProcess]] = {REFERENCE: [], SEARCH: []}
        for process in processes:
            self.waiting[process.kind].append(process)
        self._endless = not self.waiting[REFERENCE]
        self.without = frozenset(without)
        """Groups of kernels that are not compiled yet."""
        self.of: dict[Kind, FakePoolOfKind] = {kind: FakePoolOfKind(kind, self) for kind in self.waiting}

    @property
    def reference(self) -> FakePoolOfKind:
        """The pool of references."""
        return self.of[REFERENCE]

    @property
    def search(self) -> FakePoolOfKind:
        """The pool of searches."""
        return self.of[SEARCH]

    def do_without(self, groups: Collection[str]) -> None:
        """Notes the groups that are not compiled yet."""
        self.without = frozenset(groups)

    async def acquire(self, kind: Kind) -> FakeProcess:
        """Returns the next process; waits for ever when there is none left."""
        if kind == REFERENCE and self._endless:
            return FakeReference()
        if not self.waiting[kind]:
            await asyncio.Event().wait()
        return self.waiting[kind].pop(0)
