"""Compilation of groups of kernels, as many at once as there are cores."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from agent.kernels import state
from agent.search.kernel_groups import KernelGroup, kernel_groups
from games.child_process import ChildProcess

MOST_STARTS = 4
"""Limit on processes for a group that end well but leave it incomplete: their sources are not those of this one."""


@dataclass(frozen=True, slots=True)
class KernelReport:
    """Progress in compiling some groups."""

    fraction: float
    """Share of the work done, 0 to 1."""
    seconds_left: float | None
    """Estimate from the speed so far; None at the beginning."""
    latest: str
    """Kernel finished last."""


def start_build(name: str) -> ChildProcess:
    """Starts the compilation of a group. Raises `OSError`."""
    # By its name: it loads the compiler.
    return ChildProcess("agent.kernels.build:work", name, method="spawn")


class KernelKeeper:
    """Compiles groups in processes of their own. Call `step` until `finished`; it never blocks for long."""

    def __init__(
        self,
        names: Iterable[str] | None = None,
        *,
        groups: Mapping[str, KernelGroup] | None = None,
        start: Callable[[str], ChildProcess] = start_build,
    ) -> None:
        """`names` are the wanted groups; those that must be compiled before them are added.

        `start` starts the process that compiles a group.
        """
        self._groups = groups = kernel_groups() if groups is None else groups
        self._start = start
        wanted = set(groups if names is None else names)
        for name in reversed(list(groups)):
            after = groups[name].after
            if name in wanted and after is not None:
                wanted.add(after)
        self._missing = [name for name in groups if name in wanted]
        self._processes: dict[str, ChildProcess] = {}
        self._started: Counter[str] = Counter()
        self._begin = time.monotonic()
        self.ready: set[str] = set()
        """Groups in the cache."""
        self.failed: dict[str, str] = {}
        """Reasons by group that cannot be compiled ahead. Workers do without it, commands compile it on the spot."""
        self._notice_complete()

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return not self._missing and not self._processes

    def step(self) -> set[str]:
        """Starts the next groups; returns those that have become ready, or have failed, since the last call."""
        ended = {name: process for name, process in self._processes.items() if process.pipe.poll()}
        # Read after polling: a process writes its completion before it ends.
        settled = self._notice_complete()
        for name, process in ended.items():
            del self._processes[name]
            fault = _end(process)
            if name not in self._missing:
                continue
            try:
                claimed = state.claimed(name)
            except OSError as error:
                settled.add(self._fail(name, str(error)))
                continue
            if claimed:
                continue
            if fault:
                settled.add(self._fail(name, f"the process that compiles it has failed: {fault}"))
            elif self._started[name] >= MOST_STARTS:
                settled.add(self._fail(name, "it does not get complete: the sources have changed since this start"))
        for name in list(self._missing):
            after = self._groups[name].after
            if name in self._processes or after in self._missing or len(self._processes) >= _cores():
                continue
            try:
                # Another program may be compiling it.
                if not state.claimed(name):
                    self._processes[name] = self._start(name)
                    self._started[name] += 1
            except OSError as error:
                settled.add(self._fail(name, str(error)))
        return settled

    def report(self, names: Iterable[str]) -> KernelReport:
        """Returns the progress of these groups."""
        wanted = [name for name in self._groups if name in names]
        total = sum(self._groups[name].cost for name in wanted)
        done, latest = 0.0, ""
        for name in wanted:
            progress = state.read(name)
            group = self._groups[name]
            complete = progress.complete or name in self.failed
            done += group.cost * (1 if complete else min(len(progress.compiled) / group.specialisations, 0.95))
            if not complete:
                latest = progress.latest or latest
        fraction = done / total if total else 1.0
        spent = time.monotonic() - self._begin
        return KernelReport(fraction, spent * (1 - fraction) / fraction if fraction > 0.02 else None, latest)

    def close(self) -> None:
        """Ends the running compilations. Kernels in the cache stay there."""
        for process in self._processes.values():
            process.end()
        self._processes.clear()

    def _notice_complete(self) -> set[str]:
        complete = {name for name in self._missing if state.read(name).complete}
        self._missing = [name for name in self._missing if name not in complete]
        self.ready |= complete
        return complete

    def _fail(self, name: str, reason: str) -> str:
        self._missing.remove(name)
        self.failed[name] = reason
        return name


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _end(process: ChildProcess) -> str:
    """Frees a process that has ended; returns why it has failed, if it has."""
    try:
        process.receive()
        return ""
    except Exception as error:
        return str(error)
    finally:
        process.end()
