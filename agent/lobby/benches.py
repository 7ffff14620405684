"""Benches of the lobby: `ggp-agent balance` in processes, whose newest reports are shown, and kept."""

from __future__ import annotations

import asyncio
import logging
import secrets
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agent import bounded_json
from agent.lobby.child import Child
from agent.web.records import write_record
from games.child_process import Bounds
from games.memory import memory_part

log = logging.getLogger(__name__)

MOST_BENCHES = 2
"""Most benches at once, each with one process a sheet."""

KEPT = 8
"""Number of finished benches kept."""

BOUNDS = Bounds(memory_bytes=memory_part(2 << 30, 1 / 8))
"""Bounds of each process of a bench."""

SILENT_SECONDS, SILENT_MOVES = 3600.0, 600
"""Seconds, and times for a move, without a report after which a bench is ended: a position may take for ever to work
out."""

MOST_BENCH_MATCHES = 1000
MOST_BENCH_SECONDS = 60
"""Most matches of a bench, and most seconds a move."""


@dataclass(frozen=True)
class KeptBench:
    """A bench that is over, as it was kept."""

    shown: dict[str, Any]
    done = True

    def summary(self) -> dict[str, Any]:
        """Returns the overview's data as JSON data."""
        return {name: self.shown[name] for name in ("key", "games", "done")}

    def view(self) -> dict[str, Any]:
        """Returns the page's data, see `Bench.view`."""
        return self.shown

    async def stop(self) -> None:
        """There is nothing to end."""


def kept_benches(folder: Path) -> dict[str, KeptBench]:
    """Returns the newest benches that a folder holds, the oldest first; removes older ones and what is no bench."""
    found: dict[str, KeptBench] = {}
    for path in sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns, reverse=True):
        try:
            shown = bounded_json.loads(path.read_text(encoding="utf-8")) if len(found) < KEPT else {}
            bench = KeptBench({**shown, "done": True})
            found[str(bench.summary()["key"])] = bench
        except (OSError, ValueError, KeyError, TypeError):
            path.unlink(missing_ok=True)
    return dict(reversed(found.items()))


class Bench:
    """Matches of the agent against itself on one sheet, or on two to compare."""

    def __init__(
        self,
        sheets: Sequence[tuple[str, str]],
        options: Sequence[str],
        folder: Path,
        changed: Callable[[str], None],
        *,
        keep: Path,
        patience: float = SILENT_SECONDS,
        bounds: Bounds = BOUNDS,
    ) -> None:
        """`sheets` are names and texts, `options` are those of `ggp-agent balance`, `folder` is one for temporary
        files; `changed(key)` is called with every new report. It is ended where none comes for `patience` seconds, and
        `bounds` are those of each of its processes. `keep` is the folder that it is kept in once it is over."""
        names = [name for name, _ in sheets]
        self.key = f"{names[0]}-{secrets.token_hex(3)}"
        self._games = names
        self._changed = changed
        self._folder = folder
        self._keep = keep
        self._patience = patience
        self._bounds = bounds
        self._reports: list[dict[str, Any] | None] = [None] * len(sheets)
        self._errors: list[str | None] = [None] * len(sheets)
        self._stopped = False
        self._children: list[Child] = []
        self._running = asyncio.create_task(self._run_all(sheets, options))
        self._running.add_done_callback(lambda _: changed(self.key))

    @property
    def done(self) -> bool:
        """Whether it is over."""
        return self._running.done()

    def summary(self) -> dict[str, Any]:
        """Returns the overview's data as JSON data."""
        return {"key": self.key, "games": self._games, "done": self.done}

    def view(self) -> dict[str, Any]:
        """Returns the summary, whether it was `stopped`, and per sheet the newest of `reports` and of `errors`, None
        where there is none."""
        return {
            **self.summary(),
            "stopped": self._stopped,
            "reports": list(self._reports),
            "errors": list(self._errors),
        }

    async def stop(self) -> None:
        """Ends its processes."""
        self._stopped = self._stopped or not self.done
        await asyncio.gather(*(child.stop() for child in self._children))
        await self._running

    async def _run_all(self, sheets: Sequence[tuple[str, str]], options: Sequence[str]) -> None:
        await asyncio.gather(*(self._run(number, name, text, options) for number, (name, text) in enumerate(sheets)))
        try:
            self._keep.mkdir(mode=0o700, parents=True, exist_ok=True)
            await asyncio.to_thread(write_record, self._keep / f"{self.key}.json", self.view())
        except OSError as error:
            log.warning("%s is not kept: %s", self.key, error)

    async def _run(self, number: int, name: str, text: str, options: Sequence[str]) -> None:
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            sheet = Path(folder) / f"{name}.kif"
            sheet.write_text(text, encoding="utf-8")
            try:
                child = Child(
                    *("agent.cli:run", "balance", str(sheet), "--json-lines", *options),
                    told=partial(self._take, number),
                    bounds=self._bounds,
                )
                self._children.append(child)
                failure = await self._wait_for(child, number)
            except OSError as error:
                failure = str(error)
        # The way to an error is for developers.
        self._errors[number] = None if self._stopped or not failure else failure.splitlines()[-1]
        self._changed(self.key)

    async def _wait_for(self, child: Child, number: int) -> str | None:
        """Waits for the end of a process, and brings it about where it tells nothing; returns why it has failed."""
        ended, reports = asyncio.create_task(child.wait()), None
        while not (await asyncio.wait([ended], timeout=self._patience))[0]:
            if self._reports[number] is reports:
                await child.stop()
                await ended
                return f"no match has ended within {self._patience:.0f} s"
            reports = self._reports[number]
        return await ended

    def _take(self, number: int, report: str) -> None:
        self._reports[number] = bounded_json.loads(report)
        self._changed(self.key)
