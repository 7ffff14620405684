"""Benches of the lobby: `ggp-agent balance` in processes, whose newest reports are shown."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from agent import bounded_json
from agent.lobby.child import Child

MOST_BENCHES = 2
"""Most benches at once, each with one process a sheet."""

KEPT = 8
"""Number of finished benches kept."""

MOST_BENCH_MATCHES = 1000
MOST_BENCH_SECONDS = 60
"""Most matches of a bench, and most seconds a move."""


class Bench:
    """Matches of the agent against itself on one sheet, or on two to compare."""

    def __init__(
        self, sheets: Sequence[tuple[str, str]], options: Sequence[str], changed: Callable[[str], None]
    ) -> None:
        """`sheets` are names and texts, `options` are those of `ggp-agent balance`; `changed(key)` is called with
        every new report."""
        names = [name for name, _ in sheets]
        self.key = f"{names[0]}-{secrets.token_hex(3)}"
        self.title = " and ".join(names)
        self._changed = changed
        self._reports: list[dict[str, Any] | None] = [None] * len(sheets)
        self._errors: list[str | None] = [None] * len(sheets)
        self._stopped = False
        self._children: list[Child] = []
        self._running = asyncio.gather(
            *(self._run(number, name, text, options) for number, (name, text) in enumerate(sheets))
        )

    @property
    def done(self) -> bool:
        """Whether it is over."""
        return self._running.done()

    def summary(self) -> dict[str, Any]:
        """Returns the overview's data as JSON data."""
        return {"key": self.key, "title": self.title, "done": self.done}

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

    async def _run(self, number: int, name: str, text: str, options: Sequence[str]) -> None:
        with tempfile.TemporaryDirectory(prefix="ggp-agent-") as folder:
            sheet = Path(folder) / f"{name}.kif"
            sheet.write_text(text, encoding="utf-8")
            try:
                told = partial(self._take, number)
                child = Child("agent.cli:run", "balance", str(sheet), "--json-lines", *options, told=told)
                self._children.append(child)
                failure = await child.wait()
            except OSError as error:
                failure = str(error)
        self._errors[number] = None if self._stopped else failure
        # Told once the whole bench is over, too.
        asyncio.get_running_loop().call_soon(self._changed, self.key)

    def _take(self, number: int, report: str) -> None:
        self._reports[number] = bounded_json.loads(report)
        self._changed(self.key)
