"""The kernels of a server: compiled one group after the other while it plays, and again if they cannot be loaded."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Set

from agent.kernels.discard import discard_kernels
from agent.kernels.keeper import KernelKeeper
from agent.search.kernel_groups import CIRCUIT, TREE, playing
from games import kernel_cache

log = logging.getLogger(__name__)

PROGRESS_SECONDS = 10.0
"""Seconds between two log lines about kernels being compiled."""


class KernelUpkeep:
    """Has kernels compiled, and tells which are missing."""

    def __init__(self, on_change: Callable[[Set[str]], None]) -> None:
        """`on_change` is called with the groups that processes do without from now on."""
        self._on_change = on_change
        self._keeper = KernelKeeper(playing() if kernel_cache.is_kept() else ())

    @property
    def lacking(self) -> set[str]:
        """Groups that processes do without: those not compiled yet, or where none are kept, those that would take each
        of them too long."""
        return set(playing()) - (self._keeper.ready if kernel_cache.is_kept() else {CIRCUIT, TREE})

    @property
    def hopeless(self) -> frozenset[str]:
        """Groups that will never be there."""
        return frozenset(self._keeper.failed if kernel_cache.is_kept() else playing())

    def problems(self) -> list[str]:
        """Returns lines for the user about what is missing."""
        found = [f"kernels for {name}: {reason}" for name, reason in sorted(self._keeper.failed.items())]
        if not kernel_cache.is_kept():
            found.append("no folder for compiled kernels can be written: each process compiles its own")
        return found

    async def run(self) -> None:
        """Compiles until all groups are there, or have failed."""
        keeper = self._keeper
        begin = told = time.monotonic()
        if keeper.finished:
            return
        # Slow to import: it shows bars on consoles as well.
        from agent.kernels.progress import STEP_SECONDS, describe

        log.info("kernels are being compiled, once per installation")
        while not keeper.finished:
            await asyncio.sleep(STEP_SECONDS)
            # In a thread, as it reads files and starts processes.
            settled = await asyncio.to_thread(keeper.step)
            for name in sorted(settled & keeper.failed.keys()):
                log.error("played without the kernels for %s: %s", name, keeper.failed[name])
            if settled:
                self._on_change(self.lacking)
            if settled or time.monotonic() - told > PROGRESS_SECONDS:
                told = time.monotonic()
                report = await asyncio.to_thread(keeper.report, playing())
                log.info("kernels: %s", describe(report))
        log.info("all kernels compiled after %.0f s", time.monotonic() - begin)

    async def renew(self) -> None:
        """Has all kernels compiled again: those in the cache cannot be loaded."""
        log.error("the compiled kernels cannot be loaded: they are thrown away and compiled again")
        try:
            await asyncio.to_thread(discard_kernels)
        except OSError as error:
            log.error("the compiled kernels cannot be removed: %s", error)
            return
        self._keeper.close()
        self._keeper = KernelKeeper(playing())
        self._on_change(self.lacking)
        await self.run()

    def close(self) -> None:
        """Ends running compilations."""
        self._keeper.close()
